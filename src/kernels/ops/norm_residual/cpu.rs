//! The end of a residual block on the CPU: samples in parallel, each read once from memory and again from the L2 cache.

use dfdx::tensor::Cpu;

use super::{NormResidual, NormResidualKernel};
use crate::device::{Backend, Buffer};
use crate::ops::activation::{Activate, Silu};
use crate::ops::dropout::Mask;
use crate::ops::dropout::cpu::mask_factors;
use crate::ops::group_norm::cpu::{each_sample, sample_of};
use crate::ops::group_norm::moments::{MOMENTS_PER_GROUP, part_count, part_rows};
use crate::ops::group_norm::sample::{
    Channels, SUMS_PER_CHANNEL, add_parts, combine_rows, compute_moments, with_channels,
    with_factors,
};
use crate::ops::parallel::{MIN_PARALLEL_LEN, for_each_zipped};
use crate::ops::scratch::with_scratch;
use crate::ops::simd::simd;
use crate::ops::{GradSlots, GroupNormInputs, GroupNormSize, PooledBuffer, Result, Var};

impl NormResidualKernel for Cpu {
    fn norm_residual(
        &self,
        input: &GroupNormInputs<'_, Self>,
        residual: &Buffer<Self>,
        mask: Option<Mask>,
        _keep: bool,
    ) -> Result<NormResidual<Self>> {
        let size = input.size;
        let mut y = self.uninit_buffer(input.x.len())?;
        let mut moments = self.zeros_buffer(size.batch * MOMENTS_PER_GROUP * size.groups)?;
        each_sample(size, &mut y, &mut moments, |b, y, moments| {
            let (x, residual) = (sample_of(input.x, b, size), sample_of(residual, b, size));
            compute_moments(x, size, moments);
            let first = b * y.len();
            with_channels(input, b, moments, |channels| {
                in_parts(size, mask, |part, factors| {
                    simd!({
                        let range = part..x.len().min(part + factors.len());
                        let factors = &mut factors[..range.len()];
                        masked(factors, first + part, mask);
                        let inputs = [&x[range.clone()], &residual[range.clone()], factors];
                        apply(inputs, &mut y[range], channels);
                    });
                });
            });
        });
        Ok((y, moments, None))
    }

    fn norm_residual_backward(
        &self,
        input: &GroupNormInputs<'_, Self>,
        (moments, _): (&Buffer<Self>, Option<&PooledBuffer<Self>>),
        mut grad_output: Buffer<Self>,
        mask: Option<Mask>,
        ([x, residual], slots): ([&Var<Self>; 2], &mut GradSlots<'_, Self>),
    ) -> Result<Buffer<Self>> {
        let size = input.size;
        let mut sums = self.zeros_buffer(size.batch * 2 * size.channels)?;
        let mut grad_x = self.uninit_buffer(grad_output.len())?;
        let len = size.positions * size.channels;
        let large = grad_output.len() >= MIN_PARALLEL_LEN;
        let outputs = [
            (grad_output.as_mut_slice(), len),
            (grad_x.as_mut_slice(), len),
            (sums.as_mut_slice(), 2 * size.channels),
        ];
        for_each_zipped(large, outputs, |b, [grad, grad_x, sums]| {
            let sample = Sample {
                input,
                residual: sample_of(residual.data(), b, size),
                b,
                moments: &moments[b * MOMENTS_PER_GROUP * size.groups..]
                    [..MOMENTS_PER_GROUP * size.groups],
                mask,
            };
            sample.backward(grad, grad_x, sums);
        });
        for (var, mut grad) in [(x, grad_x), (residual, grad_output)] {
            if var.needs_grad() {
                slots.put(var, grad)?;
            } else {
                Self::recycle(&mut grad);
            }
        }
        Ok(sums)
    }
}

/// Calls `task` for every part of a sample, with the index of the part's first value and with memory for its mask
/// factors (ones without dropout).
fn in_parts(size: GroupNormSize, mask: Option<Mask>, mut task: impl FnMut(usize, &mut [f32])) {
    let part = part_rows(size.channels) * size.channels;
    with_scratch(part, |factors| {
        if mask.is_none() {
            factors.fill(1.0);
        }
        for index in 0..part_count(size) {
            task(index * part, factors);
        }
    });
}

#[inline(always)]
fn masked(factors: &mut [f32], start: usize, mask: Option<Mask>) {
    if let Some(mask) = mask {
        mask_factors(factors, start, mask);
    }
}

/// `y = silu(norm(x) · factors + residual)`.
#[inline(always)]
fn apply([x, residual, factors]: [&[f32]; 3], y: &mut [f32], channels: &Channels<'_>) {
    let c = channels.scale.len();
    let (means, scale, offset) = channels.slices();
    let inputs = x.chunks_exact(c).zip(residual.chunks_exact(c));
    let rows = y
        .chunks_exact_mut(c)
        .zip(inputs.zip(factors.chunks_exact(c)));
    for (y, ((x, residual), factors)) in rows {
        for c in 0..c {
            let norm = (x[c] - means[c]) * scale[c] + offset[c];
            y[c] = Silu.value(norm * factors[c] + residual[c]);
        }
    }
}

struct Sample<'a> {
    input: &'a GroupNormInputs<'a, Cpu>,
    residual: &'a [f32],
    b: usize,
    moments: &'a [f32],
    mask: Option<Mask>,
}

impl Sample<'_> {
    /// Turns `grad`, the gradient of the result, into that of the residual, `grad · silu'(z)` with z the values before
    /// the SiLU, and writes the gradient of x to `grad_x`.
    fn backward(&self, grad: &mut [f32], grad_x: &mut [f32], sums: &mut [f32]) {
        let (size, mask) = (self.input.size, self.mask);
        let c = size.channels;
        let (x, residual) = (sample_of(self.input.x, self.b, size), self.residual);
        let first = self.b * x.len();
        with_channels(self.input, self.b, self.moments, |channels| {
            with_scratch(SUMS_PER_CHANNEL * part_count(size) * c, |parts| {
                let mut found = parts.chunks_exact_mut(SUMS_PER_CHANNEL * c);
                in_parts(size, mask, |part, factors| {
                    let Some(found) = found.next() else { return };
                    simd!({
                        let range = part..x.len().min(part + factors.len());
                        let factors = &mut factors[..range.len()];
                        masked(factors, first + part, mask);
                        let inputs = [&x[range.clone()], &residual[range.clone()], factors];
                        let grads = [&mut grad[range.clone()], &mut grad_x[range]];
                        slope_rows(inputs, grads, channels, found);
                    });
                });
                add_parts(parts, size, self.moments, sums);
            });
            with_factors(self.input.gamma, size, self.moments, sums, |factors| {
                simd!(combine_rows(x, grad_x, channels.means, factors));
            });
        });
    }
}

/// `grad = grad · silu'(z)` with z the values before the SiLU, and `grad_norm = grad · factors`; writes the sums over
/// rows of `grad_norm` and of `grad_norm · (x − mean)` to `sums`.
#[inline(always)]
fn slope_rows(
    [x, residual, factors]: [&[f32]; 3],
    [grad, grad_norm]: [&mut [f32]; 2],
    channels: &Channels<'_>,
    sums: &mut [f32],
) {
    let c = channels.scale.len();
    let (plain, along) = sums.split_at_mut(c);
    plain.fill(0.0);
    along.fill(0.0);
    // Slices of one known length let the compiler drop all bounds checks in the inner loop.
    let (plain, along) = (&mut plain[..c], &mut along[..c]);
    let (means, scale, offset) = channels.slices();
    let inputs = x.chunks_exact(c).zip(residual.chunks_exact(c));
    let inputs = inputs.zip(factors.chunks_exact(c));
    let grads = grad.chunks_exact_mut(c).zip(grad_norm.chunks_exact_mut(c));
    for (((x, residual), factors), (grad, grad_norm)) in inputs.zip(grads) {
        for c in 0..c {
            let centred = x[c] - means[c];
            let norm = centred * scale[c] + offset[c];
            let value = grad[c] * Silu.slope(norm * factors[c] + residual[c]);
            grad[c] = value;
            let value = value * factors[c];
            grad_norm[c] = value;
            plain[c] += value;
            along[c] += value * centred;
        }
    }
}
