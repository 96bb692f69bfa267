//! Updates on the CPU: one vectorised pass over all operands, in parallel for large buffers.
#![expect(
    clippy::inline_always,
    reason = "compiled anew for each vector level inside `simd`"
)]

use std::convert::Infallible;

use dfdx::tensor::Cpu;
use rayon::prelude::*;

use super::{AdamStep, Factors, SgdStep, UpdateKernel, same_length};
use crate::device::Buffer;
use crate::ops::OpError;
use crate::ops::chunks::sum_chunks;
use crate::ops::parallel::{CHUNK, ELEMENTWISE_LEN, for_each_chunk};
use crate::ops::simd::simd;

impl UpdateKernel for Cpu {
    type Tables = ();
    type Control = Infallible;

    fn sum_of_squares(&self, x: &Buffer<Self>) -> Result<f64, OpError> {
        Ok(sum_chunks(x.len(), |range| {
            simd(
                #[inline(always)]
                || squares(&x[range]),
            )
        }))
    }

    fn scale(&self, x: &mut Buffer<Self>, factor: f32) -> Result<(), OpError> {
        for_each_chunk(x, CHUNK, |_, x| {
            simd(
                #[inline(always)]
                || x.iter_mut().for_each(|x| *x *= factor),
            );
        });
        Ok(())
    }

    fn add_scaled(
        &self,
        x: &mut Buffer<Self>,
        y: &Buffer<Self>,
        factor: f32,
    ) -> Result<(), OpError> {
        same_length("add_scaled", x.len(), y.len())?;
        update(
            x,
            y,
            #[inline(always)]
            |x, y| x + factor * y,
        );
        Ok(())
    }

    fn lerp(&self, x: &mut Buffer<Self>, y: &Buffer<Self>, weight: f32) -> Result<(), OpError> {
        same_length("lerp", x.len(), y.len())?;
        update(
            x,
            y,
            #[inline(always)]
            |x, y| between(x, y, weight),
        );
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
        for len in [gradient.len(), mean.len(), square.len()] {
            same_length("adam_step", parameter.len(), len)?;
        }
        let factors = Factors::new(step);
        let chunk = chunk_len(parameter.len());
        let state = mean.par_chunks_mut(chunk).zip(square.par_chunks_mut(chunk));
        let operands = parameter
            .par_chunks_mut(chunk)
            .zip(gradient.par_chunks(chunk));
        operands.zip(state).for_each(|((p, g), (m, v))| {
            simd(
                #[inline(always)]
                || adam(p, g, m, v, factors),
            );
        });
        Ok(())
    }

    fn sgd_step(
        &self,
        parameter: &mut Buffer<Self>,
        gradient: &Buffer<Self>,
        momentum: Option<&mut Buffer<Self>>,
        step: SgdStep,
    ) -> Result<(), OpError> {
        same_length("sgd_step", parameter.len(), gradient.len())?;
        let Some(momentum) = momentum else {
            let (lr, decay) = (step.lr as f32, step.weight_decay as f32);
            update(
                parameter,
                gradient,
                #[inline(always)]
                |p, g| p - lr * (g + decay * p),
            );
            return Ok(());
        };
        same_length("sgd_step", parameter.len(), momentum.len())?;
        let chunk = chunk_len(parameter.len());
        let operands = parameter
            .par_chunks_mut(chunk)
            .zip(gradient.par_chunks(chunk));
        let operands = operands.zip(momentum.par_chunks_mut(chunk));
        operands.for_each(|((p, g), b)| {
            simd(
                #[inline(always)]
                || sgd(p, g, b, step),
            );
        });
        Ok(())
    }
}

/// `x = next(x, y)` for every value.
fn update(x: &mut [f32], y: &[f32], next: impl Fn(f32, f32) -> f32 + Sync) {
    for_each_chunk(x, CHUNK, |start, x| {
        simd(
            #[inline(always)]
            || {
                for (x, y) in x.iter_mut().zip(&y[start..]) {
                    *x = next(*x, *y);
                }
            },
        );
    });
}

/// Values of a chunk: all of a small buffer, for which threads do not pay.
fn chunk_len(len: usize) -> usize {
    if len < ELEMENTWISE_LEN {
        len.max(1)
    } else {
        CHUNK
    }
}

#[inline(always)]
fn squares(x: &[f32]) -> f64 {
    let mut sums = [0.0_f64; 8];
    for x in x.chunks(8) {
        for (sum, x) in sums.iter_mut().zip(x) {
            *sum += f64::from(*x) * f64::from(*x);
        }
    }
    sums.iter().sum()
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
fn adam(parameter: &mut [f32], gradient: &[f32], mean: &mut [f32], square: &mut [f32], f: Factors) {
    for (((p, g), m), v) in parameter.iter_mut().zip(gradient).zip(mean).zip(square) {
        *m = between(*m, *g, f.towards);
        *v = *v * f.beta2 + f.one_minus_beta2 * g * g;
        let root = v.sqrt() / f.correction2 + f.eps;
        *p = *p * f.keep + f.size * *m / root;
    }
}

#[inline(always)]
fn sgd(parameter: &mut [f32], gradient: &[f32], momentum: &mut [f32], step: SgdStep) {
    let (lr, decay, mu) = (
        step.lr as f32,
        step.weight_decay as f32,
        step.momentum as f32,
    );
    for ((p, g), b) in parameter.iter_mut().zip(gradient).zip(momentum) {
        let g = g + decay * *p;
        *b = mu * *b + g;
        *p -= lr * if step.nesterov { g + mu * *b } else { *b };
    }
}
