//! [`Decay`]: the parameters that weight decay is for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which parameters have weight decay (`decay` of an optimizer).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decay {
    /// All, as in PyTorch without parameter groups.
    #[default]
    All,
    /// Those of two or more dimensions: weights of linear layers, convolutions, embeddings; not biases, and not the scales of
    /// normalisations.
    Matrices,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::testing::assert_steps;
    use crate::optim::{AdamSpec, LionSpec, OptimizerSpec, RmspropSpec, SgdSpec};

    /// Loss of `adam_steps_like_pytorch`, for which `a` has one dimension and `b` two, with the groups
    /// `[dict(params=[a], weight_decay=0.), dict(params=[b])]`.
    fn check(spec: &OptimizerSpec, expected: [[f32; 5]; 3]) {
        assert_steps(spec, &expected);
        let written = serde_json::to_value(spec).unwrap();
        assert_eq!(written["decay"], "matrices");
    }

    #[test]
    fn adam_decays_only_matrices() {
        let spec = AdamSpec {
            lr: 0.1,
            weight_decay: 0.5,
            decay: Decay::Matrices,
            ..AdamSpec::default()
        };
        // torch.optim.Adam(groups, .1, weight_decay=.5)
        check(
            &OptimizerSpec::Adam(spec.clone()),
            [
                [0.900_000_04, -1.9, 0.4, 0.15, -0.85],
                [
                    0.800_412_24,
                    -1.800_166_5,
                    0.301_187_43,
                    0.058_151_864,
                    -0.949_750_6,
                ],
                [
                    0.701_586_3,
                    -1.700_623_4,
                    0.204_871_25,
                    -0.019_642_07,
                    -1.049_329_5,
                ],
            ],
        );
        // torch.optim.AdamW(groups, .1, weight_decay=.5)
        check(
            &OptimizerSpec::AdamW(spec),
            [
                [0.900_000_04, -1.9, 0.4, 0.137_500_02, -0.812_499_94],
                [
                    0.800_412_24,
                    -1.800_166_5,
                    0.301_187_43,
                    0.044_936_262,
                    -0.871_972_5,
                ],
                [
                    0.701_586_3,
                    -1.700_623_4,
                    0.204_871_25,
                    -0.025_492_929,
                    -0.928_667_4,
                ],
            ],
        );
    }

    #[test]
    fn sgd_decays_only_matrices() {
        let spec = |momentum| {
            OptimizerSpec::Sgd(SgdSpec {
                lr: 0.05,
                momentum,
                weight_decay: 0.5,
                decay: Decay::Matrices,
                ..SgdSpec::default()
            })
        };
        // torch.optim.SGD(groups, .05, momentum=.9, weight_decay=.5)
        check(
            &spec(0.9),
            [
                [0.9, -1.6, 0.35, 0.234_375, -0.815_625],
                [
                    0.719_999_97,
                    -0.92,
                    0.110_000_01,
                    0.206_213_38,
                    -0.954_083_5,
                ],
                [0.485_999_97, -0.124, -0.138_999_97, 0.169_334, -1.191_385_4],
            ],
        );
        // torch.optim.SGD(groups, .05, weight_decay=.5)
        check(
            &spec(0.0),
            [
                [0.9, -1.6, 0.35, 0.234_375, -0.815_625],
                [0.81, -1.28, 0.244_999_99, 0.220_275_88, -0.895_021],
                [0.729, -1.023_999_9, 0.171_5, 0.207_490_76, -0.992_804_9],
            ],
        );
    }

    #[test]
    fn rmsprop_and_lion_decay_only_matrices() {
        // torch.optim.RMSprop(groups, .05, weight_decay=.5)
        check(
            &OptimizerSpec::Rmsprop(RmspropSpec {
                lr: 0.05,
                weight_decay: 0.5,
                decay: Decay::Matrices,
                ..RmspropSpec::default()
            }),
            [
                [0.5, -1.5, 0.0, -0.249_999_82, -1.25],
                [0.275_493_38, -1.199_035_4, 0.0, -0.348_532_44, -1.726_010_3],
                [0.154_843_69, -0.981_361, 0.0, -0.606_598_6, -2.168_555_3],
            ],
        );
        // As in `lion_steps_as_in_the_paper`, lr=.05, wd=.5 for b
        check(
            &OptimizerSpec::Lion(LionSpec {
                lr: 0.05,
                weight_decay: 0.5,
                decay: Decay::Matrices,
                ..LionSpec::default()
            }),
            [
                [0.95, -1.95, 0.45, 0.193_750_01, -0.781_250_06],
                [0.9, -1.900_000_1, 0.399_999_98, 0.138_906_27, -0.811_718_8],
                [
                    0.849_999_96,
                    -1.850_000_1,
                    0.349_999_96,
                    0.085_433_62,
                    -0.841_425_9,
                ],
            ],
        );
    }

    #[test]
    fn what_is_not_set_is_not_part_of_a_cell() {
        for kind in ["adam", "adamw", "sgd", "rmsprop", "lion"] {
            let spec: OptimizerSpec =
                serde_json::from_value(serde_json::json!({ "kind": kind })).unwrap();
            assert!(serde_json::to_value(&spec).unwrap().get("decay").is_none());
        }
    }
}
