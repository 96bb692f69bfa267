//! Group norm on the CPU, with one task per sample. Forward reads memory twice, for the moments and for the result;
//! backward works in the memory of the result's gradient. All loops run over whole rows of channels, so that they
//! vectorise for any group size.

use dfdx::tensor::Cpu;

use super::moments::{MOMENTS_PER_GROUP, part_count, part_rows};
use super::sample::{
    Channels, SUMS_PER_CHANNEL, add_parts, combine_rows, compute_moments, with_channels,
    with_factors,
};
use super::{GroupNormInputs, GroupNormKernel, GroupNormSize};
use crate::device::{Backend, Buffer};
use crate::ops::activation::{Activate, activated};
use crate::ops::parallel::{MIN_PARALLEL_LEN, for_each_zipped};
use crate::ops::scratch::with_scratch;
use crate::ops::simd::simd;
use crate::ops::{GradSlots, Result, Var};

impl GroupNormKernel for Cpu {
    fn group_norm(
        &self,
        input: &GroupNormInputs<'_, Self>,
        _keeps: bool,
    ) -> Result<(Buffer<Self>, Buffer<Self>)> {
        let size = input.size;
        let mut y = self.uninit_buffer(input.x.len())?;
        let mut moments = self.zeros_buffer(size.batch * MOMENTS_PER_GROUP * size.groups)?;
        each_sample(size, &mut y, &mut moments, |b, y, moments| {
            let x = sample_of(input.x, b, size);
            compute_moments(x, size, moments);
            with_channels(input, b, moments, |channels| {
                activated!(input.activation, |act| simd!(apply(x, y, channels, act)));
            });
        });
        Ok((y, moments))
    }

    fn group_norm_backward(
        &self,
        input: &GroupNormInputs<'_, Self>,
        moments: &Buffer<Self>,
        mut grad: Buffer<Self>,
        (x, slots): (&Var<Self>, &mut GradSlots<'_, Self>),
    ) -> Result<Buffer<Self>> {
        let size = input.size;
        let mut sums = self.zeros_buffer(size.batch * 2 * size.channels)?;
        each_sample(size, &mut grad, &mut sums, |b, grad, sums| {
            let sample = Sample {
                input,
                b,
                moments: &moments[b * MOMENTS_PER_GROUP * size.groups..]
                    [..MOMENTS_PER_GROUP * size.groups],
            };
            activated!(input.activation, |act| sample.backward(
                grad,
                act,
                sums,
                x.needs_grad()
            ));
        });
        if x.needs_grad() {
            slots.put(x, grad)?;
        } else {
            Self::recycle(&mut grad);
        }
        Ok(sums)
    }

    fn group_norm_collect(
        &self,
        sums: &Buffer<Self>,
        size: GroupNormSize,
        [gamma, beta, shift]: [Option<&Var<Self>>; 3],
        slots: &mut GradSlots<'_, Self>,
    ) -> Result<()> {
        let c = size.channels;
        // For each gradient: where its terms begin in a sample's `sums`, and the distance between samples in the
        // gradient (0 if the terms of all samples are added up).
        for (var, first, distance) in [(gamma, c, 0), (beta, 0, 0), (shift, 0, c)] {
            let Some(var) = var.filter(|var| var.needs_grad()) else {
                continue;
            };
            let grad = slots.of(var)?;
            for (b, sums) in sums.chunks_exact(2 * c).enumerate() {
                let grad = &mut grad[b * distance..][..c];
                for (g, v) in grad.iter_mut().zip(&sums[first..]) {
                    *g += v;
                }
            }
        }
        Ok(())
    }
}

/// Calls `task` with the index, the values and the chunk of `beside` of every sample; on several threads if `values` is
/// large.
pub(in crate::ops) fn each_sample(
    size: GroupNormSize,
    values: &mut [f32],
    beside: &mut [f32],
    task: impl Fn(usize, &mut [f32], &mut [f32]) + Sync,
) {
    let (sample, own) = (values.len() / size.batch, beside.len() / size.batch);
    let large = values.len() >= MIN_PARALLEL_LEN;
    for_each_zipped(
        large,
        [(values, sample), (beside, own)],
        |b, [values, own]| {
            task(b, values, own);
        },
    );
}

/// The values of sample `b`.
pub(in crate::ops) fn sample_of(x: &[f32], b: usize, size: GroupNormSize) -> &[f32] {
    let len = size.positions * size.channels;
    &x[b * len..][..len]
}

/// `y = act((x − means) · scale + offset)`.
#[inline(always)]
fn apply(x: &[f32], y: &mut [f32], channels: &Channels<'_>, act: impl Activate) {
    let c = channels.scale.len();
    let (means, scale, offset) = channels.slices();
    for (y, x) in y.chunks_exact_mut(c).zip(x.chunks_exact(c)) {
        for c in 0..c {
            y[c] = act.value((x[c] - means[c]) * scale[c] + offset[c]);
        }
    }
}

struct Sample<'a> {
    input: &'a GroupNormInputs<'a, Cpu>,
    b: usize,
    moments: &'a [f32],
}

impl Sample<'_> {
    /// Replaces `grad`, the gradient of the result, by `dz = grad · act'(z)`, where z is the activation's input, and
    /// writes the sums of `dz` and `dz · x̂` to `sums`. If `wanted`, then replaces `dz` by the gradient of x.
    fn backward(&self, grad: &mut [f32], act: impl Activate, sums: &mut [f32], wanted: bool) {
        let size = self.input.size;
        let c = size.channels;
        let x = sample_of(self.input.x, self.b, size);
        with_channels(self.input, self.b, self.moments, |channels| {
            with_scratch(SUMS_PER_CHANNEL * part_count(size) * c, |parts| {
                let rows = part_rows(c) * c;
                simd!({
                    let values = grad.chunks_mut(rows).zip(x.chunks(rows));
                    for ((grad, x), sums) in
                        values.zip(parts.chunks_exact_mut(SUMS_PER_CHANNEL * c))
                    {
                        slope_rows(x, grad, channels, act, sums);
                    }
                });
                add_parts(parts, size, self.moments, sums);
            });
            if wanted {
                with_factors(self.input.gamma, size, self.moments, sums, |factors| {
                    simd!(combine_rows(x, grad, channels.means, factors));
                });
            }
        });
    }
}

/// `grad = grad · act'(z)`, and in `sums` the sums over the rows of the new `grad` and of `grad · (x − means)`.
#[inline(always)]
fn slope_rows(
    x: &[f32],
    grad: &mut [f32],
    channels: &Channels<'_>,
    act: impl Activate,
    sums: &mut [f32],
) {
    let c = channels.scale.len();
    let (plain, along) = sums.split_at_mut(c);
    plain.fill(0.0);
    along.fill(0.0);
    // Slices whose length is known to be c let the compiler drop all bounds checks in the inner loop.
    let (plain, along) = (&mut plain[..c], &mut along[..c]);
    let (means, scale, offset) = channels.slices();
    for (x, grad) in x.chunks_exact(c).zip(grad.chunks_exact_mut(c)) {
        for c in 0..c {
            let centred = x[c] - means[c];
            let value = grad[c] * act.slope(centred * scale[c] + offset[c]);
            grad[c] = value;
            plain[c] += value;
            along[c] += value * centred;
        }
    }
}
