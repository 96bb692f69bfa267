//! [`Algebra`]: signatures of many paths at once, one lane each, step by step; and the way back.
//!
//! A value of the algebra is levels 1 to N, one after another, each row-major; every entry is an array of lanes. The
//! scalar term is 1 and is not kept.

use std::ops::{Add, AddAssign, Mul, Sub};

/// A floating-point number: `f32` or `f64`.
pub(in crate::ops) trait Real:
    Copy
    + Default
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + AddAssign
{
    /// `1 / n`.
    fn reciprocal(n: usize) -> Self;
}

impl Real for f32 {
    fn reciprocal(n: usize) -> Self {
        1.0 / n as Self
    }
}

impl Real for f64 {
    fn reciprocal(n: usize) -> Self {
        1.0 / n as Self
    }
}

/// Largest depth.
pub(in crate::ops) const LARGEST_DEPTH: usize = 8;

/// Tensors over `R^channels` up to level `depth`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ops) struct Algebra {
    pub(in crate::ops) channels: usize,
    pub(in crate::ops) depth: usize,
    /// Where each level ends; level 0, the scalar that is not kept, at 0.
    ends: [usize; LARGEST_DEPTH + 1],
}

impl Algebra {
    /// Levels 1 to `depth`, of which there are at most [`LARGEST_DEPTH`].
    pub(in crate::ops) fn new(channels: usize, depth: usize) -> Self {
        let mut ends = [0; LARGEST_DEPTH + 1];
        for level in 1..=LARGEST_DEPTH {
            let entries = channels.saturating_pow(level as u32);
            ends[level] = entries.saturating_add(ends[level - 1]);
        }
        Self {
            channels,
            depth: depth.clamp(1, LARGEST_DEPTH),
            ends,
        }
    }

    /// Number of entries of levels 1 to `level`.
    #[inline(always)]
    fn end(self, level: usize) -> usize {
        self.ends[level]
    }

    /// Number of entries of a signature.
    pub(in crate::ops) fn len(self) -> usize {
        self.end(self.depth)
    }

    /// Additions and multiplications of one [`Self::extend`], per path.
    pub(in crate::ops) fn flop(self) -> usize {
        let level = |n: usize| {
            let chain: usize = (2..=n)
                .map(|m| 2 * self.channels.pow(m as u32) + self.channels.pow(m as u32 - 1))
                .sum();
            chain + 2 * self.channels
        };
        self.channels + (2..=self.depth).map(level).sum::<usize>()
    }

    /// `S ← S ⊗ exp(d)`: the signature after one more straight piece `d`. `chain` is working memory of a signature's
    /// length.
    ///
    /// Chen's identity by Horner's scheme: `Sₙ += (… ((S₁ + d/n) ⊗ d/(n−1) + S₂) … + Sₙ₋₁) ⊗ d`, from the highest level
    /// down, so that the lower ones are those before the step.
    #[inline(always)]
    pub(in crate::ops) fn extend<T: Real, const L: usize>(
        self,
        s: &mut [[T; L]],
        d: &[[T; L]],
        chain: &mut [[T; L]],
    ) {
        for n in (2..=self.depth).rev() {
            self.chain(n, s, d, chain);
            let (last, from) = (&chain[self.end(n - 2)..self.end(n - 1)], self.end(n - 1));
            let level = s[from..self.end(n)].chunks_exact_mut(self.channels);
            for (row, a) in level.zip(last) {
                for (entry, d) in row.iter_mut().zip(d) {
                    for lane in 0..L {
                        entry[lane] += a[lane] * d[lane];
                    }
                }
            }
        }
        for (entry, d) in s.iter_mut().zip(d) {
            for lane in 0..L {
                entry[lane] += d[lane];
            }
        }
    }

    /// The adjoint of [`Self::extend`]: `adjoint` of the signature after the step becomes that of `s`, the one before
    /// it, and the gradient of `d` is added to `dd`. `work` is memory of two signatures' length.
    #[inline(always)]
    pub(in crate::ops) fn retreat<T: Real, const L: usize>(
        self,
        s: &[[T; L]],
        d: &[[T; L]],
        adjoint: &mut [[T; L]],
        dd: &mut [[T; L]],
        work: &mut [[T; L]],
    ) {
        let (chain, slopes) = work.split_at_mut(self.len());
        for (dd, adjoint) in dd.iter_mut().zip(&*adjoint) {
            for lane in 0..L {
                dd[lane] += adjoint[lane];
            }
        }
        // Upwards: what a level's step hands to the lower ones must not be handed on by theirs.
        for n in 2..=self.depth {
            self.chain(n, s, d, chain);
            slopes[self.end(n - 1)..self.end(n)]
                .copy_from_slice(&adjoint[self.end(n - 1)..self.end(n)]);
            for m in (1..n).rev() {
                self.retreat_product(n, m, d, chain, (&mut *slopes, &mut *dd));
                let level = self.end(m - 1)..self.end(m);
                for (adjoint, slope) in adjoint[level.clone()].iter_mut().zip(&slopes[level]) {
                    for lane in 0..L {
                        adjoint[lane] += slope[lane];
                    }
                }
            }
            let scale = T::reciprocal(n);
            for (dd, slope) in dd.iter_mut().zip(&*slopes) {
                for lane in 0..L {
                    dd[lane] += scale * slope[lane];
                }
            }
        }
    }

    /// `chain[m] = S_m + chain[m−1] ⊗ d/(n−m+1)` for m from 1 to n − 1, where `chain[1] = S₁ + d/n`.
    #[inline(always)]
    fn chain<T: Real, const L: usize>(
        self,
        n: usize,
        s: &[[T; L]],
        d: &[[T; L]],
        chain: &mut [[T; L]],
    ) {
        let scale = T::reciprocal(n);
        for ((entry, s), d) in chain.iter_mut().zip(s).zip(d) {
            for lane in 0..L {
                entry[lane] = s[lane] + scale * d[lane];
            }
        }
        for m in 2..n {
            let scale = T::reciprocal(n - m + 1);
            let (lower, level) = chain.split_at_mut(self.end(m - 1));
            let rows = level[..self.end(m) - self.end(m - 1)].chunks_exact_mut(self.channels);
            let before = s[self.end(m - 1)..self.end(m)].chunks_exact(self.channels);
            for ((row, before), a) in rows.zip(before).zip(&lower[self.end(m - 2)..]) {
                let mut scaled = [T::default(); L];
                for lane in 0..L {
                    scaled[lane] = scale * a[lane];
                }
                for ((entry, before), d) in row.iter_mut().zip(before).zip(d) {
                    for lane in 0..L {
                        entry[lane] = before[lane] + scaled[lane] * d[lane];
                    }
                }
            }
        }
    }

    /// The adjoint of the product that leads from `chain[m]` of level n to `chain[m + 1]`, whose slope is given.
    #[inline(always)]
    fn retreat_product<T: Real, const L: usize>(
        self,
        n: usize,
        m: usize,
        d: &[[T; L]],
        chain: &[[T; L]],
        (slopes, dd): (&mut [[T; L]], &mut [[T; L]]),
    ) {
        let scale = T::reciprocal(n - m);
        let (lower, upper) = slopes.split_at_mut(self.end(m));
        let rows = upper.chunks_exact(self.channels);
        let level = self.end(m - 1)..self.end(m);
        for ((slope, a), row) in lower[level.clone()].iter_mut().zip(&chain[level]).zip(rows) {
            let mut sum = [T::default(); L];
            let mut scaled = [T::default(); L];
            for lane in 0..L {
                scaled[lane] = scale * a[lane];
            }
            for ((upper, d), dd) in row.iter().zip(d).zip(dd.iter_mut()) {
                for lane in 0..L {
                    sum[lane] += upper[lane] * d[lane];
                    dd[lane] += upper[lane] * scaled[lane];
                }
            }
            for lane in 0..L {
                slope[lane] = scale * sum[lane];
            }
        }
    }
}
