//! Copies of A and B in pairs of neighbouring depths, rounded to bf16 on the way.
#![expect(
    unsafe_code,
    reason = "intrinsics over raw pointers; the views checked their bounds"
)]

use std::arch::x86_64::{
    __m512, __m512bh, __m512i, __mmask16, _mm512_cvtne2ps_pbh, _mm512_loadu_ps, _mm512_loadu_si512,
    _mm512_maskz_loadu_ps, _mm512_permutexvar_epi16, _mm512_setzero_ps, _mm512_shuffle_i32x4,
    _mm512_storeu_si512, _mm512_unpackhi_epi32, _mm512_unpackhi_epi64, _mm512_unpacklo_epi32,
    _mm512_unpacklo_epi64,
};
use std::mem::transmute;

use crate::ops::gemm::Matrix;

/// Values of a vector.
pub(super) const LANES: usize = 16;
/// Rows of a tile: 24 of the 32 registers hold sums.
pub(super) const ROWS: usize = 6;
/// Vectors of a panel of B.
pub(super) const VECTORS: usize = 4;
/// Columns of a panel of B.
pub(super) const PANEL: usize = VECTORS * LANES;

/// A's copy: pair q of row i is at `at[i · row + q · step]`, within a block of [`LANES`] rows if `by_columns`.
#[derive(Clone, Copy)]
pub(super) struct Left {
    at: *const u32,
    pub(super) row: usize,
    pub(super) step: usize,
    /// Values from one block of 16 rows to the next; 0 if A was copied row by row.
    block: usize,
}

impl Left {
    /// The pairs of the rows from `first` on, and how many of them a tile can take.
    pub(super) fn rows_from(self, first: usize, m: usize) -> (*const u32, usize) {
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

/// Copies A to `to`.
///
/// # Safety
/// `to` has room for `a_row` pairs for each of A's rows, rounded up to 16.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(super) unsafe fn copy_left(to: *mut u32, a_row: usize, a: Matrix<'_>) -> Left {
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
pub(super) unsafe fn copy_right(to: *mut u32, b: Matrix<'_>) {
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

pub(super) fn mask(count: usize) -> __mmask16 {
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
