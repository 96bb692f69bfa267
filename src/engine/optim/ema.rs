//! Exponential moving average of the weights.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::device::Buffer;
use crate::ops::{Kernels, Module, Result, StepState, for_each_trained};

/// Exponential moving average of the weights (`train.ema`), used for validation and sampling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct EmaSpec {
    /// Decay d: `average = d · average + (1 - d) · weights` after each optimizer step.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub decay: f64,
    /// Whether the decay after n steps is `min(decay, (1+n)/(10+n))`, so that the average of a short run follows its weights.
    pub warm_up: bool,
}

impl Default for EmaSpec {
    fn default() -> Self {
        Self {
            decay: 0.9999,
            warm_up: false,
        }
    }
}

impl EmaSpec {
    /// Decay after step number `step`, counted from 1.
    fn decay_after(&self, step: u64) -> f64 {
        let n = step as f64;
        if self.warm_up {
            self.decay.min((1.0 + n) / (10.0 + n))
        } else {
            self.decay
        }
    }
}

/// Exponential moving average e of the weights w, from their initial values on: `e += (1 - decay) (w - e)` after each
/// step.
///
/// # Source
/// Polyak & Juditsky 1992; the warm-up is TensorFlow's `ExponentialMovingAverage(num_updates)`.
#[derive(Debug, Clone)]
pub struct Ema<D: Kernels> {
    spec: EmaSpec,
    steps: u64,
    shadow: StepState<D, 1>,
}

impl<D: Kernels> Ema<D> {
    /// An average that starts at the current weights of `module`.
    pub fn start(spec: &EmaSpec, module: &mut dyn Module<D>) -> Result<Self> {
        let mut shadow = Vec::new();
        for_each_trained(module, |_, parameter| {
            shadow.push([parameter.data().clone()]);
            Ok(())
        })?;
        Ok(Self {
            spec: spec.clone(),
            steps: 0,
            shadow: StepState::new(shadow),
        })
    }

    /// Moves the average towards the weights after an optimizer step, unless `control` skipped the step.
    pub fn update(
        &mut self,
        device: &D,
        module: &mut dyn Module<D>,
        control: Option<&D::Control>,
    ) -> Result<()> {
        self.steps += 1;
        let weight = (1.0 - self.spec.decay_after(self.steps)) as f32;
        device.lerp_all(&mut self.shadow, module, weight, control)
    }

    /// Resumes after `steps` steps; the caller then sets the average through [`Ema::visit_state`].
    pub fn resume_at_step(&mut self, steps: u64) {
        self.steps = steps;
    }

    /// Calls `visit` with the average of every trained parameter, in the model's order.
    pub fn visit_state(&mut self, visit: &mut dyn FnMut(&mut Buffer<D>)) {
        self.shadow.visit(visit);
    }

    /// Swaps the weights of `module` and their average; a second call swaps them back.
    pub fn swap(&mut self, module: &mut dyn Module<D>) -> Result<()> {
        for_each_trained(module, |index, parameter| {
            if let Some([average]) = self.shadow.buffers.get_mut(index) {
                std::mem::swap(parameter.data_mut()?, average);
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{self, assert_close, parse_numbers};
    use crate::optim::testing::QuadraticCubicModel;
    use crate::optim::{OptimizerSpec, SgdSpec};
    use crate::testing::spec;

    fn average_after_three_steps(spec: &EmaSpec) -> (Vec<f32>, Vec<f32>) {
        let device = testing::device();
        let mut bowl = QuadraticCubicModel::new();
        let mut optimizer = OptimizerSpec::Sgd(SgdSpec::default()).build();
        let mut ema = Ema::start(spec, &mut bowl).unwrap();
        for _ in 0..3 {
            let mut grads = bowl.gradients();
            optimizer.step(&mut bowl, &mut grads, 0.1, None).unwrap();
            ema.update(&device, &mut bowl, None).unwrap();
        }
        ema.swap(&mut bowl).unwrap();
        let average = bowl.values();
        ema.swap(&mut bowl).unwrap();
        (average, bowl.values())
    }

    #[test]
    fn the_average_of_three_steps_is_that_of_pytorch() {
        // shadow.lerp_(p.detach(), 1 - .9) after each step of torch.optim.SGD([a, b], .1)
        let spec: EmaSpec = spec("decay = 0.9, warm-up = false");
        let (average, weights) = average_after_three_steps(&spec);
        let expected: Vec<f32> =
            parse_numbers("0.90260005 -1.6631999 0.3911 0.24048117 -0.8850512");
        assert_close(&average, &expected, 1e-6);
        let expected: Vec<f32> =
            parse_numbers("0.51199997 -0.432 0.031999994 0.20131283 -1.584042");
        assert_close(&weights, &expected, 1e-6);
    }

    #[test]
    fn with_warm_up_short_runs_follow_the_weights() {
        // shadow.lerp_(p.detach(), 1 - min(.9999, (1 + n) / (10 + n))) after step n
        let spec: EmaSpec = spec("decay = 0.9999, warm-up = true");
        let (average, _) = average_after_three_steps(&spec);
        let expected: Vec<f32> =
            parse_numbers("0.56648946 -0.56872726 0.060195796 0.20708428 -1.4354134");
        assert_close(&average, &expected, 1e-6);
    }

    #[test]
    fn the_decay_rises_with_the_steps_to_its_limit() {
        // min(.9999, (1 + n) / (10 + n)) for n = 1, 8, 90, 10_000, 100_000
        let spec: EmaSpec = spec("decay = 0.9999, warm-up = true");
        let decays = [1, 8, 90, 10_000, 100_000].map(|step| spec.decay_after(step));
        let expected = [2.0 / 11.0, 0.5, 0.91, 0.999_100_899_100_899, 0.9999];
        for (own, expected) in decays.iter().zip(expected) {
            assert!(
                (own - expected).abs() < 1e-12,
                "{own} instead of {expected}"
            );
        }
    }
}
