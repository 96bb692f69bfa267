//! [`TruncatedTensorAlgebra`]: signatures of many paths at once, one per vector lane, extended step by step; and the
//! backward pass.
//!
//! A signature is stored as levels 1 to N, one after another, each a row-major tensor; every entry is a vector with one
//! lane per path. The scalar term (level 0) is always 1 and is not stored.

use std::ops::AddAssign;

use pulp::Simd;

/// Arithmetic on vectors of floating-point numbers, with one path per lane.
pub(in crate::ops) trait LaneArithmetic: Copy {
    /// The type of one lane: `f32` or `f64`.
    type Number: Copy + Default + AddAssign + 'static;
    /// A vector of the vector level in use.
    type Vector: Copy + 'static;

    const LANES: usize;

    /// A vector with `number` in all lanes.
    fn splat(self, number: f64) -> Self::Vector;
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn sub(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a b + c`, as a fused multiply-add if the vector level has one.
    fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// `numbers` as whole vectors; a remainder is left out.
    fn vectors(numbers: &[Self::Number]) -> &[Self::Vector];
    /// `vectors` as their numbers, lane by lane.
    fn numbers(vectors: &[Self::Vector]) -> &[Self::Number];
    /// As [`Self::numbers`], mutable.
    fn numbers_mut(vectors: &mut [Self::Vector]) -> &mut [Self::Number];
}

#[derive(Clone, Copy)]
pub(in crate::ops) struct Singles<S>(pub(in crate::ops) S);

#[derive(Clone, Copy)]
pub(in crate::ops) struct Doubles<S>(pub(in crate::ops) S);

macro_rules! arithmetic {
    ($name:ident, $number:ty, $vector:ident, $lanes:ident,
     [$splat:ident, $add:ident, $sub:ident, $mul:ident, $mul_add:ident, $rows:ident]) => {
        impl<S: Simd> LaneArithmetic for $name<S> {
            type Number = $number;
            type Vector = S::$vector;
            const LANES: usize = S::$lanes;

            #[inline(always)]
            fn splat(self, number: f64) -> Self::Vector {
                self.0.$splat(number as $number)
            }
            #[inline(always)]
            fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
                self.0.$add(a, b)
            }
            #[inline(always)]
            fn sub(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
                self.0.$sub(a, b)
            }
            #[inline(always)]
            fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector {
                self.0.$mul(a, b)
            }
            #[inline(always)]
            fn mul_add(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
                self.0.$mul_add(a, b, c)
            }
            #[inline(always)]
            fn vectors(numbers: &[$number]) -> &[Self::Vector] {
                S::$rows(numbers).0
            }
            #[inline(always)]
            fn numbers(vectors: &[Self::Vector]) -> &[$number] {
                pulp::bytemuck::cast_slice(vectors)
            }
            #[inline(always)]
            fn numbers_mut(vectors: &mut [Self::Vector]) -> &mut [$number] {
                pulp::bytemuck::cast_slice_mut(vectors)
            }
        }
    };
}

arithmetic!(
    Singles,
    f32,
    f32s,
    F32_LANES,
    [
        splat_f32s,
        add_f32s,
        sub_f32s,
        mul_f32s,
        mul_add_e_f32s,
        as_simd_f32s
    ]
);
arithmetic!(
    Doubles,
    f64,
    f64s,
    F64_LANES,
    [
        splat_f64s,
        add_f64s,
        sub_f64s,
        mul_f64s,
        mul_add_e_f64s,
        as_simd_f64s
    ]
);

pub(in crate::ops) const LARGEST_DEPTH: usize = 8;

/// The tensor algebra over `R^channels`, truncated after level `depth`; says how many entries each level has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ops) struct TruncatedTensorAlgebra {
    pub(in crate::ops) channels: usize,
    pub(in crate::ops) depth: usize,
    /// For each level the index at which its entries end; 0 for level 0, the scalar, which is not stored.
    ends: [usize; LARGEST_DEPTH + 1],
}

impl TruncatedTensorAlgebra {
    /// The algebra of levels 1 to `depth`; `depth` is at most [`LARGEST_DEPTH`].
    pub(in crate::ops) const fn new(channels: usize, depth: usize) -> Self {
        let mut ends = [0; LARGEST_DEPTH + 1];
        let (mut level, mut entries) = (1, channels);
        while level <= LARGEST_DEPTH {
            ends[level] = entries.saturating_add(ends[level - 1]);
            entries = entries.saturating_mul(channels);
            level += 1;
        }
        let depth = match depth {
            0 => 1,
            1..=LARGEST_DEPTH => depth,
            _ => LARGEST_DEPTH,
        };
        Self {
            channels,
            depth,
            ends,
        }
    }

    /// The algebra with `depth - 1` levels; from depth 1, an algebra without entries.
    #[inline(always)]
    pub(in crate::ops) const fn lower(self) -> Self {
        Self {
            depth: self.depth - 1,
            ..self
        }
    }

    /// Index at which the entries of `level` end.
    #[inline(always)]
    pub(super) fn end(self, level: usize) -> usize {
        self.ends[level]
    }

    /// Number of entries of a signature, all levels together.
    #[inline(always)]
    pub(in crate::ops) fn len(self) -> usize {
        self.end(self.depth)
    }

    /// Floating-point operations of one [`Self::extend`], per path.
    pub(in crate::ops) fn flop(self) -> usize {
        let level = |n: usize| {
            let chain: usize = (2..=n)
                .map(|m| 2 * self.channels.pow(m as u32) + self.channels.pow(m as u32 - 1))
                .sum();
            chain + 2 * self.channels
        };
        self.channels + (2..=self.depth).map(level).sum::<usize>()
    }

    /// `S ← S ⊗ exp(d)`: extends a path's signature by a straight piece with increment `d`. `chain` is working memory
    /// of a signature's length.
    ///
    /// Chen's identity by Horner's scheme: `Sₙ += (… ((S₁ + d/n) ⊗ d/(n−1) + S₂) … + Sₙ₋₁) ⊗ d`, from the highest level
    /// down, so that the lower levels are still those before the step.
    #[inline(always)]
    pub(in crate::ops) fn extend<A: LaneArithmetic>(
        self,
        with: A,
        s: &mut [A::Vector],
        d: &[A::Vector],
        chain: &mut [A::Vector],
    ) {
        let d = &d[..self.channels];
        for n in (2..=self.depth).rev() {
            self.chain(with, n, s, d, chain);
            let (last, from) = (&chain[self.end(n - 2)..self.end(n - 1)], self.end(n - 1));
            let level = s[from..self.end(n)].chunks_exact_mut(self.channels);
            for (row, a) in level.zip(last) {
                for (entry, d) in row.iter_mut().zip(d) {
                    *entry = with.mul_add(*a, *d, *entry);
                }
            }
        }
        for (entry, d) in s.iter_mut().zip(d) {
            *entry = with.add(*entry, *d);
        }
    }

    /// Backward of [`Self::extend`], with `s` the signature before the step: `adjoint`, the gradient of the signature
    /// after the step, becomes that of `s`; the gradient of `d` is added to `dd`. `work` is memory of two signatures'
    /// length.
    #[inline(always)]
    pub(in crate::ops) fn extend_backward<A: LaneArithmetic>(
        self,
        with: A,
        (s, d): (&[A::Vector], &[A::Vector]),
        adjoint: &mut [A::Vector],
        dd: &mut [A::Vector],
        work: &mut [A::Vector],
    ) {
        let (chain, slopes) = work.split_at_mut(self.len());
        let (d, dd) = (&d[..self.channels], &mut dd[..self.channels]);
        for (dd, adjoint) in dd.iter_mut().zip(&*adjoint) {
            *dd = with.add(*dd, *adjoint);
        }
        // In ascending order: level n adds to the gradients of lower levels, whose own backward steps must use only the
        // original gradients.
        for n in 2..=self.depth {
            self.chain(with, n, s, d, chain);
            slopes[self.end(n - 1)..self.end(n)]
                .copy_from_slice(&adjoint[self.end(n - 1)..self.end(n)]);
            self.backward_product(with, (n, n - 1), d, chain, (&mut *slopes, &mut *dd));
            self.backward_chain(with, n, d, chain, (&mut *slopes, &mut *dd));
            for (adjoint, slope) in adjoint.iter_mut().zip(&slopes[..self.end(n - 1)]) {
                *adjoint = with.add(*adjoint, *slope);
            }
        }
    }

    /// Backward of [`Self::chain`] for level n: `slopes` has the gradient of `chain[n−1]` and receives those of
    /// `chain[1]` to `chain[n−2]`, which are also the gradients of the signature's levels; the gradient of `d` is added
    /// to `dd`.
    #[inline(always)]
    pub(super) fn backward_chain<A: LaneArithmetic>(
        self,
        with: A,
        n: usize,
        d: &[A::Vector],
        chain: &[A::Vector],
        (slopes, dd): (&mut [A::Vector], &mut [A::Vector]),
    ) {
        for m in (1..n - 1).rev() {
            self.backward_product(with, (n, m), d, chain, (&mut *slopes, &mut *dd));
        }
        let scale = with.splat(1.0 / n as f64);
        for (dd, slope) in dd.iter_mut().zip(&*slopes) {
            *dd = with.mul_add(scale, *slope, *dd);
        }
    }

    /// The partial results of Horner's scheme for level n: `chain[1] = S₁ + d/n`, then for m from 2 to n − 1
    /// `chain[m] = S_m + chain[m−1] ⊗ d/(n−m+1)`.
    #[inline(always)]
    pub(super) fn chain<A: LaneArithmetic>(
        self,
        with: A,
        n: usize,
        s: &[A::Vector],
        d: &[A::Vector],
        chain: &mut [A::Vector],
    ) {
        let scale = with.splat(1.0 / n as f64);
        for ((entry, s), d) in chain.iter_mut().zip(s).zip(d) {
            *entry = with.mul_add(scale, *d, *s);
        }
        for m in 2..n {
            let scale = with.splat(1.0 / (n - m + 1) as f64);
            let (lower, level) = chain.split_at_mut(self.end(m - 1));
            let rows = level[..self.end(m) - self.end(m - 1)].chunks_exact_mut(self.channels);
            let before = s[self.end(m - 1)..self.end(m)].chunks_exact(self.channels);
            for ((row, before), a) in rows.zip(before).zip(&lower[self.end(m - 2)..]) {
                let scaled = with.mul(scale, *a);
                for ((entry, before), d) in row.iter_mut().zip(before).zip(d) {
                    *entry = with.mul_add(scaled, *d, *before);
                }
            }
        }
    }

    /// Backward of the product in `chain[m + 1] = … + chain[m] ⊗ d/(n−m)`, from the gradient of `chain[m + 1]` in
    /// `slopes`.
    #[inline(always)]
    fn backward_product<A: LaneArithmetic>(
        self,
        with: A,
        (n, m): (usize, usize),
        d: &[A::Vector],
        chain: &[A::Vector],
        (slopes, dd): (&mut [A::Vector], &mut [A::Vector]),
    ) {
        let scale = with.splat(1.0 / (n - m) as f64);
        let (lower, upper) = slopes.split_at_mut(self.end(m));
        let rows = upper.chunks_exact(self.channels);
        let level = self.end(m - 1)..self.end(m);
        for ((slope, a), row) in lower[level.clone()].iter_mut().zip(&chain[level]).zip(rows) {
            let mut sum = with.splat(0.0);
            let scaled = with.mul(scale, *a);
            for ((upper, d), dd) in row.iter().zip(d).zip(dd.iter_mut()) {
                sum = with.mul_add(*upper, *d, sum);
                *dd = with.mul_add(*upper, scaled, *dd);
            }
            *slope = with.mul(scale, sum);
        }
    }
}
