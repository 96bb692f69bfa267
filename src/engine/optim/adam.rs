//! Adam and `AdamW`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Decay;
use crate::manifest::is_default;
use crate::ops::{AdamStep, Grads, Kernels, Module, Result, StepState};

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

/// Adam: steps along the mean of gradients divided by the root of the mean of their squares.
///
/// `m = β₁ m + (1-β₁) g`, `v = β₂ v + (1-β₂) g²`, `p -= lr (m / (1-β₁ⁿ)) / (√(v / (1-β₂ⁿ)) + ε)` in step n.
/// Weight decay is an L2 term of the gradient, `g += wd p` (Adam), or decoupled, `p -= lr wd p` before the step (`AdamW`).
///
/// # Source
/// Kingma & Ba 2015; Loshchilov & Hutter 2019; PyTorch `Adam` and `AdamW`.
#[derive(Debug)]
pub struct Adam<D: Kernels> {
    spec: AdamSpec,
    is_decoupled: bool,
    steps: u64,
    /// Mean and mean square of the gradients.
    state: StepState<D, 2>,
}

impl<D: Kernels> Adam<D> {
    /// `AdamW` where the decay is decoupled, else Adam.
    pub(super) fn new(spec: &AdamSpec, is_decoupled: bool) -> Self {
        Self {
            spec: spec.clone(),
            is_decoupled,
            steps: 0,
            state: StepState::default(),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        if self.is_decoupled { "adamw" } else { "adam" }
    }

    pub(super) fn begin_after(
        &mut self,
        steps: u64,
        device: &D,
        module: &mut dyn Module<D>,
    ) -> Result<()> {
        self.steps = steps;
        self.state.begin(device, module)
    }

    pub(super) fn state(&mut self) -> &mut StepState<D, 2> {
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
        self.steps += 1;
        let decoupled = if self.is_decoupled {
            self.spec.weight_decay
        } else {
            0.0
        };
        let coupled = (self.spec.weight_decay - decoupled) as f32;
        let [beta1, beta2] = self.spec.betas;
        let step = AdamStep {
            only_matrices: self.spec.decay == Decay::Matrices,
            ..AdamStep::new(lr, (beta1, beta2), self.spec.eps, decoupled, self.steps)
        };
        let device = grads.device().clone();
        self.state.begin(&device, module)?;
        let state = &mut self.state;
        device.adam_steps(module, grads, state, (step, coupled), clip_factors, control)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::OptimizerSpec;
    use crate::optim::testing::{assert_reaches_the_minimum, assert_steps};

    const SPEC: AdamSpec = AdamSpec {
        lr: 0.1,
        betas: [0.9, 0.999],
        eps: 1e-8,
        weight_decay: 0.01,
        decay: Decay::All,
    };

    #[test]
    fn adam_steps_like_pytorch() {
        // a = torch.tensor([1., -2., .5], requires_grad=True); b = torch.tensor([[.25, -.75]], requires_grad=True)
        // opt = torch.optim.Adam([a, b], .1, weight_decay=.01)
        // three times: opt.zero_grad()
        //   ((a**2 * torch.tensor([1., 2., 3.])).sum() + (b**3).sum()).backward(); opt.step()
        assert_steps(
            &OptimizerSpec::Adam(SPEC),
            &[
                [0.9, -1.9, 0.4, 0.150_000_02, -0.85],
                [
                    0.800_412_2,
                    -1.800_166_5,
                    0.301_187_43,
                    0.061_610_363,
                    -0.949_876_1,
                ],
                [
                    0.701_586_25,
                    -1.700_623_4,
                    0.204_871_24,
                    -0.010_385_044,
                    -1.049_699_9,
                ],
            ],
        );
    }

    #[test]
    fn adamw_steps_like_pytorch() {
        // as above with torch.optim.AdamW
        assert_steps(
            &OptimizerSpec::AdamW(SPEC),
            &[
                [0.899_000_05, -1.898, 0.399_5, 0.149_750_02, -0.849_249_96],
                [
                    0.798_519_1,
                    -1.796_272_6,
                    0.300_297_86,
                    0.061_392_74,
                    -0.948_284_75,
                ],
                [
                    0.698_911_25,
                    -1.694_944_6,
                    0.203_712_4,
                    -0.010_367_163,
                    -1.047_177_1,
                ],
            ],
        );
    }

    #[test]
    fn adam_finds_the_minimum_of_a_quadratic() {
        assert_reaches_the_minimum(&OptimizerSpec::Adam(AdamSpec {
            lr: 0.05,
            ..AdamSpec::default()
        }));
    }
}
