//! The products of [`super::bf16`] on copies of A and B in pairs of neighbouring depths: by AMX ([`amx`]), or by
//! `vdpbf16ps` on tiles of 6 rows by 4 vectors.
//!
//! A pair is a `u32` with two bf16 values, of depths 2q and 2q + 1. B is copied in panels of 64 columns (AMX: 32),
//! within them pair by pair of depths. A is copied row by row if its rows are contiguous or AMX is used, otherwise in
//! blocks of 16 rows, within them pair by pair. So copying only needs shuffles of vectors, except for a B with
//! contiguous columns, and with AMX for an A with contiguous columns: these are transposed 16 × 16 pairs at a time.
#![expect(
    unsafe_code,
    reason = "intrinsics over raw pointers; the views checked their bounds"
)]

mod amx;
mod copies;

use std::arch::x86_64::{
    __m512, __m512bh, __m512i, _mm512_dpbf16_ps, _mm512_loadu_si512, _mm512_mask_storeu_ps,
    _mm512_maskz_loadu_ps, _mm512_set1_epi32, _mm512_setzero_ps, _mm512_storeu_ps,
};
use std::mem::transmute;

use amx::Tiles;
use copies::{LANES, Left, ROWS, VECTORS, copy_left, mask};
pub(super) use copies::{copy_right, round};

use super::instruction::{AMX_PANEL, Bf16Products, PANEL};
use super::right::RightCopy;
use super::{Accumulate, Matrix, RightMatrix};
use crate::ops::scratch::with_scratch;

/// Depth per pass with `vdpbf16ps`: a panel of B (128 KiB) and the rows of a tile stay in the L2 cache.
const DEPTH: usize = 1024;
/// Depth per pass with AMX: a panel of B (32 KiB) stays in the L1 cache, from which its tiles are loaded again for
/// every 32 rows.
const AMX_DEPTH: usize = 512;
/// As [`AMX_DEPTH`], for windows of a convolution: the rows of A overlap and so take less of the L1 cache.
const WINDOW_DEPTH: usize = 640;
/// Number of rows of A that are copied at a time; they take 1 MiB at the largest depth.
const BLOCK: usize = 512;

/// `C = A · B` or `C += A · B` of values rounded to bf16.
///
/// # Safety
/// The CPU has AVX-512 F, BW and BF16, and AMX for [`Bf16Products::Amx`]. C's elements must not overlap each other, and
/// nothing else may read or write them during the call.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(super) unsafe fn product_at(
    by: Bf16Products,
    c: *mut f32,
    c_row: usize,
    accumulate: Accumulate,
    a: Matrix<'_>,
    b: RightMatrix<'_>,
) {
    let (m, n, k) = (a.rows, b.columns, a.columns);
    let copy = b.copy;
    // SAFETY: guaranteed by the caller.
    let tiles = (by == Bf16Products::Amx && k > 0).then(|| unsafe { Tiles::configure() });
    let panel = by.panel();
    let most = if tiles.is_some() { AMX_DEPTH } else { DEPTH };
    // Blocks of equal size, as few as possible, since B is copied anew for each block.
    let rows = m.div_ceil(m.div_ceil(BLOCK)).next_multiple_of(AMX_PANEL);
    let depth = k.clamp(1, most);
    let pairs = depth.div_ceil(2);
    // Whole vectors plus one cache line per row, so that the rows of a tile do not share cache sets.
    let a_row = pairs.next_multiple_of(LANES) + LANES;
    let a_len = a_row * rows;
    let b_len = pairs.next_multiple_of(LANES) * panel * usize::from(copy.is_none());
    with_scratch(a_len + b_len, |scratch| {
        let (left, right) = scratch.split_at_mut(a_len);
        let (left, right) = (left.as_mut_ptr().cast(), right.as_mut_ptr().cast::<u32>());
        for first in (0..m).step_by(rows) {
            let a = a.row_range(first, rows.min(m - first));
            for start in (0..k.max(1)).step_by(most) {
                let depth = most.min(k - start);
                let (a, b) = (a.column_range(start, depth), b.row_range(start, depth));
                let add = accumulate.adds() || start > 0;
                let pairs = depth.div_ceil(2);
                // SAFETY: both copies fit, as computed above; for C the caller guarantees it.
                unsafe {
                    let left = copy_left(left, a_row, a, tiles.is_some());
                    for j in (0..n).step_by(panel) {
                        let columns = panel.min(n - j);
                        let right = if let Some(copy) = copy {
                            copy.at(start, j)
                        } else {
                            copy_right(right, panel, b.matrix().column_range(j, columns));
                            right.cast_const()
                        };
                        let c = (c.wrapping_add(first * c_row + j), c_row, add);
                        let steps = pairs.div_ceil(LANES);
                        match &tiles {
                            Some(tiles) => {
                                let lefts = [left].into_iter();
                                tiles.multiply(&lefts, right, (a.rows, columns, steps), c);
                            }
                            None => multiply(left, right, (a.rows, columns, pairs), c),
                        }
                    }
                }
            }
        }
    });
}

/// `C = Σ_i A_i · B_i` by AMX. `A_i` has the bf16 values of `a` from index `starts[i]` on, read in place; `b` is a copy
/// of all `B_i`, one below the other, each with `k` rows, a multiple of 32. C is written once for as many products as
/// the depth of a pass allows.
///
/// # Safety
/// The CPU has AMX; each `A_i` has readable rows up to a multiple of 32, at even strides; for C as [`product_at`].
pub(super) unsafe fn tiled_product(
    (m, n, k): (usize, usize, usize),
    (c, c_row): (*mut f32, usize),
    (a, a_row): (&[u16], usize),
    starts: &[usize],
    b: RightCopy<'_>,
) {
    // SAFETY: guaranteed by the caller.
    let tiles = unsafe { Tiles::configure() };
    let together = (WINDOW_DEPTH / k).max(1);
    let depth = if k <= WINDOW_DEPTH { k } else { AMX_DEPTH };
    for (pass, starts) in starts.chunks(together).enumerate() {
        for from in (0..k).step_by(depth) {
            let steps = depth.min(k - from) / (2 * LANES);
            let first = pass * together * k + from;
            let lefts = starts.iter().map(|start| {
                let at = a[start + from..].as_ptr().cast();
                Left::by_rows(at, a_row / 2)
            });
            for j in (0..n).step_by(b.panel) {
                let size = (m, b.panel.min(n - j), steps);
                let c = (c.wrapping_add(j), c_row, first > 0);
                // SAFETY: parts of the operands, guaranteed by the caller.
                unsafe { tiles.multiply(&lefts, b.at(first, j), size, c) };
            }
        }
    }
}

/// Computes `m` rows of up to 64 columns of C by `vdpbf16ps`, over `pairs` pairs of depths.
///
/// # Safety
/// The copies hold those rows, columns and pairs; for C as [`product_at`].
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

    /// Computes `R` rows of `C` vectors; their sums stay in registers over the whole depth.
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

#[cfg(test)]
mod tests {
    use super::super::instruction::bf16_products;
    use super::*;
    use crate::ops::testing::{assert_close, random_values};

    #[test]
    fn both_instructions_give_the_same_sums() {
        if bf16_products() != Some(Bf16Products::Amx) {
            eprintln!("skipped: this CPU has no AMX");
            return;
        }
        for (m, n, k) in [
            (1, 1, 1),
            (33, 47, 66),
            (16, 96, 0),
            (70, 17, 1100),
            (600, 33, 31),
        ] {
            let (a, b) = (random_values(m * k, 1), random_values(k * n, 2));
            let of_a = [Matrix::new(&a, m, k), Matrix::new(&a, k, m).transposed()];
            for a in of_a {
                let [amx, avx512] = [Bf16Products::Amx, Bf16Products::Avx512].map(|by| {
                    let mut c = vec![0.25; m * n];
                    let at = c.as_mut_ptr();
                    // SAFETY: the CPU has both; C has m rows of n values.
                    unsafe {
                        product_at(by, at, n, Accumulate::Add, a, Matrix::new(&b, k, n).into());
                    }
                    c
                });
                assert_close(&amx, &avx512, 1e-5 * (k as f32 / 70.0).max(1.0));
            }
        }
    }
}
