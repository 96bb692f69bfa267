//! The computations on one sample of a group norm on the CPU, shared by all operations that contain a norm.

use dfdx::tensor::Cpu;

use super::moments::{
    MOMENTS_PER_GROUP, STATISTICS_PER_CHANNEL, combine, measure_part, part_count, part_rows,
};
use super::{GroupNormInputs, GroupNormSize};
use crate::ops::scratch::with_scratch;
use crate::ops::simd::simd;

/// The norm of one sample as an affine function for each channel: `(x − mean) · scale + offset`.
pub(in crate::ops) struct Channels<'a> {
    /// For each channel the mean of its group, rounded to `f32`.
    pub(in crate::ops) means: &'a [f32],
    /// For each channel `γ / √(var + ε)`.
    pub(in crate::ops) scale: &'a [f32],
    /// For each channel the sum of β, the shift, and a correction for the rounding of `means`.
    pub(in crate::ops) offset: &'a [f32],
}

impl Channels<'_> {
    /// The three slices, cut to one common length, so that loops over them need no bounds checks.
    #[inline(always)]
    pub(in crate::ops) fn slices(&self) -> (&[f32], &[f32], &[f32]) {
        let c = self.scale.len();
        (&self.means[..c], &self.scale[..c], &self.offset[..c])
    }
}

/// Computes the moments of each group of a sample and writes them to `moments`, [`MOMENTS_PER_GROUP`] values per group.
pub(in crate::ops) fn compute_moments(x: &[f32], size: GroupNormSize, moments: &mut [f32]) {
    let channels = size.channels;
    with_scratch(
        STATISTICS_PER_CHANNEL * part_count(size) * channels,
        |found| {
            let parts = x.chunks(part_rows(channels) * channels);
            simd!({
                for (x, found) in
                    parts.zip(found.chunks_exact_mut(STATISTICS_PER_CHANNEL * channels))
                {
                    measure_part(x, channels, found);
                }
            });
            combine(found, size, moments);
        },
    );
}

/// Calls `work` with the [`Channels`] of sample `b`.
pub(in crate::ops) fn with_channels<R>(
    input: &GroupNormInputs<'_, Cpu>,
    b: usize,
    moments: &[f32],
    work: impl FnOnce(&Channels<'_>) -> R,
) -> R {
    let channels = input.size.channels;
    let width = channels / input.size.groups;
    with_scratch(3 * channels, |memory| {
        let (means, rest) = memory.split_at_mut(channels);
        let (scale, offset) = rest.split_at_mut(channels);
        for c in 0..channels {
            let [mean, rest, rstd] = moments_of(moments, c / width);
            let shift = input.shift.map_or(0.0, |shift| shift[b * channels + c]);
            means[c] = mean;
            scale[c] = input.gamma[c] * rstd;
            offset[c] = input.beta[c] + shift - rest * scale[c];
        }
        work(&Channels {
            means,
            scale,
            offset,
        })
    })
}

/// Number of sums per channel of one part in backward: that of `dz`, and that of `dz · (x − mean)`.
pub(in crate::ops) const SUMS_PER_CHANNEL: usize = 2;

/// Sums all parts in double precision; writes the sums of `dz` of all channels to `sums`, followed by those of
/// `dz · x̂`.
pub(in crate::ops) fn add_parts(
    parts: &[f32],
    size: GroupNormSize,
    moments: &[f32],
    sums: &mut [f32],
) {
    let (channels, width) = (size.channels, size.channels / size.groups);
    for c in 0..channels {
        let (mut plain, mut along) = (0.0_f64, 0.0_f64);
        for part in parts.chunks_exact(SUMS_PER_CHANNEL * channels) {
            plain += f64::from(part[c]);
            along += f64::from(part[channels + c]);
        }
        let [_, rest, rstd] = moments_of(moments, c / width).map(f64::from);
        sums[c] = plain as f32;
        sums[channels + c] = ((along - rest * plain) * rstd) as f32;
    }
}

/// Calls `work` with the factors p, q and r per channel of `dx = p · dz + q · (x − mean) + r`. They follow from
///
/// `dx = rstd · (γ dz − mean(γ dz) − x̂ · mean(γ dz x̂))`, with means over positions and the channels of the group.
pub(in crate::ops) fn with_factors<R>(
    gamma: &[f32],
    size: GroupNormSize,
    moments: &[f32],
    sums: &[f32],
    work: impl FnOnce([&[f32]; 3]) -> R,
) -> R {
    let (channels, width) = (size.channels, size.channels / size.groups);
    with_scratch(3 * channels, |memory| {
        let (p, rest) = memory.split_at_mut(channels);
        let (q, r) = rest.split_at_mut(channels);
        for group in 0..size.groups {
            let range = group * width..(group + 1) * width;
            let [_, low, rstd] = moments_of(moments, group).map(f64::from);
            let average = |sums: &[f32]| {
                let terms = range
                    .clone()
                    .map(|c| f64::from(gamma[c]) * f64::from(sums[c]));
                terms.sum::<f64>() / (size.positions * width) as f64
            };
            let (plain, along) = (average(&sums[..channels]), average(&sums[channels..]));
            for c in range.clone() {
                p[c] = (rstd * f64::from(gamma[c])) as f32;
                q[c] = (-rstd * rstd * along) as f32;
                r[c] = (rstd * (along * low * rstd - plain)) as f32;
            }
        }
        work([p, q, r])
    })
}

/// Replaces `dz` by `p · dz + q · (x − mean) + r`, the gradient of x.
#[inline(always)]
pub(in crate::ops) fn combine_rows(
    x: &[f32],
    dz: &mut [f32],
    means: &[f32],
    [p, q, r]: [&[f32]; 3],
) {
    let channels = p.len();
    let (q, r, means) = (&q[..channels], &r[..channels], &means[..channels]);
    for (x, dz) in x.chunks_exact(channels).zip(dz.chunks_exact_mut(channels)) {
        for c in 0..channels {
            dz[c] = p[c] * dz[c] + q[c] * (x[c] - means[c]) + r[c];
        }
    }
}

fn moments_of(moments: &[f32], group: usize) -> [f32; MOMENTS_PER_GROUP] {
    std::array::from_fn(|index| moments[MOMENTS_PER_GROUP * group + index])
}
