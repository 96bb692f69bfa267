//! `RMSprop`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Decay;
use crate::manifest::is_default;
use crate::ops::{Grads, Kernels, Module, Result, RmspropStep, StepState};

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

/// `RMSprop`: steps along gradients divided by the root of the mean of their squares.
///
/// `g += wd p`, `v = α v + (1-α) g²`, `p -= lr g / (√v + ε)`; with momentum `b = μ b + g / (√v + ε)`, `p -= lr b`; centred
/// `v - m²` in place of v, with `m = α m + (1-α) g`.
///
/// # Source
/// Tieleman & Hinton 2012; Graves 2013 (centred); PyTorch `RMSprop`.
#[derive(Debug)]
pub struct Rmsprop<D: Kernels> {
    spec: RmspropSpec,
    /// Mean of squares; mean, if centred; momentum, if there is one.
    state: StepState<D, 3>,
}

impl<D: Kernels> Rmsprop<D> {
    pub(super) fn new(spec: &RmspropSpec) -> Self {
        Self {
            spec: spec.clone(),
            state: StepState::default(),
        }
    }

    /// Which buffers of the state are used.
    pub(super) fn used(&self) -> [bool; 3] {
        [true, self.spec.centered, self.spec.momentum > 0.0]
    }

    pub(super) fn begin(&mut self, device: &D, module: &mut dyn Module<D>) -> Result<()> {
        let used = self.used();
        self.state.begin_with(device, module, used)
    }

    pub(super) fn state(&mut self) -> &mut StepState<D, 3> {
        &mut self.state
    }

    pub(super) fn step(
        &mut self,
        module: &mut dyn Module<D>,
        grads: &mut Grads<D>,
        lr: f64,
        clip_factors: &[f32],
        control: Option<&D::Control>,
    ) -> Result<()> {
        let step = RmspropStep {
            lr,
            alpha: self.spec.alpha,
            eps: self.spec.eps,
            momentum: self.spec.momentum,
            weight_decay: self.spec.weight_decay,
            only_matrices: self.spec.decay == Decay::Matrices,
        };
        let device = grads.device().clone();
        self.begin(&device, module)?;
        let state = &mut self.state;
        device.rmsprop_steps(module, grads, state, step, clip_factors, control)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::OptimizerSpec;
    use crate::optim::testing::{assert_reaches_the_minimum, assert_steps};

    #[test]
    fn rmsprop_steps_like_pytorch() {
        // loss of `adam_steps_like_pytorch`, with torch.optim.RMSprop([a, b], .01)
        assert_steps(
            &OptimizerSpec::Rmsprop(RmspropSpec::default()),
            &[
                [0.900_000_04, -1.9, 0.4, 0.150_000_07, -0.85],
                [
                    0.832_918,
                    -1.830_943_3,
                    0.337_339_16,
                    0.115_977_18,
                    -0.929_055_15,
                ],
                [
                    0.779_982_27,
                    -1.775_349_5,
                    0.290_433_2,
                    0.095_949_695,
                    -0.997_899_6,
                ],
            ],
        );
    }

    #[test]
    fn centred_steps_with_momentum_are_those_of_pytorch() {
        // torch.optim.RMSprop([a, b], .01, alpha=.9, momentum=.9, centered=True, weight_decay=.01)
        assert_steps(
            &OptimizerSpec::Rmsprop(RmspropSpec {
                alpha: 0.9,
                momentum: 0.9,
                centered: true,
                weight_decay: 0.01,
                ..RmspropSpec::default()
            }),
            &[
                [
                    0.966_666_64,
                    -1.966_666_7,
                    0.466_666_67,
                    0.216_666_67,
                    -0.783_333_36,
                ],
                [
                    0.911_590_1,
                    -1.911_380_2,
                    0.412_028_37,
                    0.164_879_49,
                    -0.839_842_56,
                ],
                [
                    0.840_596_44,
                    -1.839_645,
                    0.342_634_14,
                    0.105_306_16,
                    -0.915_656_4,
                ],
            ],
        );
    }

    #[test]
    fn rmsprop_finds_the_minimum_of_a_quadratic() {
        assert_reaches_the_minimum(&OptimizerSpec::Rmsprop(RmspropSpec {
            lr: 0.02,
            alpha: 0.9,
            ..RmspropSpec::default()
        }));
    }
}
