//! The optimizer `RMSprop`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Decay;
use crate::manifest::is_default;
use crate::ops::RmspropStep;

/// Settings of `RMSprop`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct RmspropSpec {
    /// Learning rate.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub lr: f64,
    /// α: decay of the mean of the squares of the gradients.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub alpha: f64,
    /// ε, added to the denominator.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub eps: f64,
    /// Momentum.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub momentum: f64,
    /// Whether gradients are divided by their standard deviation, not by the root of the mean of their squares.
    pub centered: bool,
    /// Weight decay, as an L2 term of the gradient.
    #[schemars(range(min = 0))]
    pub weight_decay: f64,
    /// Which parameters have weight decay.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("default" = "all"))]
    pub decay: Decay,
}

impl Default for RmspropSpec {
    fn default() -> Self {
        Self {
            lr: 1e-2,
            alpha: 0.99,
            eps: 1e-8,
            momentum: 0.0,
            centered: false,
            weight_decay: 0.0,
            decay: Decay::All,
        }
    }
}

impl RmspropSpec {
    /// Which of the three buffers are used: mean of squares always, mean if centred, momentum if not 0.
    pub(super) fn used(&self) -> [bool; 3] {
        [true, self.centered, self.momentum > 0.0]
    }

    /// Arguments of the update kernel: steps along gradients divided by the root of the mean of their squares.
    ///
    /// `g += wd p`, `v = α v + (1-α) g²`, `p -= lr g / (√v + ε)`; with momentum `b = μ b + g / (√v + ε)`, `p -= lr b`.
    /// If centred, `v - m²` takes the place of v under the root, with `m = α m + (1-α) g`.
    ///
    /// # Source
    /// Tieleman & Hinton 2012; Graves 2013 (centred); PyTorch `RMSprop`.
    pub(super) fn step(&self, lr: f64) -> RmspropStep {
        RmspropStep {
            lr,
            alpha: self.alpha,
            eps: self.eps,
            momentum: self.momentum,
            weight_decay: self.weight_decay,
            only_matrices: self.decay == Decay::Matrices,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::optim::testing::assert_steps;

    #[test]
    fn rmsprop_steps_like_pytorch() {
        // loss of `adam_steps_like_pytorch`, with torch.optim.RMSprop([a, b], .01)
        assert_steps(
            "kind = 'rmsprop'",
            "0.90000004       -1.9        0.4  0.15000007       -0.85
               0.832918 -1.8309433 0.33733916  0.11597718 -0.92905515
             0.77998227 -1.7753495  0.2904332 0.095949695  -0.9978996",
        );
        // torch.optim.RMSprop([a, b], .01, momentum=.9, weight_decay=.2)
        assert_steps(
            "kind = 'rmsprop', momentum = 0.9, weight-decay = 0.2",
            "       0.9       -1.9         0.4   0.15000004 -0.84999996
             0.74291795 -1.7409433  0.24733916  0.021859523 -1.0193918
              0.5529149  -1.54413 0.073657274 -0.095748775 -1.2476926",
        );
    }

    #[test]
    fn centred_steps_with_and_without_momentum_are_those_of_pytorch() {
        // torch.optim.RMSprop([a, b], .01, alpha=.9, momentum=.9, centered=True, weight_decay=.01)
        assert_steps(
            "kind = 'rmsprop', alpha = 0.9, momentum = 0.9, centered = true, weight-decay = 0.01",
            "0.96666664 -1.9666667 0.46666667 0.21666667 -0.78333336
              0.9115901 -1.9113802 0.41202837 0.16487949 -0.83984256
             0.84059644  -1.839645 0.34263414 0.10530616  -0.9156564",
        );
        // torch.optim.RMSprop([a, b], .01, alpha=.9, centered=True)
        assert_steps(
            "kind = 'rmsprop', alpha = 0.9, centered = true",
            " 0.9666667 -1.9666667 0.46666667 0.21666667 -0.7833333
              0.9415902 -1.9413801 0.44202837 0.19490722 -0.8098403
             0.91970056 -1.9191804  0.4207945  0.1777071 -0.8338124",
        );
    }
}
