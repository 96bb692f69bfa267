//! Updates on CUDA: one pass over all operands, and one launch for all parameters of a step.

use dfdx::tensor::Cuda;

use super::control::{Control, with_control};
use super::table::{Listed, Tables};
use super::{AdamStep, Factors, Rules, SgdStep, StepState, UpdateKernel, same_length, stateless};
use crate::device::cuda::{Launch, downloaded, scratch};
use crate::device::{Backend, Buffer};
use crate::ops::{Grads, Module, OpError, for_each_parameter};

const CHUNK: usize = 1 << 12;

impl UpdateKernel for Cuda {
    type Tables = Tables;
    type Control = Control;

    fn sum_of_squares(&self, x: &Buffer<Self>) -> Result<f64, OpError> {
        let n = self.buffer_len(x);
        let blocks = n.div_ceil(CHUNK).max(1);
        let (mut sums, mut total) = (scratch::<f64>(blocks)?, scratch::<f64>(1)?);
        Launch::new("update_squares")
            .blocks(blocks)
            .read(x)
            .size(n)
            .size(CHUNK)
            .write(&mut sums)
            .run()?;
        Launch::new("update_total")
            .read(&sums)
            .size(blocks)
            .write(&mut total)
            .run()?;
        Ok(downloaded(&total)?.first().copied().unwrap_or_default())
    }

    fn scale(&self, x: &mut Buffer<Self>, factor: f32) -> Result<(), OpError> {
        let n = self.buffer_len(x);
        Launch::new("update_scale")
            .over(n)
            .write(x)
            .float(factor)
            .size(n)
            .run()?;
        Ok(())
    }

    fn add_scaled(
        &self,
        x: &mut Buffer<Self>,
        y: &Buffer<Self>,
        factor: f32,
    ) -> Result<(), OpError> {
        let n = self.buffer_len(x);
        same_length("add_scaled", n, self.buffer_len(y))?;
        Launch::new("update_add_scaled")
            .over(n)
            .write(x)
            .read(y)
            .float(factor)
            .size(n)
            .run()?;
        Ok(())
    }

    fn lerp(&self, x: &mut Buffer<Self>, y: &Buffer<Self>, weight: f32) -> Result<(), OpError> {
        let n = self.buffer_len(x);
        same_length("lerp", n, self.buffer_len(y))?;
        Launch::new("update_lerp")
            .over(n)
            .write(x)
            .read(y)
            .float(weight)
            .size(n)
            .run()?;
        Ok(())
    }

    fn adam_step(
        &self,
        parameter: &mut Buffer<Self>,
        gradient: &Buffer<Self>,
        mean: &mut Buffer<Self>,
        square: &mut Buffer<Self>,
        step: AdamStep,
    ) -> Result<(), OpError> {
        let n = self.buffer_len(parameter);
        for other in [gradient, &*mean, &*square] {
            same_length("adam_step", n, self.buffer_len(other))?;
        }
        let launch = Launch::new("update_adam")
            .over(n)
            .write(parameter)
            .read(gradient)
            .write(mean)
            .write(square);
        with_factors(launch, Factors::new(step)).size(n).run()?;
        Ok(())
    }

    fn sgd_step(
        &self,
        parameter: &mut Buffer<Self>,
        gradient: &Buffer<Self>,
        momentum: Option<&mut Buffer<Self>>,
        step: SgdStep,
    ) -> Result<(), OpError> {
        let n = self.buffer_len(parameter);
        same_length("sgd_step", n, self.buffer_len(gradient))?;
        if let Some(momentum) = &momentum {
            same_length("sgd_step", n, self.buffer_len(momentum))?;
        }
        let launch = Launch::new("update_sgd")
            .over(n)
            .write(parameter)
            .read(gradient)
            .write_if(momentum);
        with_settings(launch, step).size(n).run()?;
        Ok(())
    }

    fn adam_steps(
        &self,
        module: &mut dyn Module<Self>,
        grads: &mut Grads<Self>,
        state: &mut StepState<Self, 2>,
        (step, decay): (AdamStep, f32),
        _factors: &[f32],
        control: Option<&Control>,
    ) -> Result<(), OpError> {
        let mut listed = Listed::<4>::default();
        for_each_parameter(module, |index, parameter| {
            let [mean, square] = state.buffers.get(index).ok_or_else(stateless)?;
            let gradient = grads.of_parameter(parameter)?;
            listed.push(
                "adam_steps",
                self,
                [parameter.data_mut()?, gradient, mean, square],
            )
        })?;
        let placed = listed.place(&mut state.tables, parts(control))?;
        let corrections = control
            .map(|control| control.corrections(step))
            .transpose()?;
        let Some(launch) = placed.launch("update_adam_many") else {
            return Ok(());
        };
        let launch = with_control(launch, control)
            .read_if(corrections.flatten().as_ref())
            .float(decay);
        with_factors(launch, Factors::new(step)).run()?;
        Ok(())
    }

    fn sgd_steps(
        &self,
        module: &mut dyn Module<Self>,
        grads: &mut Grads<Self>,
        state: &mut StepState<Self, 1>,
        step: SgdStep,
        _factors: &[f32],
        control: Option<&Control>,
    ) -> Result<(), OpError> {
        let has_momentum = !state.buffers.is_empty();
        let mut listed = Listed::<3>::default();
        for_each_parameter(module, |index, parameter| {
            let gradient = &*grads.of_parameter(parameter)?;
            // Without momentum its slot is not read.
            let momentum = state
                .buffers
                .get(index)
                .map_or(gradient, |[momentum]| momentum);
            listed.push(
                "sgd_steps",
                self,
                [parameter.data_mut()?, gradient, momentum],
            )
        })?;
        let placed = listed.place(&mut state.tables, parts(control))?;
        let Some(launch) = placed.launch("update_sgd_many") else {
            return Ok(());
        };
        let launch = with_control(launch, control).int(i32::from(has_momentum));
        with_settings(launch, step).run()?;
        Ok(())
    }

    fn lerp_all(
        &self,
        averages: &mut StepState<Self, 1>,
        module: &mut dyn Module<Self>,
        weight: f32,
        control: Option<&Control>,
    ) -> Result<(), OpError> {
        let mut listed = Listed::<2>::default();
        for_each_parameter(module, |index, parameter| {
            let [average] = averages.buffers.get(index).ok_or_else(stateless)?;
            listed.push("lerp_all", self, [average, parameter.data()])
        })?;
        let placed = listed.place(&mut averages.tables, &[])?;
        let Some(launch) = placed.launch("update_lerp_many") else {
            return Ok(());
        };
        with_control(launch, control).float(weight).run()?;
        Ok(())
    }

    fn control(&self, rules: Rules) -> Result<Option<Control>, OpError> {
        Control::new(rules).map(Some)
    }

    fn loss_grad(&self, control: &Control, share: f32) -> Result<Buffer<Self>, OpError> {
        control.loss_grad(self, share)
    }

    fn add_loss(
        &self,
        control: &mut Control,
        loss: &Buffer<Self>,
        share: f64,
    ) -> Result<(), OpError> {
        control.add_loss(loss, share)
    }

    fn decide(
        &self,
        control: &mut Control,
        module: &mut dyn Module<Self>,
        grads: &mut Grads<Self>,
    ) -> Result<(), OpError> {
        control.decide(self, module, grads)
    }

    fn skipped_steps(&self, control: &Control) -> Result<Option<u64>, OpError> {
        control.skipped_steps()
    }
}

fn parts(control: Option<&Control>) -> &[usize] {
    control.map_or(&[], Control::parts)
}

fn with_factors(launch: Launch, factors: Factors) -> Launch {
    launch
        .float(factors.keep)
        .float(factors.towards)
        .float(factors.beta2)
        .float(factors.one_minus_beta2)
        .float(factors.correction2)
        .float(factors.eps)
        .float(factors.size)
}

fn with_settings(launch: Launch, step: SgdStep) -> Launch {
    launch
        .float(step.lr as f32)
        .float(step.weight_decay as f32)
        .float(step.momentum as f32)
        .int(i32::from(step.nesterov))
}
