//! [`Control`]: decides on the GPU whether a step changes the weights, and by which factors gradients are scaled. The
//! host does not wait for these decisions: losses, norms, the loss scale and all counters stay in device memory.

use cudarc::driver::{CudaSlice, DeviceSlice};
use dfdx::tensor::Cuda;

use super::table::TensorTable;
use super::{AdamStep, StepControl, StepRules};
use crate::device::cuda::{Launch, Value, downloaded, scratch, uploaded};
use crate::device::{Backend, Buffer};
use crate::ops::{Grads, Module, OpError, Result, for_each_trained};

/// The initial loss scale, that of PyTorch's `GradScaler`.
const FIRST_SCALE: f64 = 65_536.0;

/// Indices into the control's `state`, as in the kernels' `UPDATE_…`, and its length.
const SCALE: usize = 3;
const SKIPPED: usize = 5;
const WORDS: usize = 6;

/// Decides about steps on the GPU and holds the decision in device memory, where the kernels of a step read it.
#[derive(Debug)]
pub struct Control {
    rules: StepRules,
    /// By `UPDATE_…` index: loss of the step, whether a loss has diverged, whether the step goes on, loss scale, good
    /// steps since the scale last changed, number of skipped steps.
    state: CudaSlice<f64>,
    /// For each part of the model, the factor that its gradients are multiplied by (clipping and inverse loss scale).
    factors: CudaSlice<f32>,
}

impl Control {
    pub(super) fn new(rules: StepRules) -> Result<Self> {
        let mut state = [0.0; WORDS];
        state[SCALE] = FIRST_SCALE;
        let parts = rules.parts.last().map_or(1, |last| last + 1);
        Ok(Self {
            rules,
            state: uploaded(&state)?,
            factors: uploaded(&vec![1.0; parts])?,
        })
    }

    fn judge(&mut self, launch: Launch) -> Result<()> {
        launch
            .arg(self.factors.len())
            .arg(self.rules.max_norm.unwrap_or(f64::INFINITY))
            .arg(self.rules.max_loss.unwrap_or(f64::INFINITY))
            .args((self.rules.scales_loss, &mut self.state))
            .arg(&mut self.factors)
            .run()?;
        Ok(())
    }

    /// For each parameter, in the model's order, the index of its part of the model; empty if there is only one part.
    pub(super) fn parts(&self) -> &[usize] {
        &self.rules.parts
    }

    /// Adam's bias corrections on the device, counting executed steps only; `None` if losses are not scaled.
    pub(super) fn corrections(&self, step: AdamStep) -> Result<Option<CudaSlice<f32>>> {
        if !self.rules.scales_loss {
            return Ok(None);
        }
        let mut corrections = scratch::<f32>(2)?;
        Launch::new("update_corrections")
            .threads(32)
            .arg(&self.state)
            .arg(usize::try_from(step.number).unwrap_or(usize::MAX))
            .args((step.lr, step.beta1, step.beta2, &mut corrections))
            .run()?;
        Ok(Some(corrections))
    }
}

impl StepControl<Cuda> for Control {
    fn loss_grad(&self, device: &Cuda, share: f32) -> Result<Buffer<Cuda>> {
        if !self.rules.scales_loss {
            return Ok(device.full_buffer(1, share)?);
        }
        let mut gradient = device.zeros_buffer(1)?;
        Launch::new("update_loss_grad")
            .threads(32)
            .args((&self.state, share, &mut gradient))
            .run()?;
        Ok(gradient)
    }

    fn add_loss(&mut self, loss: &Buffer<Cuda>, share: f64) -> Result<()> {
        Launch::new("update_add_loss")
            .threads(32)
            .args((loss, share, &mut self.state))
            .run()?;
        Ok(())
    }

    fn decide(
        &mut self,
        device: &Cuda,
        module: &mut dyn Module<Cuda>,
        grads: &mut Grads<Cuda>,
    ) -> Result<()> {
        if self.rules.max_norm.is_none() && !self.rules.scales_loss {
            return self.judge(Launch::new("update_decide").args((Value::NULL, Value::NULL)));
        }
        let mut listed = TensorTable::<1>::default();
        for_each_trained(module, |_, parameter| {
            listed.push("decide", device, [grads.of_parameter(parameter)?])
        })?;
        let placed = listed.place(&self.rules.parts)?;
        let mut sums = scratch::<f64>(placed.blocks)?;
        if let Some(launch) = placed.launch("update_squares_many") {
            launch.arg(&mut sums).run()?;
        }
        self.judge(placed.with_parts(Launch::new("update_decide").arg(&sums)))
    }

    fn skipped_steps(&self) -> Result<Option<u64>> {
        if !self.rules.scales_loss {
            return Ok(None);
        }
        let state = downloaded(&self.state)?;
        Ok(state.get(SKIPPED).map(|count| *count as u64))
    }

    fn state(&self) -> Result<Vec<f64>> {
        Ok(downloaded(&self.state)?)
    }

    fn set_state(&mut self, state: &[f64]) -> Result<()> {
        if state.len() != WORDS {
            return Err(OpError::shape("set_state", "the state of another control"));
        }
        self.state = uploaded(state)?;
        Ok(())
    }
}

/// Adds the control's state and factors to the arguments of a launch; null pointers without a control.
pub(super) fn with_control(launch: Launch, control: Option<&Control>) -> Launch {
    launch
        .arg(control.map(|control| &control.state))
        .arg(control.map(|control| &control.factors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{self, TestDevice};
    use crate::ops::{Layout, Parameter, Pass, Path, Var};

    /// A model with a single parameter.
    struct One(Parameter<TestDevice>);

    impl Module<TestDevice> for One {
        fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<TestDevice>)) {
            visit(path.as_str(), &mut self.0);
        }
    }

    #[test]
    fn two_thousand_good_steps_double_the_scale() {
        let device = testing::device();
        let rules = StepRules {
            max_loss: None,
            max_norm: None,
            parts: Vec::new(),
            scales_loss: true,
        };
        let mut control = Control::new(rules).unwrap();
        control.state = uploaded(&[0.0, 0.0, 0.0, 128.0, 1997.0, 0.0]).unwrap();
        let parameter = Parameter::new(&device, &[0.0], [1].into(), Layout::Plain).unwrap();
        let mut one = One(parameter);
        let zero = Var::constant(&device, vec![0.0], [1]).unwrap();
        let mut grads = Pass::recording(&device).backward(&zero, 1.0).unwrap();
        let mut states = Vec::new();
        for _ in 0..4 {
            control.decide(&device, &mut one, &mut grads).unwrap();
            let state = downloaded(&control.state).unwrap();
            states.push((state[SCALE] as u32, state[4] as u32));
        }
        assert_eq!(states, [(128, 1998), (128, 1999), (256, 0), (256, 1)]);
    }
}
