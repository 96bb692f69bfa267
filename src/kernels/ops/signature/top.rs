//! Projection of the highest level of signatures, computed without storing the level's entries.
//!
//! A step adds `a ⊗ d` to level N, where `a = chain[N−1]` has as many entries as level N − 1. So the projection, with
//! weights w of level N, grows by `Σ_I a_I (Σ_k w_{Ik} d_k)`. Backward needs only G, the sum of the output gradients
//! from this step on: the gradient of `a_I` is `G Σ_k w_{Ik} d_k`, that of `d_k` is `G Σ_I w_{Ik} a_I`, that of
//! `w_{Ik}` is `G a_I d_k`.

use super::algebra::{LaneArithmetic, TruncatedTensorAlgebra};

/// The highest level of signatures and the projection's weights for it.
#[derive(Clone, Copy)]
pub(super) struct Top<'a> {
    pub(super) algebra: TruncatedTensorAlgebra,
    pub(super) weight: &'a [f32],
}

impl Top<'_> {
    /// The amount that step `d` adds to the projection of the highest level; `s` are the lower levels before the step.
    /// `chain` is working memory: a 1, then as many entries as the lower levels.
    #[inline(always)]
    pub(super) fn step<A: LaneArithmetic>(
        &self,
        with: A,
        s: &[A::Vector],
        d: &[A::Vector],
        chain: &mut [A::Vector],
    ) -> A::Vector {
        let d = &d[..self.algebra.channels];
        let last = self.last(with, s, d, chain);
        // Four independent sums, to hide the latency of additions.
        let mut sums = [with.splat(0.0); 4];
        let groups = self.weight.chunks(sums.len() * d.len());
        for (rows, last) in groups.zip(last.chunks(sums.len())) {
            let rows = rows.chunks_exact(d.len()).zip(last);
            for (sum, (row, a)) in sums.iter_mut().zip(rows) {
                *sum = with.mul_add(*a, product(with, row, d), *sum);
            }
        }
        let [a, b, c, d] = sums;
        with.add(with.add(a, b), with.add(c, d))
    }

    /// Backward of [`Self::step`], for the output gradient `slope`: adds the gradients of `d` and of the weights to
    /// `dd` and `sums`; writes those of the lower levels to `slopes`, from its second entry on. `chain` as in
    /// [`Self::step`].
    #[inline(always)]
    pub(super) fn backward_step<A: LaneArithmetic>(
        &self,
        with: A,
        slope: A::Vector,
        (s, d): (&[A::Vector], &[A::Vector]),
        (dd, sums): (&mut [A::Vector], &mut [A::Vector]),
        (chain, slopes): (&mut [A::Vector], &mut [A::Vector]),
    ) {
        let (channels, depth) = (self.algebra.channels, self.algebra.depth);
        let (d, dd) = (&d[..channels], &mut dd[..channels]);
        let last = self.last(with, s, d, chain);
        let rows = self.weight.chunks_exact(channels);
        let sums = sums.chunks_exact_mut(channels);
        let own = slopes[self.link()..].iter_mut();
        for (((own, a), row), sums) in own.zip(last).zip(rows).zip(sums) {
            *own = with.mul(slope, product(with, row, d));
            let a = with.mul(slope, *a);
            let columns = sums.iter_mut().zip(dd.iter_mut()).zip(row).zip(d);
            for (((sum, dd), weight), d) in columns {
                *sum = with.mul_add(a, *d, *sum);
                *dd = with.mul_add(a, with.splat(f64::from(*weight)), *dd);
            }
        }
        if depth > 1 {
            let slopes = &mut slopes[1..];
            self.algebra
                .backward_chain(with, depth, d, &chain[1..], (slopes, dd));
        }
    }

    #[inline(always)]
    fn last<'c, A: LaneArithmetic>(
        &self,
        with: A,
        s: &[A::Vector],
        d: &[A::Vector],
        chain: &'c mut [A::Vector],
    ) -> &'c [A::Vector] {
        let depth = self.algebra.depth;
        if depth > 1 {
            self.algebra.chain(with, depth, s, d, &mut chain[1..]);
        }
        &chain[self.link()..]
    }

    /// Index in `chain` of `chain[N−1]`; with depth 1 that is the 1 at the start.
    #[inline(always)]
    fn link(&self) -> usize {
        match self.algebra.depth {
            1 => 0,
            depth => 1 + self.algebra.end(depth - 2),
        }
    }
}

/// `Σ_k weights[k] d[k]`.
#[inline(always)]
fn product<A: LaneArithmetic>(with: A, weights: &[f32], d: &[A::Vector]) -> A::Vector {
    let mut sum = with.splat(0.0);
    for (weight, d) in weights.iter().zip(d) {
        sum = with.mul_add(with.splat(f64::from(*weight)), *d, sum);
    }
    sum
}
