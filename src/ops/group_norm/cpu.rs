//! Group norm on the CPU: samples in parallel; three passes over a sample forward, two backward, each over whole rows
//! of channels, so that loops are vectorised whatever the size of a group is.

use dfdx::tensor::Cpu;
use rayon::prelude::*;

use super::{GroupNormKernel, GroupNormPart, GroupNormSaved, GroupNormSize};
use crate::device::{Backend, Buffer};
use crate::ops::activation::{Activate, activated};
use crate::ops::parallel::{ELEMENTWISE_LEN, for_each_chunk_if};
use crate::ops::scratch::with_scratch;
use crate::ops::simd::simd;
use crate::ops::{Activation, OpError};

const EPSILON: f64 = 1e-5;

impl GroupNormKernel for Cpu {
    fn group_norm(
        &self,
        input: &GroupNormSaved<'_, Self>,
        size: GroupNormSize,
        activation: Activation,
    ) -> Result<(Buffer<Self>, Buffer<Self>), OpError> {
        let sample = size.positions * size.channels;
        let mut y = vec![0.0; input.x.len()];
        let mut statistics = vec![0.0; size.batch * 2 * size.groups];
        let one = |(b, (y, statistics)): (usize, (&mut [f32], &mut [f32]))| {
            let x = &input.x[b * sample..(b + 1) * sample];
            with_scratch(2 * size.channels, |memory| {
                let (scale, offset) = memory.split_at_mut(size.channels);
                simd(
                    #[inline(always)]
                    || measure(x, size, scale, statistics),
                );
                affine(input, b, size, statistics, scale, offset);
                activated!(activation, |act| simd(
                    #[inline(always)]
                    || apply(x, y, scale, offset, act)
                ));
            });
        };
        if input.x.len() >= ELEMENTWISE_LEN {
            y.par_chunks_mut(sample)
                .zip(statistics.par_chunks_mut(2 * size.groups))
                .enumerate()
                .for_each(one);
        } else {
            y.chunks_mut(sample)
                .zip(statistics.chunks_mut(2 * size.groups))
                .enumerate()
                .for_each(one);
        }
        Ok((self.upload(y)?, self.upload(statistics)?))
    }

    fn group_norm_backward(
        &self,
        input: &GroupNormSaved<'_, Self>,
        statistics: &Buffer<Self>,
        grad_output: &Buffer<Self>,
        size: GroupNormSize,
        activation: Activation,
        grad_x: Option<&mut Buffer<Self>>,
    ) -> Result<Buffer<Self>, OpError> {
        let sample = size.positions * size.channels;
        let mut sums = vec![0.0; size.batch * 2 * size.channels];
        let one = |b: usize, sums: &mut [f32], grad_x: Option<&mut [f32]>| {
            let range = b * sample..(b + 1) * sample;
            let sample = Sample {
                input,
                b,
                size,
                statistics: &statistics[b * 2 * size.groups..][..2 * size.groups],
            };
            activated!(activation, |act| sample.backward(
                &grad_output[range],
                act,
                sums,
                grad_x
            ));
        };
        let large = input.x.len() >= ELEMENTWISE_LEN;
        let sums_chunk = 2 * size.channels;
        match grad_x {
            Some(grad_x) if large => (sums
                .par_chunks_mut(sums_chunk)
                .zip(grad_x.par_chunks_mut(sample))
                .enumerate())
            .for_each(|(b, (sums, grad_x))| one(b, sums, Some(grad_x))),
            Some(grad_x) => (sums
                .chunks_mut(sums_chunk)
                .zip(grad_x.chunks_mut(sample))
                .enumerate())
            .for_each(|(b, (sums, grad_x))| one(b, sums, Some(grad_x))),
            None => for_each_chunk_if(large, &mut sums, sums_chunk, |start, sums| {
                one(start / sums_chunk, sums, None);
            }),
        }
        Ok(self.upload(sums)?)
    }

    fn group_norm_collect(
        &self,
        sums: &Buffer<Self>,
        size: GroupNormSize,
        part: GroupNormPart,
        grad: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        let c = size.channels;
        for (b, sums) in sums.chunks_exact(2 * c).enumerate() {
            let (values, grad) = match part {
                GroupNormPart::Gamma => (&sums[c..], &mut grad[..]),
                GroupNormPart::Beta => (&sums[..c], &mut grad[..]),
                GroupNormPart::Shift => (&sums[..c], &mut grad[b * c..(b + 1) * c]),
            };
            for (g, v) in grad.iter_mut().zip(values) {
                *g += v;
            }
        }
        Ok(())
    }
}

/// Mean and `1/√(var + ε)` of each group of one sample, into `statistics` as `(groups, 2)`. `sums` has C values.
///
/// The variance is taken around the mean, in a second pass: `E[x²] − mean²` would cancel.
#[inline(always)]
fn measure(x: &[f32], size: GroupNormSize, sums: &mut [f32], statistics: &mut [f32]) {
    let width = size.channels / size.groups;
    let count = (size.positions * width) as f64;
    let group_sum = |sums: &[f32], group: usize| {
        sums[group * width..(group + 1) * width]
            .iter()
            .map(|v| f64::from(*v))
            .sum::<f64>()
            / count
    };
    sums.fill(0.0);
    for row in x.chunks_exact(size.channels) {
        for (sum, x) in sums.iter_mut().zip(row) {
            *sum += x;
        }
    }
    for group in 0..size.groups {
        statistics[2 * group] = group_sum(sums, group) as f32;
    }
    with_scratch(size.channels, |means| {
        per_channel(means, |c| statistics[2 * (c / width)]);
        sums.fill(0.0);
        for row in x.chunks_exact(size.channels) {
            for ((sum, x), mean) in sums.iter_mut().zip(row).zip(&*means) {
                *sum += (x - mean) * (x - mean);
            }
        }
    });
    for group in 0..size.groups {
        statistics[2 * group + 1] = (1.0 / (group_sum(sums, group) + EPSILON).sqrt()) as f32;
    }
}

fn per_channel(values: &mut [f32], value: impl Fn(usize) -> f32) {
    values
        .iter_mut()
        .enumerate()
        .for_each(|(c, v)| *v = value(c));
}

/// `x̂ γ + β + shift = x · scale + offset` for sample `b`.
fn affine(
    input: &GroupNormSaved<'_, Cpu>,
    b: usize,
    size: GroupNormSize,
    statistics: &[f32],
    scale: &mut [f32],
    offset: &mut [f32],
) {
    let width = size.channels / size.groups;
    per_channel(scale, |c| input.gamma[c] * statistics[2 * (c / width) + 1]);
    per_channel(offset, |c| {
        let shift = input
            .shift
            .map_or(0.0, |shift| shift[b * size.channels + c]);
        input.beta[c] + shift - statistics[2 * (c / width)] * scale[c]
    });
}

/// `y = act(x · scale + offset)`.
#[inline(always)]
fn apply(x: &[f32], y: &mut [f32], scale: &[f32], offset: &[f32], act: impl Activate) {
    let c = scale.len();
    for (y, x) in y.chunks_exact_mut(c).zip(x.chunks_exact(c)) {
        for (((y, x), scale), offset) in y.iter_mut().zip(x).zip(scale).zip(offset) {
            *y = act.value(x * scale + offset);
        }
    }
}

/// One sample in backward.
struct Sample<'a> {
    input: &'a GroupNormSaved<'a, Cpu>,
    b: usize,
    size: GroupNormSize,
    statistics: &'a [f32],
}

impl Sample<'_> {
    /// With `dz = grad_output · act'(z)`: the sums over positions of dz and of `dz · x̂` into `sums`, and to `grad_x`
    ///
    /// `dx = rstd · (γ dz − mean(γ dz) − x̂ · mean(γ dz x̂))`, means over positions and the channels of the group.
    fn backward(
        &self,
        grad_output: &[f32],
        act: impl Activate,
        sums: &mut [f32],
        grad_x: Option<&mut [f32]>,
    ) {
        let c = self.size.channels;
        let x = &self.input.x[self.b * grad_output.len()..][..grad_output.len()];
        with_scratch(grad_output.len() + 4 * c, |memory| {
            let (dz, memory) = memory.split_at_mut(grad_output.len());
            let mut parts = memory.chunks_exact_mut(c);
            let [Some(scale), Some(offset), Some(means), Some(rstds)] =
                std::array::from_fn(|_| parts.next())
            else {
                unreachable!("four parts were asked for");
            };
            let width = c / self.size.groups;
            affine(
                self.input,
                self.b,
                self.size,
                self.statistics,
                scale,
                offset,
            );
            per_channel(means, |c| self.statistics[2 * (c / width)]);
            per_channel(rstds, |c| self.statistics[2 * (c / width) + 1]);
            let rows = Rows {
                x,
                grad_output,
                scale,
                offset,
                means,
                rstds,
            };
            simd(
                #[inline(always)]
                || rows.sum(act, dz, sums),
            );
            if let Some(grad_x) = grad_x {
                self.factors(sums, scale, offset, means);
                simd(
                    #[inline(always)]
                    || combine(x, dz, [scale, offset, means], grad_x),
                );
            }
        });
    }

    /// The factors of `dx = p · dz + q · x + r` for each channel.
    fn factors(&self, sums: &[f32], p: &mut [f32], q: &mut [f32], r: &mut [f32]) {
        let GroupNormSize {
            positions,
            channels,
            groups,
            ..
        } = self.size;
        let width = channels / groups;
        let gamma = &self.input.gamma[..];
        for group in 0..groups {
            let range = group * width..(group + 1) * width;
            let (mean, rstd) = (self.statistics[2 * group], self.statistics[2 * group + 1]);
            let average = |sums: &[f32]| {
                let sum: f64 = range
                    .clone()
                    .map(|c| f64::from(gamma[c]) * f64::from(sums[c]))
                    .sum();
                (sum / (positions * width) as f64) as f32
            };
            let (plain, along) = (average(&sums[..channels]), average(&sums[channels..]));
            for c in range {
                p[c] = rstd * gamma[c];
                q[c] = -rstd * along * rstd;
                r[c] = rstd * (along * mean * rstd - plain);
            }
        }
    }
}

struct Rows<'a> {
    x: &'a [f32],
    grad_output: &'a [f32],
    scale: &'a [f32],
    offset: &'a [f32],
    means: &'a [f32],
    rstds: &'a [f32],
}

impl Rows<'_> {
    /// Writes dz and sums it and `dz · x̂` over all rows.
    #[inline(always)]
    fn sum(&self, act: impl Activate, dz: &mut [f32], sums: &mut [f32]) {
        let channels = self.scale.len();
        sums.fill(0.0);
        let (plain, along) = sums.split_at_mut(channels);
        // Slices of one known length let the compiler drop all bounds checks in the inner loop.
        let (scale, offset) = (&self.scale[..channels], &self.offset[..channels]);
        let (means, rstds) = (&self.means[..channels], &self.rstds[..channels]);
        let (plain, along) = (&mut plain[..channels], &mut along[..channels]);
        let rows = self
            .x
            .chunks_exact(channels)
            .zip(self.grad_output.chunks_exact(channels));
        for ((x, grad), dz) in rows.zip(dz.chunks_exact_mut(channels)) {
            for c in 0..channels {
                let value = grad[c] * act.slope(x[c] * scale[c] + offset[c]);
                dz[c] = value;
                plain[c] += value;
                along[c] += value * ((x[c] - means[c]) * rstds[c]);
            }
        }
    }
}

/// `grad_x += p · dz + q · x + r`.
#[inline(always)]
fn combine(x: &[f32], dz: &[f32], [p, q, r]: [&mut [f32]; 3], grad_x: &mut [f32]) {
    let channels = p.len();
    let (p, q, r) = (&p[..channels], &q[..channels], &r[..channels]);
    let rows = x.chunks_exact(channels).zip(dz.chunks_exact(channels));
    for ((x, dz), grad_x) in rows.zip(grad_x.chunks_exact_mut(channels)) {
        for c in 0..channels {
            grad_x[c] += p[c] * dz[c] + q[c] * x[c] + r[c];
        }
    }
}
