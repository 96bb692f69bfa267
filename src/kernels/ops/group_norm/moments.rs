//! Mean and variance of the groups of one sample on the CPU, to the full accuracy of single precision.
//!
//! A sample is cut into parts of a few rows that fit into the L1 cache. For each part and channel, mean and squared
//! deviations are computed in single precision; the parts are combined in double precision (Chan et al. 1983,
//! "Algorithms for computing the sample variance"). So memory is read once, no sum in single precision has more than
//! [`LONGEST`] terms, and a large mean causes no cancellation.

use super::GroupNormSize;

const EPSILON: f64 = 1e-5;

/// Largest number of rows of a part.
const LONGEST: usize = 64;

/// Approximate number of values of a part: 32 KiB.
const PART: usize = 1 << 13;

/// Number of values stored per group: its mean rounded to `f32`, the mean's rounding error, and `1/√(var + ε)`.
pub(in crate::ops) const MOMENTS_PER_GROUP: usize = 3;

/// Number of values that [`measure_part`] computes per channel: a value near the channel's mean, the sum of the
/// differences from that value, and the sum of their squares.
pub(super) const STATISTICS_PER_CHANNEL: usize = 3;

/// Number of rows of the parts into which a sample with this many channels is cut.
pub(in crate::ops) fn part_rows(channels: usize) -> usize {
    (PART / channels.max(1)).clamp(1, LONGEST)
}

pub(in crate::ops) fn part_count(size: GroupNormSize) -> usize {
    size.positions.div_ceil(part_rows(size.channels))
}

/// Computes the statistics of each channel in one part of a sample: writes [`STATISTICS_PER_CHANNEL`] rows of C values
/// to `found`.
#[inline(always)]
pub(super) fn measure_part(x: &[f32], channels: usize, found: &mut [f32]) {
    let (near, sums) = found.split_at_mut(channels);
    let (differences, squares) = sums.split_at_mut(channels);
    // Slices whose length is known to be C let the compiler drop all bounds checks in the inner loops.
    let (near, differences) = (&mut near[..channels], &mut differences[..channels]);
    let squares = &mut squares[..channels];
    near.fill(0.0);
    for row in x.chunks_exact(channels) {
        for (near, x) in near.iter_mut().zip(row) {
            *near += x;
        }
    }
    let inverse = channels as f32 / x.len() as f32;
    for near in near.iter_mut() {
        *near *= inverse;
    }
    differences.fill(0.0);
    squares.fill(0.0);
    for row in x.chunks_exact(channels) {
        for c in 0..channels {
            let difference = row[c] - near[c];
            differences[c] += difference;
            squares[c] += difference * difference;
        }
    }
}

/// Computes the [`MOMENTS_PER_GROUP`] of each group of a sample from the statistics of all parts, as [`measure_part`]
/// wrote them.
pub(super) fn combine(found: &[f32], size: GroupNormSize, moments: &mut [f32]) {
    let (channels, width) = (size.channels, size.channels / size.groups);
    let rows = part_rows(channels);
    let count = (size.positions * width) as f64;
    for (group, moments) in moments.chunks_exact_mut(MOMENTS_PER_GROUP).enumerate() {
        let mut mean = 0.0;
        for_each_found(
            found,
            channels,
            group * width..(group + 1) * width,
            |part, [near, sum, _]| {
                let n = rows.min(size.positions - part * rows) as f64;
                mean += n * near + sum;
            },
        );
        mean /= count;
        let mut variance = 0.0;
        for_each_found(
            found,
            channels,
            group * width..(group + 1) * width,
            |part, [near, sum, squares]| {
                let n = rows.min(size.positions - part * rows) as f64;
                let shift = sum / n;
                let apart = near + shift - mean;
                variance += squares - sum * shift + n * apart * apart;
            },
        );
        variance /= count;
        moments[0] = mean as f32;
        moments[1] = (mean - f64::from(moments[0])) as f32;
        moments[2] = (1.0 / (variance.max(0.0) + EPSILON).sqrt()) as f32;
    }
}

/// Calls `take` with the index of every part and its [`STATISTICS_PER_CHANNEL`] statistics, for each channel of
/// `range`.
#[inline]
fn for_each_found(
    found: &[f32],
    channels: usize,
    range: std::ops::Range<usize>,
    mut take: impl FnMut(usize, [f64; STATISTICS_PER_CHANNEL]),
) {
    for (part, found) in found
        .chunks_exact(STATISTICS_PER_CHANNEL * channels)
        .enumerate()
    {
        for c in range.clone() {
            let value = |row: usize| f64::from(found[row * channels + c]);
            take(part, [value(0), value(1), value(2)]);
        }
    }
}
