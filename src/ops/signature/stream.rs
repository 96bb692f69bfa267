//! The signatures of all prefixes of a group of paths, one lane each, and the gradient of their increments.

use super::algebra::{Algebra, Real};

/// Increments `(points − 1, C)` of the paths `first..first + L`; lanes beyond `count` repeat the last path.
#[inline(always)]
pub(in crate::ops) fn increments<T: Real, S: Copy, const L: usize>(
    values: &[S],
    (points, channels): (usize, usize),
    first: usize,
    read: impl Fn(S) -> T,
) -> Vec<[T; L]> {
    let row = points * channels;
    let last = values.len() / row - 1;
    let mut d = vec![[T::default(); L]; row - channels];
    for lane in 0..L {
        let path = &values[(first + lane).min(last) * row..][..row];
        let steps = path.iter().zip(&path[channels..]);
        for (d, (before, after)) in d.iter_mut().zip(steps) {
            d[lane] = read(*after) - read(*before);
        }
    }
    d
}

/// The signatures `(points − 1, S)` of all prefixes that have at least one piece.
#[inline(always)]
pub(in crate::ops) fn stream<T: Real, const L: usize>(
    algebra: Algebra,
    d: &[[T; L]],
) -> Vec<[T; L]> {
    let len = algebra.len();
    let mut signatures = vec![[T::default(); L]; d.len() / algebra.channels * len];
    let mut work = vec![[T::default(); L]; len];
    for (step, d) in d.chunks_exact(algebra.channels).enumerate() {
        let (before, now) = signatures.split_at_mut(step * len);
        let now = &mut now[..len];
        if let Some(last) = before.len().checked_sub(len) {
            now.copy_from_slice(&before[last..]);
        }
        algebra.extend(now, d, &mut work);
    }
    signatures
}

/// The gradient `(points, C)` of the paths' points. `feed(step, adjoint)` adds the slope of the signature after `step`
/// to `adjoint`; it is called from the last step to the first.
#[inline(always)]
pub(in crate::ops) fn unwind<T: Real, const L: usize>(
    algebra: Algebra,
    d: &[[T; L]],
    signatures: &[[T; L]],
    mut feed: impl FnMut(usize, &mut [[T; L]]),
) -> Vec<[T; L]> {
    let (len, channels) = (algebra.len(), algebra.channels);
    let start = vec![[T::default(); L]; len];
    let mut work = vec![[T::default(); L]; 2 * len];
    let mut adjoint = start.clone();
    let mut dd = vec![[T::default(); L]; channels];
    let mut gradient = vec![[T::default(); L]; d.len() + channels];
    for (step, d) in d.chunks_exact(channels).enumerate().rev() {
        feed(step, &mut adjoint);
        let before = match step.checked_sub(1) {
            Some(last) => &signatures[last * len..step * len],
            None => &start,
        };
        dd.fill([T::default(); L]);
        algebra.retreat(before, d, &mut adjoint, &mut dd, &mut work);
        let (from, to) = gradient[step * channels..][..2 * channels].split_at_mut(channels);
        for ((from, to), dd) in from.iter_mut().zip(to).zip(&dd) {
            for lane in 0..L {
                to[lane] += dd[lane];
                from[lane] = from[lane] - dd[lane];
            }
        }
    }
    gradient
}
