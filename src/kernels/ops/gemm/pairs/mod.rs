//! The product of [`super::bf16`] by `vdpbf16ps`: copies of A and B in pairs of neighbouring depths, and tiles of 6 rows by 4 vectors.
//!
//! A pair is a `u32` with two bf16 values. B's pairs stand in panels of 64 columns, depth by depth; A's either row by row
//! (where its rows are contiguous) or, where its columns are, in blocks of 16 rows, depth by depth. So neither needs more than a
//! shuffle of what is read, but for a B with contiguous columns, which is transposed 16 × 16 pairs at a time.
#![expect(
    unsafe_code,
    reason = "intrinsics over raw pointers; the views checked their bounds"
)]

mod copies;

use std::arch::x86_64::{
    __m512, __m512bh, __m512i, _mm512_dpbf16_ps, _mm512_loadu_si512, _mm512_mask_storeu_ps,
    _mm512_maskz_loadu_ps, _mm512_set1_epi32, _mm512_setzero_ps, _mm512_storeu_ps,
};
use std::mem::transmute;

use copies::{LANES, Left, PANEL, ROWS, VECTORS, copy_left, copy_right, mask};

use super::{Accumulate, Matrix};
use crate::ops::scratch::with_scratch;

/// Depth of a pass: a panel of B (128 KiB) and the rows of a tile stay in the L2 cache.
const DEPTH: usize = 1024;
/// Rows of A that are copied at a time (1 MiB with the largest depth).
const BLOCK: usize = 512;

/// `C = A · B` or `C += A · B` of values rounded to bf16.
///
/// # Safety
/// The CPU has AVX-512 F, BW and BF16; C's elements must not overlap each other, and nothing else may read or write them
/// during the call.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(super) unsafe fn product_at(
    c: *mut f32,
    c_row: usize,
    accumulate: Accumulate,
    a: Matrix<'_>,
    b: Matrix<'_>,
) {
    let (m, n, k) = (a.rows, b.columns, a.columns);
    let (rows, depth) = (m.min(BLOCK), k.clamp(1, DEPTH));
    let pairs = depth.div_ceil(2);
    // Rows of 16 pairs and a cache line more, so that the rows of a tile do not share cache sets.
    let a_row = pairs.next_multiple_of(LANES) + LANES;
    let a_len = a_row * rows.next_multiple_of(LANES);
    let b_len = pairs.next_multiple_of(LANES) * PANEL;
    with_scratch(a_len + b_len, |scratch| {
        let (left, right) = scratch.split_at_mut(a_len);
        let (left, right) = (left.as_mut_ptr().cast(), right.as_mut_ptr().cast());
        for first in (0..m).step_by(BLOCK) {
            let a = a.row_range(first, BLOCK.min(m - first));
            for start in (0..k.max(1)).step_by(DEPTH) {
                let depth = DEPTH.min(k - start);
                let (a, b) = (a.column_range(start, depth), b.row_range(start, depth));
                let add = accumulate.adds() || start > 0;
                // SAFETY: both copies fit, as computed above; for C the caller guarantees it.
                unsafe {
                    let left = copy_left(left, a_row, a);
                    for j in (0..n).step_by(PANEL) {
                        let columns = PANEL.min(n - j);
                        copy_right(right, b.column_range(j, columns));
                        let c = c.wrapping_add(first * c_row + j);
                        multiply(
                            left,
                            right,
                            (a.rows, columns, depth.div_ceil(2)),
                            (c, c_row, add),
                        );
                    }
                }
            }
        }
    });
}

/// `m` rows of up to 64 columns of C, over `pairs` pairs of depths.
///
/// # Safety
/// The copies hold them; for C as [`product_at`].
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn multiply(
    left: Left,
    right: *const u32,
    (m, n, pairs): (usize, usize, usize),
    (c, c_row, add): (*mut f32, usize, bool),
) {
    let mut first = 0;
    while first < m {
        let (a, rows) = left.rows_from(first, m);
        let tile = Tile {
            a,
            a_row: left.row,
            a_step: left.step,
            b: right,
            pairs,
            c: c.wrapping_add(first * c_row),
            c_row,
            n,
            add,
        };
        // SAFETY: rows of the operands, guaranteed by the caller.
        unsafe {
            match n.div_ceil(LANES) {
                1 => tile.rows::<1>(rows),
                2 => tile.rows::<2>(rows),
                3 => tile.rows::<3>(rows),
                _ => tile.rows::<VECTORS>(rows),
            }
        }
        first += rows;
    }
}

struct Tile {
    a: *const u32,
    a_row: usize,
    a_step: usize,
    b: *const u32,
    pairs: usize,
    c: *mut f32,
    c_row: usize,
    n: usize,
    add: bool,
}

impl Tile {
    /// # Safety
    /// As [`multiply`], for `rows` rows, at most 6, and C vectors.
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn rows<const C: usize>(&self, rows: usize) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match rows {
                1 => self.compute::<1, C>(),
                2 => self.compute::<2, C>(),
                3 => self.compute::<3, C>(),
                4 => self.compute::<4, C>(),
                5 => self.compute::<5, C>(),
                _ => self.compute::<ROWS, C>(),
            }
        }
    }

    /// `R` rows of `C` vectors, kept in registers over the whole depth.
    ///
    /// # Safety
    /// As [`multiply`].
    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn compute<const R: usize, const C: usize>(&self) {
        let last = mask(self.n - (C - 1) * LANES);
        let mut sums = [[_mm512_setzero_ps(); C]; R];
        // SAFETY: rows of C, of which the last vector is masked, and pairs of the copies.
        unsafe {
            if self.add {
                for (i, sums) in sums.iter_mut().enumerate() {
                    for (j, sum) in sums.iter_mut().enumerate() {
                        let mask = if j + 1 == C { last } else { u16::MAX };
                        *sum = _mm512_maskz_loadu_ps(mask, self.at(i, j));
                    }
                }
            }
            let (mut a, mut b) = (self.a, self.b);
            for _ in 0..self.pairs {
                let mut vectors = [transmute::<__m512, __m512bh>(_mm512_setzero_ps()); C];
                for (j, vector) in vectors.iter_mut().enumerate() {
                    *vector = transmute::<__m512i, __m512bh>(_mm512_loadu_si512(
                        b.wrapping_add(j * LANES).cast(),
                    ));
                }
                for (i, sums) in sums.iter_mut().enumerate() {
                    let pair = *a.wrapping_add(i * self.a_row);
                    let pair =
                        transmute::<__m512i, __m512bh>(_mm512_set1_epi32(pair.cast_signed()));
                    for (sum, vector) in sums.iter_mut().zip(vectors) {
                        *sum = _mm512_dpbf16_ps(*sum, pair, vector);
                    }
                }
                a = a.wrapping_add(self.a_step);
                b = b.wrapping_add(PANEL);
            }
            for (i, sums) in sums.into_iter().enumerate() {
                for (j, sum) in sums.into_iter().enumerate() {
                    if j + 1 == C && last != u16::MAX {
                        _mm512_mask_storeu_ps(self.at(i, j), last, sum);
                    } else {
                        _mm512_storeu_ps(self.at(i, j), sum);
                    }
                }
            }
        }
    }

    fn at(&self, row: usize, vector: usize) -> *mut f32 {
        self.c.wrapping_add(row * self.c_row + vector * LANES)
    }
}
