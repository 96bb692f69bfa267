//! Stochastic gradient descent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Decay;
use super::check::RangeError;
use crate::manifest::is_default;
use crate::ops::{Grads, Kernels, Module, Result, SgdStep, StepState};

/// Settings of SGD.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SgdSpec {
    /// Learning rate.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub lr: f64,
    /// Momentum.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub momentum: f64,
    /// Whether the momentum is Nesterov's; needs a `momentum`.
    pub nesterov: bool,
    /// Weight decay, as an L2 term of the gradient.
    #[schemars(range(min = 0))]
    pub weight_decay: f64,
    /// Which parameters have weight decay.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("default" = "all"))]
    pub decay: Decay,
}

impl Default for SgdSpec {
    fn default() -> Self {
        Self {
            lr: 1e-2,
            momentum: 0.0,
            nesterov: false,
            weight_decay: 0.0,
            decay: Decay::All,
        }
    }
}

impl SgdSpec {
    /// Invalid combinations of values.
    pub(super) fn check(&self) -> Vec<RangeError> {
        let lacks_momentum = self.nesterov && self.momentum == 0.0;
        let error = lacks_momentum.then(|| RangeError {
            key: "nesterov",
            message: "needs a momentum above 0".to_owned(),
        });
        error.into_iter().collect()
    }
}

/// SGD: steps against the gradient, or against a decaying sum of gradients.
///
/// `g += wd p`, `b = μ b + g`, `p -= lr b`; with Nesterov `p -= lr (g + μ b)`; without momentum `p -= lr g`.
///
/// # Source
/// Sutskever et al. 2013; PyTorch `SGD` with dampening 0.
#[derive(Debug)]
pub struct Sgd<D: Kernels> {
    spec: SgdSpec,
    momentum: StepState<D, 1>,
}

impl<D: Kernels> Sgd<D> {
    pub(super) fn new(spec: &SgdSpec) -> Self {
        Self {
            spec: spec.clone(),
            momentum: StepState::default(),
        }
    }

    pub(super) fn has_momentum(&self) -> bool {
        self.spec.momentum > 0.0
    }

    pub(super) fn begin(&mut self, device: &D, module: &mut dyn Module<D>) -> Result<()> {
        if self.has_momentum() {
            self.momentum.begin(device, module)?;
        }
        Ok(())
    }

    pub(super) fn state(&mut self) -> &mut StepState<D, 1> {
        &mut self.momentum
    }

    pub(super) fn step(
        &mut self,
        module: &mut dyn Module<D>,
        grads: &mut Grads<D>,
        lr: f64,
        clip_factors: &[f32],
        control: Option<&D::Control>,
    ) -> Result<()> {
        let step = SgdStep {
            lr,
            momentum: self.spec.momentum,
            nesterov: self.spec.nesterov,
            weight_decay: self.spec.weight_decay,
            only_matrices: self.spec.decay == Decay::Matrices,
        };
        let device = grads.device().clone();
        self.begin(&device, module)?;
        device.sgd_steps(
            module,
            grads,
            &mut self.momentum,
            step,
            clip_factors,
            control,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::OptimizerSpec;
    use crate::optim::testing::{assert_reaches_the_minimum, assert_steps};

    #[test]
    fn plain_sgd_steps_like_pytorch() {
        // loss of `adam_steps_like_pytorch`, with torch.optim.SGD([a, b], .1)
        assert_steps(
            &OptimizerSpec::Sgd(SgdSpec {
                lr: 0.1,
                ..SgdSpec::default()
            }),
            &[
                [0.8, -1.2, 0.2, 0.231_25, -0.918_75],
                [0.64, -0.72, 0.08, 0.215_207_04, -1.171_980_5],
                [
                    0.511_999_97,
                    -0.432,
                    0.031_999_994,
                    0.201_312_83,
                    -1.584_042,
                ],
            ],
        );
    }

    #[test]
    fn momentum_and_weight_decay_step_like_pytorch() {
        // torch.optim.SGD([a, b], .05, momentum=.9, weight_decay=.01)
        assert_steps(
            &OptimizerSpec::Sgd(SgdSpec {
                lr: 0.05,
                momentum: 0.9,
                nesterov: false,
                weight_decay: 0.01,
                decay: Decay::All,
            }),
            &[
                [0.899_5, -1.599, 0.349_75, 0.240_5, -0.834],
                [
                    0.718_650_3,
                    -0.917_500_5,
                    0.109_425_1,
                    0.223_153_71,
                    -1.013_516_4,
                ],
                [
                    0.483_661_15,
                    -0.120_192_09,
                    -0.139_749_53,
                    0.199_960_84,
                    -1.328_656_8,
                ],
            ],
        );
    }

    #[test]
    fn nesterov_steps_like_pytorch() {
        // torch.optim.SGD([a, b], .05, momentum=.9, nesterov=True)
        assert_steps(
            &OptimizerSpec::Sgd(SgdSpec {
                lr: 0.05,
                momentum: 0.9,
                nesterov: true,
                weight_decay: 0.0,
                decay: Decay::All,
            }),
            &[
                [0.81, -1.24, 0.215, 0.232_187_5, -0.910_312_5],
                [
                    0.575_1,
                    -0.444_800_02,
                    -0.029_049_978,
                    0.209_229_1,
                    -1.214_826_8,
                ],
                [
                    0.327_321_02,
                    0.216_703_97,
                    -0.174_086_47,
                    0.183_368_15,
                    -1.797_623_6,
                ],
            ],
        );
    }

    #[test]
    fn sgd_finds_the_minimum_of_a_quadratic() {
        assert_reaches_the_minimum(&OptimizerSpec::Sgd(SgdSpec {
            lr: 0.05,
            momentum: 0.5,
            ..SgdSpec::default()
        }));
    }

    #[test]
    fn nesterov_without_momentum_is_a_mistake() {
        let spec = SgdSpec {
            nesterov: true,
            ..SgdSpec::default()
        };
        assert_eq!(spec.check()[0].key, "nesterov");
    }
}
