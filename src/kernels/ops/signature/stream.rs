//! Conversion between paths in memory and vectors with one path per lane: increments, and the gradients of points.

use pulp::Simd;

use super::algebra::{LaneArithmetic, Singles};

/// The increments `(points − 1, C)` of the paths from `first` on, one path per lane; if there are fewer paths than
/// lanes, the last path is repeated.
#[inline(always)]
pub(in crate::ops) fn increments<A: LaneArithmetic>(
    with: A,
    values: &[A::Number],
    (points, channels): (usize, usize),
    first: usize,
) -> Vec<A::Vector> {
    let row = points * channels;
    let last = values.len() / row - 1;
    let mut all = vec![with.splat(0.0); row];
    let paths = (first..first + A::LANES).map(|path| &values[path.min(last) * row..][..row]);
    to_lanes::<A>(paths, &mut all);
    for at in channels..row {
        all[at - channels] = with.sub(all[at], all[at - channels]);
    }
    all.truncate(row - channels);
    all
}

/// Copies rows of numbers to vectors, one row per lane; there may be at most as many rows as lanes. Other lanes stay
/// unchanged.
#[inline(always)]
pub(in crate::ops) fn to_lanes<'a, A: LaneArithmetic>(
    rows: impl Iterator<Item = &'a [A::Number]>,
    vectors: &mut [A::Vector],
) {
    let numbers = A::numbers_mut(vectors);
    for (lane, row) in rows.enumerate() {
        for (lanes, value) in numbers.chunks_exact_mut(A::LANES).zip(row) {
            lanes[lane] = *value;
        }
    }
}

/// Adds the gradient `d` of an increment to those of its two points, the first two of `points: (…, C)`.
#[inline(always)]
pub(in crate::ops) fn add_difference<A: LaneArithmetic>(
    with: A,
    points: &mut [A::Vector],
    dd: &[A::Vector],
) {
    let (from, to) = points.split_at_mut(dd.len());
    for ((from, to), dd) in from.iter_mut().zip(to).zip(dd) {
        *to = with.add(*to, *dd);
        *from = with.sub(*from, *dd);
    }
}

/// Copies vectors, one for each entry, to rows of numbers, `(count, entries)`, one row for each of the first `count`
/// lanes.
#[inline(always)]
pub(in crate::ops) fn rows_of<A: LaneArithmetic>(
    vectors: &[A::Vector],
    count: usize,
) -> Vec<A::Number> {
    let numbers = A::numbers(vectors);
    let mut rows = Vec::with_capacity(count * vectors.len());
    for lane in 0..count {
        rows.extend(numbers.chunks_exact(A::LANES).map(|lanes| lanes[lane]));
    }
    rows
}

/// For each vector the sum of its lanes. A loop, because closures of iterator adapters are compiled without the vector
/// level.
#[inline(always)]
pub(in crate::ops) fn totals<S: Simd>(with: Singles<S>, vectors: &[S::f32s]) -> Vec<f32> {
    let mut totals = Vec::with_capacity(vectors.len());
    for vector in vectors {
        totals.push(with.0.reduce_sum_f32s(*vector));
    }
    totals
}
