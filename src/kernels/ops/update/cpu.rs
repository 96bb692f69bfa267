//! Updates on the CPU: one vectorised pass over all operands, on several threads for large buffers.

use std::convert::Infallible;

use dfdx::tensor::Cpu;

use super::norm::squares;
use super::one_pass::{Terms, for_all};
use super::{
    AdamStep, Factors, LionFactors, LionStep, RmspropFactors, RmspropStep, SgdStep, StepControl,
    StepState, UpdateKernel, same_length, stateless,
};
use crate::device::Buffer;
use crate::ops::chunks::sum_chunks;
use crate::ops::parallel::{CHUNK, MIN_PARALLEL_LEN, for_each_chunk, for_each_item};
use crate::ops::simd::simd;
use crate::ops::{Grads, Module, Result, for_each_trained};

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
        for_each_chunk(x, CHUNK, |start, x| {
            simd!({
                for (x, y) in x.iter_mut().zip(&y[start..]) {
                    *x += factor * y;
                }
            });
        });
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
        let each = (factors, step.only_matrices);
        for_all(module, grads, state, each, |p, g, [m, v], terms| {
            adam_chunk(p, g, [m, v], of_step, (decay, terms));
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
        let each = (factors, step.only_matrices);
        for_all(module, grads, state, each, |p, g, [momentum], terms| {
            sgd_chunk(p, g, momentum, terms, step);
        })
    }

    fn rmsprop_steps(
        &self,
        module: &mut dyn Module<Self>,
        grads: &mut Grads<Self>,
        state: &mut StepState<Self, 3>,
        step: RmspropStep,
        factors: &[f32],
        _control: Option<&Self::Control>,
    ) -> Result<()> {
        let of_step = RmspropFactors::new(step);
        let each = (factors, step.only_matrices);
        for_all(module, grads, state, each, |p, g, state, terms| {
            rmsprop_chunk(p, g, state, of_step, terms);
        })
    }

    fn lion_steps(
        &self,
        module: &mut dyn Module<Self>,
        grads: &mut Grads<Self>,
        state: &mut StepState<Self, 1>,
        step: LionStep,
        factors: &[f32],
        _control: Option<&Self::Control>,
    ) -> Result<()> {
        let of_step = LionFactors::new(step);
        let each = (factors, step.only_matrices);
        for_all(module, grads, state, each, |p, g, [mean], terms| {
            lion_chunk(p, g, mean, of_step, terms);
        })
    }

    fn lerp_all(
        &self,
        averages: &mut StepState<Self, 1>,
        module: &mut dyn Module<Self>,
        weight: f32,
        _control: Option<&Self::Control>,
    ) -> Result<()> {
        // One parallel loop over all parameters, as in optimizer steps.
        let mut averages = averages.buffers.iter_mut();
        let mut pairs = Vec::new();
        for_each_trained(module, |_, parameter| {
            let [x] = averages.next().ok_or_else(stateless)?;
            same_length("lerp_all", x.len(), parameter.len())?;
            pairs.push((x, parameter.var()));
            Ok(())
        })?;
        let values: usize = pairs.iter().map(|(x, _)| x.len()).sum();
        let chunks = pairs
            .iter_mut()
            .flat_map(|(x, y)| x.chunks_mut(CHUNK).zip(y.data().chunks(CHUNK)));
        for_each_item(values >= MIN_PARALLEL_LEN, chunks, |(x, y)| {
            simd!({
                for (x, y) in x.iter_mut().zip(y) {
                    *x = between(*x, *y, weight);
                }
            });
        });
        Ok(())
    }
}

/// The CPU has no control: the host decides about each step. This type has no values, so none of these methods is
/// called.
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

    fn state(&self) -> Result<Vec<f64>> {
        match *self {}
    }

    fn set_state(&mut self, _state: &[f64]) -> Result<()> {
        match *self {}
    }
}

/// One step of Adam. Gradients are multiplied by their factor, then `decay · parameter` is added (weight decay as an L2
/// term).
fn adam_chunk(
    parameter: &mut [f32],
    gradient: &[f32],
    [mean, square]: [&mut [f32]; 2],
    of_step: Factors,
    (decay, terms): (f32, Terms),
) {
    let (decay, keep) = if terms.decays {
        (decay, of_step.keep)
    } else {
        (0.0, 1.0)
    };
    let of_step = Factors { keep, ..of_step };
    simd!({
        for (((p, g), m), v) in parameter.iter_mut().zip(gradient).zip(mean).zip(square) {
            let g = g * terms.factor;
            // Without decay nothing is added, since even `0 * p` can change `g` (if `g` is -0 or `p` is infinite).
            let g = if decay > 0.0 { g + decay * *p } else { g };
            adam(p, g, m, v, of_step);
        }
    });
}

/// One step of SGD; gradients are multiplied by their factor first. Plain SGD if the slice `momentum` is empty.
fn sgd_chunk(
    parameter: &mut [f32],
    gradient: &[f32],
    momentum: &mut [f32],
    terms: Terms,
    step: SgdStep,
) {
    let factor = terms.factor;
    let weight_decay = if terms.decays { step.weight_decay } else { 0.0 };
    let step = SgdStep {
        weight_decay,
        ..step
    };
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

/// One step of `RMSprop`; gradients are multiplied by their factor first. Not centred if the slice `mean` is empty;
/// without momentum if `momentum` is empty.
fn rmsprop_chunk(
    parameter: &mut [f32],
    gradient: &[f32],
    [square, mean, momentum]: [&mut [f32]; 3],
    of_step: RmspropFactors,
    terms: Terms,
) {
    let decay = if terms.decays { of_step.decay } else { 0.0 };
    let f = RmspropFactors { decay, ..of_step };
    let operands = parameter.iter_mut().zip(gradient).zip(square);
    simd!({
        match (mean.is_empty(), momentum.is_empty()) {
            (true, true) => {
                for ((p, g), v) in operands {
                    let g = g * terms.factor + f.decay * *p;
                    let variance = mean_square(v, g, f);
                    *p += f.size * g / (variance.sqrt() + f.eps);
                }
            }
            (true, false) => {
                for (((p, g), v), b) in operands.zip(momentum) {
                    let g = g * terms.factor + f.decay * *p;
                    let variance = mean_square(v, g, f);
                    *p += f.size * accumulated(b, g, variance, f);
                }
            }
            (false, true) => {
                for (((p, g), v), m) in operands.zip(mean) {
                    let g = g * terms.factor + f.decay * *p;
                    let variance = centred(m, g, mean_square(v, g, f), f);
                    *p += f.size * g / (variance.sqrt() + f.eps);
                }
            }
            (false, false) => {
                for ((((p, g), v), m), b) in operands.zip(mean).zip(momentum) {
                    let g = g * terms.factor + f.decay * *p;
                    let variance = centred(m, g, mean_square(v, g, f), f);
                    *p += f.size * accumulated(b, g, variance, f);
                }
            }
        }
    });
}

/// One step of Lion; gradients are multiplied by their factor first.
fn lion_chunk(
    parameter: &mut [f32],
    gradient: &[f32],
    mean: &mut [f32],
    f: LionFactors,
    terms: Terms,
) {
    let keep = if terms.decays { f.keep } else { 1.0 };
    simd!({
        for ((p, g), m) in parameter.iter_mut().zip(gradient).zip(mean) {
            let g = g * terms.factor;
            let direction = *m * f.beta1 + f.one_minus_beta1 * g;
            *m = *m * f.beta2 + f.one_minus_beta2 * g;
            *p = *p * keep - f.lr * sign(direction);
        }
    });
}

/// PyTorch's `lerp`, `x + weight (y - x)`: computed from the nearer end, so that `weight = 1` gives `y` exactly.
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

/// Updates the running mean of squared gradients and returns the new value.
#[inline(always)]
fn mean_square(v: &mut f32, g: f32, f: RmspropFactors) -> f32 {
    *v = *v * f.alpha + f.one_minus_alpha * g * g;
    *v
}

/// Updates the running mean of gradients; returns the variance, the mean of squares minus the square of the mean. If
/// rounding makes the variance negative, 0 is returned; PyTorch takes the root of the negative number.
#[inline(always)]
fn centred(m: &mut f32, g: f32, square: f32, f: RmspropFactors) -> f32 {
    *m = between(*m, g, f.one_minus_alpha);
    let variance = square - *m * *m;
    if variance < 0.0 { 0.0 } else { variance }
}

/// Adds the normalised gradient to the momentum buffer and returns the new value.
#[inline(always)]
fn accumulated(b: &mut f32, g: f32, variance: f32, f: RmspropFactors) -> f32 {
    *b = *b * f.momentum + g / (variance.sqrt() + f.eps);
    *b
}

/// The sign of `x`: -1, 0 or 1. NaN stays NaN, so that a divergence is visible.
#[inline(always)]
fn sign(x: f32) -> f32 {
    let of_number = f32::from(u8::from(x > 0.0)) - f32::from(u8::from(x < 0.0));
    if x.is_nan() { x } else { of_number }
}
