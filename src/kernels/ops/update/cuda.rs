//! Updates on CUDA: one pass over all operands, and one launch for all parameters of a step.

use dfdx::tensor::Cuda;

use super::control::{Control, with_control};
use super::table::TensorTable;
use super::{
    AdamStep, Factors, LionFactors, LionStep, RmspropFactors, RmspropStep, SgdStep, StepRules,
    StepState, UpdateKernel, decays, same_length, stateless,
};
use crate::device::cuda::{Launch, downloaded, scratch};
use crate::device::{Backend, Buffer};
use crate::ops::{Grads, Module, Result, for_each_trained};

const CHUNK: usize = 1 << 12;

impl UpdateKernel for Cuda {
    type Control = Control;

    fn sum_of_squares(&self, x: &Buffer<Self>) -> Result<f64> {
        let n = self.buffer_len(x);
        let blocks = n.div_ceil(CHUNK).max(1);
        let (mut sums, mut total) = (scratch::<f64>(blocks)?, scratch::<f64>(1)?);
        Launch::new("update_squares")
            .blocks(blocks)
            .args((x, n, CHUNK, &mut sums))
            .run()?;
        Launch::new("update_total")
            .args((&sums, blocks, &mut total))
            .run()?;
        Ok(downloaded(&total)?.first().copied().unwrap_or_default())
    }

    fn scale(&self, x: &mut Buffer<Self>, factor: f32) -> Result<()> {
        let n = self.buffer_len(x);
        Launch::new("update_scale")
            .over(n)
            .args((x, factor, n))
            .run()?;
        Ok(())
    }

    fn add_scaled(&self, x: &mut Buffer<Self>, y: &Buffer<Self>, factor: f32) -> Result<()> {
        let n = self.buffer_len(x);
        same_length("add_scaled", n, self.buffer_len(y))?;
        Launch::new("update_add_scaled")
            .over(n)
            .args((x, y, factor, n))
            .run()?;
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
    ) -> Result<()> {
        let mut listed = TensorTable::<4>::default();
        for_each_trained(module, |index, parameter| {
            let [mean, square] = state.buffers.get(index).ok_or_else(stateless)?;
            let gradient = grads.of_parameter(parameter)?;
            listed.push_step(
                "adam_steps",
                self,
                decays(step.only_matrices, parameter.torch_shape()),
                [parameter.data_mut()?, gradient, mean, square],
            )
        })?;
        let placed = listed.place(parts(control))?;
        let corrections = control
            .map(|control| control.corrections(step))
            .transpose()?;
        let Some(launch) = placed.launch("update_adam_many") else {
            return Ok(());
        };
        let factors = Factors::new(step);
        with_control(launch, control)
            .args((corrections.flatten().as_ref(), decay))
            .args((factors.keep, factors.towards, factors.beta2))
            .args((factors.one_minus_beta2, factors.correction2))
            .args((factors.eps, factors.size))
            .run()?;
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
    ) -> Result<()> {
        let has_momentum = !state.buffers.is_empty();
        let mut listed = TensorTable::<3>::default();
        for_each_trained(module, |index, parameter| {
            let gradient = &*grads.of_parameter(parameter)?;
            // Without momentum the kernel does not read this slot, so any address will do.
            let momentum = state
                .buffers
                .get(index)
                .map_or(gradient, |[momentum]| momentum);
            listed.push_step(
                "sgd_steps",
                self,
                decays(step.only_matrices, parameter.torch_shape()),
                [parameter.data_mut()?, gradient, momentum],
            )
        })?;
        let placed = listed.place(parts(control))?;
        let Some(launch) = placed.launch("update_sgd_many") else {
            return Ok(());
        };
        with_control(launch, control)
            .arg(has_momentum)
            .args((step.lr as f32, step.weight_decay as f32))
            .args((step.momentum as f32, step.nesterov))
            .run()?;
        Ok(())
    }

    fn rmsprop_steps(
        &self,
        module: &mut dyn Module<Self>,
        grads: &mut Grads<Self>,
        state: &mut StepState<Self, 3>,
        step: RmspropStep,
        _factors: &[f32],
        control: Option<&Control>,
    ) -> Result<()> {
        let mut listed = TensorTable::<5>::default();
        let (mut is_centred, mut has_momentum) = (false, false);
        for_each_trained(module, |index, parameter| {
            let [square, mean, momentum] = state.buffers.get(index).ok_or_else(stateless)?;
            let gradient = &*grads.of_parameter(parameter)?;
            let is_used = |buffer| self.buffer_len(buffer) > 0;
            (is_centred, has_momentum) = (
                is_centred || is_used(mean),
                has_momentum || is_used(momentum),
            );
            // The kernel does not read the slots of empty buffers, so any address will do.
            let [mean, momentum] =
                [mean, momentum].map(|buffer| if is_used(buffer) { buffer } else { gradient });
            listed.push_step(
                "rmsprop_steps",
                self,
                decays(step.only_matrices, parameter.torch_shape()),
                [parameter.data_mut()?, gradient, square, mean, momentum],
            )
        })?;
        let placed = listed.place(parts(control))?;
        let Some(launch) = placed.launch("update_rmsprop_many") else {
            return Ok(());
        };
        let factors = RmspropFactors::new(step);
        with_control(launch, control)
            .args((is_centred, has_momentum))
            .args((factors.size, factors.alpha, factors.one_minus_alpha))
            .args((factors.eps, factors.momentum, factors.decay))
            .run()?;
        Ok(())
    }

    fn lion_steps(
        &self,
        module: &mut dyn Module<Self>,
        grads: &mut Grads<Self>,
        state: &mut StepState<Self, 1>,
        step: LionStep,
        _factors: &[f32],
        control: Option<&Control>,
    ) -> Result<()> {
        let mut listed = TensorTable::<3>::default();
        for_each_trained(module, |index, parameter| {
            let [mean] = state.buffers.get(index).ok_or_else(stateless)?;
            let gradient = grads.of_parameter(parameter)?;
            listed.push_step(
                "lion_steps",
                self,
                decays(step.only_matrices, parameter.torch_shape()),
                [parameter.data_mut()?, gradient, mean],
            )
        })?;
        let placed = listed.place(parts(control))?;
        let Some(launch) = placed.launch("update_lion_many") else {
            return Ok(());
        };
        let factors = LionFactors::new(step);
        with_control(launch, control)
            .args((factors.keep, factors.lr))
            .args((factors.beta1, factors.one_minus_beta1))
            .args((factors.beta2, factors.one_minus_beta2))
            .run()?;
        Ok(())
    }

    fn lerp_all(
        &self,
        averages: &mut StepState<Self, 1>,
        module: &mut dyn Module<Self>,
        weight: f32,
        control: Option<&Control>,
    ) -> Result<()> {
        let mut listed = TensorTable::<2>::default();
        for_each_trained(module, |index, parameter| {
            let [average] = averages.buffers.get(index).ok_or_else(stateless)?;
            listed.push("lerp_all", self, [average, parameter.data()])
        })?;
        let placed = listed.place(&[])?;
        let Some(launch) = placed.launch("update_lerp_many") else {
            return Ok(());
        };
        with_control(launch, control).arg(weight).run()?;
        Ok(())
    }

    fn control(&self, rules: StepRules) -> Result<Option<Control>> {
        Control::new(rules).map(Some)
    }
}

fn parts(control: Option<&Control>) -> &[usize] {
    control.map_or(&[], Control::parts)
}
