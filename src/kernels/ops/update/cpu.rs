//! Updates on the CPU: one vectorised pass over all operands, in parallel for large buffers.

use std::convert::Infallible;

use dfdx::tensor::Cpu;

use super::norm::squares;
use super::one_pass::for_all;
use super::{
    AdamStep, Factors, SgdStep, StepControl, StepState, UpdateKernel, same_length, stateless,
};
use crate::device::Buffer;
use crate::ops::chunks::sum_chunks;
use crate::ops::parallel::{CHUNK, for_each_chunk};
use crate::ops::simd::simd;
use crate::ops::{Grads, Module, Result, for_each_parameter};

impl UpdateKernel for Cpu {
    type Control = Infallible;

    fn sum_of_squares(&self, x: &Buffer<Self>) -> Result<f64> {
        Ok(sum_chunks(x.len(), |range| squares(&x[range])))
    }

    fn scale(&self, x: &mut Buffer<Self>, factor: f32) -> Result<()> {
        for_each_chunk(x, CHUNK, |_, x| {
            simd!(x.iter_mut().for_each(|x| *x *= factor));
        });
        Ok(())
    }

    fn add_scaled(&self, x: &mut Buffer<Self>, y: &Buffer<Self>, factor: f32) -> Result<()> {
        same_length("add_scaled", x.len(), y.len())?;
        update(
            x,
            y,
            #[inline(always)]
            |x, y| x + factor * y,
        );
        Ok(())
    }

    fn adam_steps(
        &self,
        module: &mut dyn Module<Self>,
        grads: &mut Grads<Self>,
        state: &mut StepState<Self, 2>,
        (step, decay): (AdamStep, f32),
        factors: &[f32],
        _control: Option<&Self::Control>,
    ) -> Result<()> {
        let of_step = Factors::new(step);
        for_all(module, grads, state, factors, |p, g, [m, v], factor| {
            adam_chunk(p, g, [m, v], of_step, (factor, decay));
        })
    }

    fn sgd_steps(
        &self,
        module: &mut dyn Module<Self>,
        grads: &mut Grads<Self>,
        state: &mut StepState<Self, 1>,
        step: SgdStep,
        factors: &[f32],
        _control: Option<&Self::Control>,
    ) -> Result<()> {
        for_all(module, grads, state, factors, |p, g, [momentum], factor| {
            sgd_chunk(p, g, momentum, factor, step);
        })
    }

    fn lerp_all(
        &self,
        averages: &mut StepState<Self, 1>,
        module: &mut dyn Module<Self>,
        weight: f32,
        _control: Option<&Self::Control>,
    ) -> Result<()> {
        for_each_parameter(module, |index, parameter| {
            let [x] = averages.buffers.get_mut(index).ok_or_else(stateless)?;
            same_length("lerp_all", x.len(), parameter.len())?;
            update(
                x,
                parameter.data(),
                #[inline(always)]
                |x, y| between(x, y, weight),
            );
            Ok(())
        })
    }
}

/// There is no control on the CPU: the host decides about each step.
impl StepControl<Cpu> for Infallible {
    fn loss_grad(&self, _device: &Cpu, _share: f32) -> Result<Buffer<Cpu>> {
        match *self {}
    }

    fn add_loss(&mut self, _loss: &Buffer<Cpu>, _share: f64) -> Result<()> {
        match *self {}
    }

    fn decide(
        &mut self,
        _device: &Cpu,
        _module: &mut dyn Module<Cpu>,
        _grads: &mut Grads<Cpu>,
    ) -> Result<()> {
        match *self {}
    }

    fn skipped_steps(&self) -> Result<Option<u64>> {
        match *self {}
    }
}

/// One step of Adam; gradients are multiplied by `factor`, then `decay` is added as an L2 term.
fn adam_chunk(
    parameter: &mut [f32],
    gradient: &[f32],
    [mean, square]: [&mut [f32]; 2],
    of_step: Factors,
    (factor, decay): (f32, f32),
) {
    simd!({
        for (((p, g), m), v) in parameter.iter_mut().zip(gradient).zip(mean).zip(square) {
            let g = g * factor;
            // The branch does not depend on values; without decay nothing is added, not even 0.
            let g = if decay > 0.0 { g + decay * *p } else { g };
            adam(p, g, m, v, of_step);
        }
    });
}

/// One step of SGD; gradients are multiplied by `factor`. Plain SGD if `momentum` is empty.
fn sgd_chunk(
    parameter: &mut [f32],
    gradient: &[f32],
    momentum: &mut [f32],
    factor: f32,
    step: SgdStep,
) {
    simd!({
        if momentum.is_empty() {
            let (lr, decay) = (step.lr as f32, step.weight_decay as f32);
            for (p, g) in parameter.iter_mut().zip(gradient) {
                *p -= lr * (g * factor + decay * *p);
            }
        } else {
            sgd(parameter, gradient, momentum, factor, step);
        }
    });
}

/// `x = next(x, y)` for every value.
fn update(x: &mut [f32], y: &[f32], next: impl Fn(f32, f32) -> f32 + Sync) {
    for_each_chunk(x, CHUNK, |start, x| {
        simd!({
            for (x, y) in x.iter_mut().zip(&y[start..]) {
                *x = next(*x, *y);
            }
        });
    });
}

/// PyTorch's `lerp`: from the nearer end, so that `weight = 1` gives `y` exactly.
#[inline(always)]
fn between(x: f32, y: f32, weight: f32) -> f32 {
    if weight < 0.5 {
        x + weight * (y - x)
    } else {
        y - (y - x) * (1.0 - weight)
    }
}

#[inline(always)]
fn adam(p: &mut f32, g: f32, m: &mut f32, v: &mut f32, f: Factors) {
    *m = between(*m, g, f.towards);
    *v = *v * f.beta2 + f.one_minus_beta2 * g * g;
    let root = v.sqrt() / f.correction2 + f.eps;
    *p = *p * f.keep + f.size * *m / root;
}

#[inline(always)]
fn sgd(parameter: &mut [f32], gradient: &[f32], momentum: &mut [f32], factor: f32, step: SgdStep) {
    let (lr, decay, mu) = (
        step.lr as f32,
        step.weight_decay as f32,
        step.momentum as f32,
    );
    for ((p, g), b) in parameter.iter_mut().zip(gradient).zip(momentum) {
        let g = g * factor + decay * *p;
        *b = mu * *b + g;
        *p -= lr * if step.nesterov { g + mu * *b } else { *b };
    }
}
