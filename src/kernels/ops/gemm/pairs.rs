//! The product of [`super::bf16`] by `vdpbf16ps`: copies of A and B in pairs of neighbouring depths, and tiles of 6 rows by 4 vectors.
//!
//! A pair is a `u32` with two bf16 values. B's pairs stand in panels of 64 columns, depth by depth; A's either row by row
//! (where its rows are contiguous) or, where its columns are, in blocks of 16 rows, depth by depth. So neither needs more than a
//! shuffle of what is read, but for a B with contiguous columns, which is transposed 16 × 16 pairs at a time.
#![expect(
    unsafe_code,
    reason = "intrinsics over raw pointers; the views checked their bounds"
)]

use std::arch::x86_64::{
    __m512, __m512bh, __m512i, __mmask16, _mm512_cvtne2ps_pbh, _mm512_dpbf16_ps, _mm512_loadu_ps,
    _mm512_loadu_si512, _mm512_mask_storeu_ps, _mm512_maskz_loadu_ps, _mm512_permutexvar_epi16,
    _mm512_set1_epi32, _mm512_setzero_ps, _mm512_shuffle_i32x4, _mm512_storeu_ps,
    _mm512_storeu_si512, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32,
    _mm512_unpacklo_epi64,
};
use std::mem::transmute;

use super::{Accumulate, Matrix};
use crate::ops::scratch::with_scratch;

const LANES: usize = 16;
/// Rows of a tile: 24 of the 32 registers hold sums.
const ROWS: usize = 6;
/// Vectors of a panel of B.
const VECTORS: usize = 4;
const PANEL: usize = VECTORS * LANES;
/// Depth of a pass: a panel of B (128 KiB) and the rows of a tile stay in the L2 cache.
const DEPTH: usize = 1024;
/// Rows of A that are copied at a time (1 MiB with the largest depth).
const BLOCK: usize = 512;

/// A's copy: pair q of row i is at `at[i · row + q · step]`, within a block of [`LANES`] rows if `by_columns`.
#[derive(Clone, Copy)]
struct Left {
    at: *const u32,
    row: usize,
    step: usize,
    /// Values from one block of 16 rows to the next; 0 if A was copied row by row.
    block: usize,
}

impl Left {
    /// The pairs of the rows from `first` on, and how many of them a tile can take.
    fn rows_from(self, first: usize, m: usize) -> (*const u32, usize) {
        let left = m - first;
        if self.block == 0 {
            return (self.at.wrapping_add(first * self.row), left.min(ROWS));
        }
        let (block, inside) = (first / LANES, first % LANES);
        // A block of 16 is 6 + 5 + 5 rows.
        let rows = if inside == 0 { ROWS } else { ROWS - 1 };
        let at = self.at.wrapping_add(block * self.block + inside);
        (at, left.min(rows))
    }
}

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
    let (rows, depth) = (m.min(BLOCK), k.min(DEPTH).max(1));
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

/// Copies A to `to`.
///
/// # Safety
/// `to` has room for `a_row` pairs for each of A's rows, rounded up to 16.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn copy_left(to: *mut u32, a_row: usize, a: Matrix<'_>) -> Left {
    let pairs = a.columns.div_ceil(2);
    if a.column_stride == 1 {
        for i in 0..a.rows {
            // SAFETY: row i of A and of the copy.
            unsafe {
                let from = a.values.as_ptr().add(i * a.row_stride);
                for p in (0..a.columns).step_by(2 * LANES) {
                    let row = to.add(i * a_row + p / 2);
                    _mm512_storeu_si512(row.cast(), neighbours(from.add(p), a.columns - p));
                }
            }
        }
        return Left {
            at: to,
            row: a_row,
            step: 1,
            block: 0,
        };
    }
    for i in (0..a.rows).step_by(LANES) {
        // SAFETY: columns of Aᵀ; a block takes 16 · `pairs` ≤ 16 · `a_row`.
        unsafe {
            interleave(
                to.add(i * pairs),
                LANES,
                a.transposed().column_range(i, LANES.min(a.rows - i)),
            );
        }
    }
    Left {
        at: to,
        row: 1,
        step: LANES,
        block: LANES * pairs,
    }
}

/// Copies up to 64 columns of B to `to`, depth by depth; absent columns of the last vector are zeros.
///
/// # Safety
/// `to` has room for 64 pairs for every two depths, rounded up to 32.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn copy_right(to: *mut u32, b: Matrix<'_>) {
    for j in (0..b.columns).step_by(LANES) {
        let columns = b.column_range(j, LANES.min(b.columns - j));
        // SAFETY: vector j of every row of the panel.
        unsafe {
            if b.column_stride == 1 {
                interleave(to.add(j), PANEL, columns);
            } else {
                for p in (0..b.rows).step_by(2 * LANES) {
                    let depths = columns.row_range(p, (2 * LANES).min(b.rows - p));
                    transpose(to.add(p / 2 * PANEL + j), depths);
                }
            }
        }
    }
}

/// Rounds up to 32 neighbouring values to 16 pairs; absent ones are zeros.
///
/// # Safety
/// `count` values, or 32, can be read at `from`.
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn neighbours(from: *const f32, count: usize) -> __m512i {
    // SAFETY: guaranteed by the caller; what is masked is not read.
    unsafe {
        let (low, high) = if count >= 2 * LANES {
            (_mm512_loadu_ps(from), _mm512_loadu_ps(from.add(LANES)))
        } else {
            let high = count.saturating_sub(LANES);
            (load(from, count), load(from.wrapping_add(LANES), high))
        };
        rounded(high, low)
    }
}

/// The first `count` values at `from`, at most 16; the others are zeros.
///
/// # Safety
/// They can be read.
#[target_feature(enable = "avx512f")]
unsafe fn load(from: *const f32, count: usize) -> __m512 {
    // SAFETY: guaranteed by the caller; what is masked is not read.
    unsafe { _mm512_maskz_loadu_ps(mask(count), from) }
}

fn mask(count: usize) -> __mmask16 {
    if count >= LANES {
        u16::MAX
    } else {
        (1 << count) - 1
    }
}

/// 32 values rounded to bf16, those of `low` first.
#[target_feature(enable = "avx512f,avx512bf16")]
fn rounded(high: __m512, low: __m512) -> __m512i {
    // SAFETY: two types of 512 bits.
    unsafe { transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(high, low)) }
}

/// Rows of 16 pairs from a matrix of contiguous rows, of up to 16 columns: row q pairs the matrix's rows 2q and 2q + 1. They begin `step` pairs
/// apart.
///
/// # Safety
/// There is room for half as many rows as the matrix has, rounded up.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn interleave(to: *mut u32, step: usize, from: Matrix<'_>) {
    let order: [u16; 32] = std::array::from_fn(|i| (i / 2 + i % 2 * LANES) as u16);
    // SAFETY: rows of `from` and of the copy; a row without a partner is paired with zeros.
    unsafe {
        let order = _mm512_loadu_si512(order.as_ptr().cast());
        let start = from.values.as_ptr();
        for q in 0..from.rows.div_ceil(2) {
            let row = start.add(2 * q * from.row_stride);
            let low = load(row, from.columns);
            let high = if 2 * q + 1 < from.rows {
                load(row.add(from.row_stride), from.columns)
            } else {
                _mm512_setzero_ps()
            };
            let pairs = _mm512_permutexvar_epi16(order, rounded(high, low));
            _mm512_storeu_si512(to.add(q * step).cast(), pairs);
        }
    }
}

/// 16 rows of pairs, [`PANEL`] apart, from up to 32 depths of up to 16 contiguous columns.
///
/// # Safety
/// There is room for 16 rows.
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn transpose(to: *mut u32, from: Matrix<'_>) {
    // SAFETY: columns of `from`, and 16 rows of the copy.
    unsafe {
        let zeros = transmute::<__m512, __m512i>(_mm512_setzero_ps());
        let mut x = [zeros; LANES];
        for (j, x) in x.iter_mut().enumerate().take(from.columns) {
            *x = neighbours(from.values.as_ptr().add(j * from.column_stride), from.rows);
        }
        // Pairs of neighbours change places at distances of 1 and 2 within, then of 4 and 8 across, parts of 128 bits.
        let mut y = [zeros; LANES];
        for i in (0..LANES).step_by(2) {
            y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
            y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
        }
        for i in (0..LANES).step_by(4) {
            for half in 0..2 {
                x[i + 2 * half] = _mm512_unpacklo_epi64(y[i + half], y[i + 2 + half]);
                x[i + 2 * half + 1] = _mm512_unpackhi_epi64(y[i + half], y[i + 2 + half]);
            }
        }
        for part in 0..4 {
            let [a, b, c, d] = [x[part], x[4 + part], x[8 + part], x[12 + part]];
            let near = [
                _mm512_shuffle_i32x4::<0b10_00_10_00>(a, b),
                _mm512_shuffle_i32x4::<0b11_01_11_01>(a, b),
            ];
            let far = [
                _mm512_shuffle_i32x4::<0b10_00_10_00>(c, d),
                _mm512_shuffle_i32x4::<0b11_01_11_01>(c, d),
            ];
            for odd in 0..2 {
                y[4 * odd + part] = _mm512_shuffle_i32x4::<0b10_00_10_00>(near[odd], far[odd]);
                y[8 + 4 * odd + part] = _mm512_shuffle_i32x4::<0b11_01_11_01>(near[odd], far[odd]);
            }
        }
        for (q, row) in y.into_iter().enumerate() {
            _mm512_storeu_si512(to.add(q * PANEL).cast(), row);
        }
    }
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
