//! The signatures of all prefixes of a group of paths, one lane each, and the gradient of their increments.
#![expect(
    clippy::inline_always,
    reason = "compiled anew for each vector level inside `simd_vectors`"
)]

use super::algebra::{Algebra, Arithmetic};

/// Increments `(points − 1, C)` of the paths from number `first` on, one in each lane; lanes beyond repeat the last path.
#[inline(always)]
pub(in crate::ops) fn increments<A: Arithmetic>(
    with: A,
    values: &[A::Number],
    (points, channels): (usize, usize),
    first: usize,
) -> Vec<A::Vector> {
    let row = points * channels;
    let last = values.len() / row - 1;
    let mut all = vec![with.splat(0.0); row];
    let lanes = A::numbers_mut(&mut all).chunks_exact_mut(A::LANES);
    for (at, lanes) in lanes.enumerate() {
        for (lane, value) in lanes.iter_mut().enumerate() {
            *value = values[(first + lane).min(last) * row + at];
        }
    }
    for at in channels..row {
        all[at - channels] = with.sub(all[at], all[at - channels]);
    }
    all.truncate(row - channels);
    all
}

/// The signatures `(points − 1, S)` of all prefixes that have at least one piece, in `signatures`.
#[inline(always)]
pub(in crate::ops) fn stream<A: Arithmetic>(
    with: A,
    algebra: Algebra,
    d: &[A::Vector],
    signatures: &mut [A::Vector],
) {
    let len = algebra.len();
    let mut work = vec![with.splat(0.0); len];
    for (step, d) in d.chunks_exact(algebra.channels).enumerate() {
        let (before, now) = signatures.split_at_mut(step * len);
        let now = &mut now[..len];
        match before.len().checked_sub(len) {
            Some(last) => now.copy_from_slice(&before[last..]),
            None => now.fill(with.splat(0.0)),
        }
        algebra.extend(with, now, d, &mut work);
    }
}

/// The gradient `(points, C)` of the paths' points. `feed(step, adjoint)` adds the slope of the signature after `step`
/// to `adjoint`; it is called from the last step to the first.
#[inline(always)]
pub(in crate::ops) fn unwind<A: Arithmetic>(
    with: A,
    algebra: Algebra,
    d: &[A::Vector],
    signatures: &[A::Vector],
    mut feed: impl FnMut(usize, &mut [A::Vector]),
) -> Vec<A::Vector> {
    let (len, channels) = (algebra.len(), algebra.channels);
    let zero = with.splat(0.0);
    let start = vec![zero; len];
    let mut work = vec![zero; 2 * len];
    let mut adjoint = start.clone();
    let mut dd = vec![zero; channels];
    let mut gradient = vec![zero; d.len() + channels];
    for (step, d) in d.chunks_exact(channels).enumerate().rev() {
        feed(step, &mut adjoint);
        let before = match step.checked_sub(1) {
            Some(last) => &signatures[last * len..step * len],
            None => &start,
        };
        dd.fill(zero);
        algebra.retreat(with, (before, d), &mut adjoint, &mut dd, &mut work);
        let (from, to) = gradient[step * channels..][..2 * channels].split_at_mut(channels);
        for ((from, to), dd) in from.iter_mut().zip(to).zip(&dd) {
            *to = with.add(*to, *dd);
            *from = with.sub(*from, *dd);
        }
    }
    gradient
}

/// `(entries)` vectors to `(count, entries)` numbers.
#[inline(always)]
pub(in crate::ops) fn rows_of<A: Arithmetic>(
    vectors: &[A::Vector],
    count: usize,
) -> Vec<A::Number> {
    let numbers = A::numbers(vectors);
    let mut rows = Vec::with_capacity(count * vectors.len());
    for lane in 0..count {
        rows.extend(numbers.iter().skip(lane).step_by(A::LANES).copied());
    }
    rows
}
