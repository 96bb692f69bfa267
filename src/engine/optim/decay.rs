//! [`Decay`]: which parameters have weight decay.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which parameters have weight decay (`decay` of an optimizer).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decay {
    /// All parameters, as in PyTorch without parameter groups.
    #[default]
    All,
    /// Parameters of two or more dimensions: weights of linear layers, convolutions, embeddings; not biases, and not the scales of
    /// normalisations.
    Matrices,
}

#[cfg(test)]
mod tests {
    use crate::optim::OptimizerSpec;
    use crate::optim::testing::assert_steps_within;
    use crate::testing::spec;

    /// Expected values by PyTorch, with the loss of `adam_steps_like_pytorch`, where `a` has one dimension and `b` two,
    /// and the parameter groups `[dict(params=[a], weight_decay=0.), dict(params=[b])]`.
    #[test]
    fn every_optimizer_decays_only_matrices() {
        for (settings, expected) in [
            // torch.optim.Adam(groups, .1, weight_decay=.5)
            (
                "kind = 'adam', lr = 0.1",
                "0.90000004       -1.9        0.4        0.15      -0.85
                 0.80041224 -1.8001665 0.30118743 0.058151864 -0.9497506
                  0.7015863 -1.7006234 0.20487125 -0.01964207 -1.0493295",
            ),
            // torch.optim.AdamW(groups, .1, weight_decay=.5)
            (
                "kind = 'adamw', lr = 0.1",
                "0.90000004       -1.9        0.4   0.13750002 -0.81249994
                 0.80041224 -1.8001665 0.30118743  0.044936262  -0.8719725
                  0.7015863 -1.7006234 0.20487125 -0.025492929  -0.9286674",
            ),
            // torch.optim.SGD(groups, .05, momentum=.9, weight_decay=.5)
            (
                "kind = 'sgd', lr = 0.05, momentum = 0.9",
                "       0.9   -1.6        0.35   0.234375  -0.815625
                 0.71999997  -0.92  0.11000001 0.20621338 -0.9540835
                 0.48599997 -0.124 -0.13899997   0.169334 -1.1913854",
            ),
            // torch.optim.SGD(groups, .05, weight_decay=.5)
            (
                "kind = 'sgd', lr = 0.05",
                "  0.9       -1.6       0.35   0.234375  -0.815625
                  0.81      -1.28 0.24499999 0.22027588  -0.895021
                 0.729 -1.0239999     0.1715 0.20749076 -0.9928049",
            ),
            // torch.optim.RMSprop(groups, .05, weight_decay=.5)
            (
                "kind = 'rmsprop', lr = 0.05",
                "       0.5       -1.5 0.0 -0.24999982      -1.25
                 0.27549338 -1.1990354 0.0 -0.34853244 -1.7260103
                 0.15484369  -0.981361 0.0  -0.6065986 -2.1685553",
            ),
            // Lion as in `lion_steps_as_in_the_paper`, lr=.05, with wd=.5 for b only
            (
                "kind = 'lion', lr = 0.05",
                "      0.95      -1.95       0.45 0.19375001 -0.78125006
                        0.9 -1.9000001 0.39999998 0.13890627  -0.8117188
                 0.84999996 -1.8500001 0.34999996 0.08543362  -0.8414259",
            ),
        ] {
            let settings = format!("{settings}, weight-decay = 0.5, decay = 'matrices'");
            // RMSprop takes the largest steps of b: the rounding error of the first step has grown threefold by the
            // third.
            assert_steps_within(5e-7, &settings, expected);
            let written = serde_json::to_value(spec::<OptimizerSpec>(&settings)).unwrap();
            assert_eq!(written["decay"], "matrices");
        }
    }

    #[test]
    fn what_is_not_set_is_not_part_of_a_cell() {
        for kind in ["adam", "adamw", "sgd", "rmsprop", "lion"] {
            let spec: OptimizerSpec = spec(&format!("kind = '{kind}'"));
            assert!(serde_json::to_value(&spec).unwrap().get("decay").is_none());
        }
    }
}
