//! The optimizer Lion.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Decay;
use crate::manifest::is_default;
use crate::ops::LionStep;

/// Settings of Lion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LionSpec {
    /// Learning rate: what every weight moves by in a step. The paper takes 3 to 10 times less than for `AdamW`.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub lr: f64,
    /// β₁ and β₂: share of the mean of the gradients in the direction of a step, and decay of that mean.
    #[schemars(extend("items" = { "type": "number", "minimum": 0, "exclusiveMaximum": 1 }))]
    pub betas: [f64; 2],
    /// Weight decay, decoupled as in `adamw`. The paper takes 3 to 10 times more than for `AdamW`.
    #[schemars(range(min = 0))]
    pub weight_decay: f64,
    /// Which parameters have weight decay.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("default" = "all"))]
    pub decay: Decay,
}

impl Default for LionSpec {
    fn default() -> Self {
        Self {
            lr: 1e-4,
            betas: [0.9, 0.99],
            weight_decay: 0.0,
            decay: Decay::All,
        }
    }
}

impl LionSpec {
    /// Arguments of the update kernel: moves each weight by `lr` against the sign of a mean of gradients.
    ///
    /// `p -= lr wd p`, `p -= lr sign(β₁ m + (1-β₁) g)`, then `m = β₂ m + (1-β₂) g`.
    ///
    /// # Source
    /// Chen et al. 2023 (Symbolic Discovery of Optimization Algorithms), algorithm 2.
    pub(super) fn step(&self, lr: f64) -> LionStep {
        let [beta1, beta2] = self.betas;
        LionStep {
            lr,
            beta1,
            beta2,
            weight_decay: self.weight_decay,
            only_matrices: self.decay == Decay::Matrices,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::optim::testing::assert_steps;

    #[test]
    fn lion_steps_as_in_the_paper() {
        // Loss of `adam_steps_like_pytorch`, p.grad by PyTorch; then for p in (a, b), with m = 0 at first: p.mul_(1 -
        // lr * wd); p.add_((m * b1 + p.grad * (1 - b1)).sign(), alpha=-lr); m.mul_(b2).add_(p.grad, alpha=1 - b2)
        // lr=.1, (b1, b2)=(.9, .99), wd=.01
        assert_steps(
            "kind = 'lion', lr = 0.1, weight-decay = 0.01",
            "     0.899     -1.898     0.3995     0.14975   -0.84925
             0.79810095  -1.796102 0.29910052  0.04960025 -0.9484008
              0.6973028 -1.6943059 0.19880143 -0.05044935 -1.0474524",
        );
        // lr=.4, (b1, b2)=(.5, .9), wd=.1: the sign of the third value's step changes
        assert_steps(
            "kind = 'lion', lr = 0.4, betas = [0.5, 0.9], weight-decay = 0.1",
            "0.55999994      -1.52  0.07999998 -0.16000001      -1.12
             0.13759992 -1.0591999 -0.32320002     -0.5536 -1.4751999
             -0.2679041 -0.6168319    0.089728 -0.93145597 -1.8161919",
        );
    }
}
