//! Adam and `AdamW`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Decay;
use crate::manifest::is_default;
use crate::ops::AdamStep;

/// Settings of Adam and `AdamW`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AdamSpec {
    /// Learning rate.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub lr: f64,
    /// β₁ and β₂: decay of the mean of the gradients and of the mean of their squares.
    #[schemars(extend("items" = { "type": "number", "minimum": 0, "exclusiveMaximum": 1 }))]
    pub betas: [f64; 2],
    /// ε, added to the denominator.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub eps: f64,
    /// Weight decay.
    #[schemars(range(min = 0))]
    pub weight_decay: f64,
    /// Which parameters have weight decay.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("default" = "all"))]
    pub decay: Decay,
}

impl Default for AdamSpec {
    fn default() -> Self {
        Self {
            lr: 1e-3,
            betas: [0.9, 0.999],
            eps: 1e-8,
            weight_decay: 0.0,
            decay: Decay::All,
        }
    }
}

impl AdamSpec {
    /// Arguments of the kernel for step `n` (from 1) with learning rate `lr`, and the weight decay that the kernel
    /// adds to the gradient (0 for `AdamW`).
    ///
    /// `m = β₁ m + (1-β₁) g`, `v = β₂ v + (1-β₂) g²`, `p -= lr (m / (1-β₁ⁿ)) / (√(v / (1-β₂ⁿ)) + ε)`. Weight decay is
    /// an L2 term of the gradient, `g += wd p` (Adam), or decoupled, `p -= lr wd p` before the step (`AdamW`).
    ///
    /// # Source
    /// Kingma & Ba 2015; Loshchilov & Hutter 2019; PyTorch `Adam` and `AdamW`.
    pub(super) fn step(&self, lr: f64, is_decoupled: bool, n: u64) -> (AdamStep, f32) {
        let (decoupled, coupled) = if is_decoupled {
            (self.weight_decay, 0.0)
        } else {
            (0.0, self.weight_decay as f32)
        };
        let step = AdamStep {
            only_matrices: self.decay == Decay::Matrices,
            ..AdamStep::new(lr, self.betas.into(), self.eps, decoupled, n)
        };
        (step, coupled)
    }
}

#[cfg(test)]
mod tests {
    use crate::optim::testing::assert_steps;

    #[test]
    fn adam_steps_like_pytorch() {
        // a = torch.tensor([1., -2., .5], requires_grad=True); b = torch.tensor([[.25, -.75]], requires_grad=True)
        // opt = torch.optim.Adam([a, b], .1, weight_decay=.01)
        // three times: opt.zero_grad()
        //   ((a**2 * torch.tensor([1., 2., 3.])).sum() + (b**3).sum()).backward(); opt.step()
        assert_steps(
            "kind = 'adam', lr = 0.1, weight-decay = 0.01",
            "       0.9       -1.9        0.4   0.15000002      -0.85
              0.8004122 -1.8001665 0.30118743  0.061610363 -0.9498761
             0.70158625 -1.7006234 0.20487124 -0.010385044 -1.0496999",
        );
    }

    #[test]
    fn adamw_steps_like_pytorch() {
        // as above with torch.optim.AdamW
        assert_steps(
            "kind = 'adamw', lr = 0.1, weight-decay = 0.01",
            "0.89900005     -1.898     0.3995   0.14975002 -0.84924996
              0.7985191 -1.7962726 0.30029786   0.06139274 -0.94828475
             0.69891125 -1.6949446  0.2037124 -0.010367163  -1.0471771",
        );
    }
}
