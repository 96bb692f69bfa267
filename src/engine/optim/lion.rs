//! Lion.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Decay;
use crate::manifest::is_default;
use crate::ops::{Grads, Kernels, LionStep, Module, Result, StepState};

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

/// Lion: steps of the same size for all weights, along the sign of a mean of gradients.
///
/// `p -= lr wd p`, `p -= lr sign(β₁ m + (1-β₁) g)`, then `m = β₂ m + (1-β₂) g`.
///
/// # Source
/// Chen et al. 2023 (Symbolic Discovery of Optimization Algorithms), algorithm 2.
#[derive(Debug)]
pub struct Lion<D: Kernels> {
    spec: LionSpec,
    mean: StepState<D, 1>,
}

impl<D: Kernels> Lion<D> {
    pub(super) fn new(spec: &LionSpec) -> Self {
        Self {
            spec: spec.clone(),
            mean: StepState::default(),
        }
    }

    pub(super) fn begin(&mut self, device: &D, module: &mut dyn Module<D>) -> Result<()> {
        self.mean.begin(device, module)
    }

    pub(super) fn state(&mut self) -> &mut StepState<D, 1> {
        &mut self.mean
    }

    pub(super) fn step(
        &mut self,
        module: &mut dyn Module<D>,
        grads: &mut Grads<D>,
        lr: f64,
        clip_factors: &[f32],
        control: Option<&D::Control>,
    ) -> Result<()> {
        let [beta1, beta2] = self.spec.betas;
        let step = LionStep {
            lr,
            beta1,
            beta2,
            weight_decay: self.spec.weight_decay,
            only_matrices: self.spec.decay == Decay::Matrices,
        };
        let device = grads.device().clone();
        self.begin(&device, module)?;
        let mean = &mut self.mean;
        device.lion_steps(module, grads, mean, step, clip_factors, control)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::OptimizerSpec;
    use crate::optim::testing::{assert_reaches_the_minimum, assert_steps};

    #[test]
    fn lion_steps_as_in_the_paper() {
        // loss of `adam_steps_like_pytorch`, p.grad by PyTorch, then for p in (a, b), with m = 0 at first:
        // p.mul_(1 - lr * wd); p.add_((m * b1 + p.grad * (1 - b1)).sign(), alpha=-lr); m.mul_(b2).add_(p.grad, alpha=1 - b2)
        // lr=.1, (b1, b2)=(.9, .99), wd=.01
        assert_steps(
            &OptimizerSpec::Lion(LionSpec {
                lr: 0.1,
                weight_decay: 0.01,
                ..LionSpec::default()
            }),
            &[
                [0.899, -1.898, 0.399_5, 0.149_75, -0.849_25],
                [
                    0.798_100_95,
                    -1.796_102,
                    0.299_100_52,
                    0.049_600_25,
                    -0.948_400_8,
                ],
                [
                    0.697_302_8,
                    -1.694_305_9,
                    0.198_801_43,
                    -0.050_449_35,
                    -1.047_452_4,
                ],
            ],
        );
        // lr=.4, (b1, b2)=(.5, .9), wd=.1: the third value turns back
        assert_steps(
            &OptimizerSpec::Lion(LionSpec {
                lr: 0.4,
                betas: [0.5, 0.9],
                weight_decay: 0.1,
                decay: Decay::All,
            }),
            &[
                [0.559_999_94, -1.52, 0.079_999_98, -0.160_000_01, -1.12],
                [
                    0.137_599_92,
                    -1.059_199_9,
                    -0.323_200_02,
                    -0.553_6,
                    -1.475_199_9,
                ],
                [
                    -0.267_904_1,
                    -0.616_831_9,
                    0.089_728,
                    -0.931_455_97,
                    -1.816_191_9,
                ],
            ],
        );
    }

    #[test]
    fn lion_finds_the_minimum_of_a_quadratic() {
        assert_reaches_the_minimum(&OptimizerSpec::Lion(LionSpec {
            lr: 0.02,
            betas: [0.9, 0.9],
            ..LionSpec::default()
        }));
    }
}
