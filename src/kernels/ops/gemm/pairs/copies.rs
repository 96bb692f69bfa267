//! Copies of A and B as pairs of neighbouring depths, rounded to bf16.
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
use crate::ops::gemm::instruction::PANEL;

/// Number of `f32` values or pairs in a vector.
pub(super) const LANES: usize = 16;
/// Number of rows of a tile of C; its sums take 24 of the 32 registers.
pub(super) const ROWS: usize = 6;
/// Number of vectors in one row of a panel of B.
pub(super) const VECTORS: usize = PANEL / LANES;

/// A's copy: pair q of row i is at `at[i · row + q · step]`; if A was copied by columns, i counts within a block of
/// [`LANES`] rows.
#[derive(Clone, Copy)]
pub(super) struct Left {
    at: *const u32,
    pub(super) row: usize,
    pub(super) step: usize,
    /// Distance between blocks of 16 rows in pairs; 0 if A was copied row by row.
    block: usize,
}

impl Left {
    /// A copy at `at` whose rows are contiguous and begin `row` pairs apart.
    pub(super) fn by_rows(at: *const u32, row: usize) -> Self {
        Self {
            at,
            row,
            step: 1,
            block: 0,
        }
    }

    /// The first pair of row `row`, in a copy by rows.
    pub(super) fn of_row(self, row: usize) -> *const u32 {
        self.at.wrapping_add(row * self.row)
    }

    /// The first pair of row `first`, and how many of the rows up to `m` one tile can take from there.
    pub(super) fn rows_from(self, first: usize, m: usize) -> (*const u32, usize) {
        let left = m - first;
        if self.block == 0 {
            return (self.at.wrapping_add(first * self.row), left.min(ROWS));
        }
        let (block, inside) = (first / LANES, first % LANES);
        let rows = if inside == 0 { ROWS } else { ROWS - 1 };
        let at = self.at.wrapping_add(block * self.block + inside);
        (at, left.min(rows))
    }
}

/// Copies A to `to`: if A's columns are contiguous and `by_rows` is false, in blocks of 16 rows, otherwise row by row.
/// Rows are padded with zeros to a multiple of 16 pairs, blocks to 16 rows.
///
/// # Safety
/// `to` has room for `a_row` pairs for each of A's rows, rounded up to 16.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(super) unsafe fn copy_left(to: *mut u32, a_row: usize, a: Matrix<'_>, by_rows: bool) -> Left {
    let pairs = a.columns.div_ceil(2);
    let rows = Left::by_rows(to, a_row);
    if a.column_stride == 1 {
        for i in 0..a.rows {
            // SAFETY: row i exists in A and in the copy.
            unsafe {
                let from = a.values.as_ptr().add(i * a.row_stride);
                for p in (0..a.columns).step_by(2 * LANES) {
                    let row = to.add(i * a_row + p / 2);
                    _mm512_storeu_si512(row.cast(), neighbours(from.add(p), a.columns - p));
                }
            }
        }
        return rows;
    }
    for i in (0..a.rows).step_by(LANES) {
        let columns = a.transposed().column_range(i, LANES.min(a.rows - i));
        // SAFETY: columns of Aᵀ; a block takes 16 · `pairs` ≤ 16 · `a_row`, and 16 rows of `a_row`.
        unsafe {
            if by_rows {
                for q in (0..pairs).step_by(LANES) {
                    let values = std::array::from_fn(|at| paired(columns, q + at, 0));
                    transpose(to.add(i * a_row + q), a_row, values);
                }
            } else {
                interleave(to.add(i * pairs), LANES, columns, pairs);
            }
        }
    }
    if by_rows {
        return rows;
    }
    Left {
        at: to,
        row: 1,
        step: LANES,
        block: LANES * pairs,
    }
}

/// Copies up to `panel` columns of B to `to`, pair of depths by pair of depths. Missing columns of the last vector and
/// missing depths up to a multiple of 32 are zeros.
///
/// # Safety
/// `to` has room for `panel` pairs for every two depths, rounded up to 32.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(in crate::ops::gemm) unsafe fn copy_right(to: *mut u32, panel: usize, b: Matrix<'_>) {
    let pairs = b.rows.div_ceil(2).next_multiple_of(LANES);
    if b.column_stride == 1 {
        // SAFETY: rows of the panel.
        unsafe { interleave(to, panel, b, pairs) };
        return;
    }
    for j in (0..b.columns).step_by(LANES) {
        for p in (0..b.rows).step_by(2 * LANES) {
            let depths = (2 * LANES).min(b.rows - p);
            // SAFETY: vector j of 16 rows of the panel, from columns of B.
            unsafe {
                let values = std::array::from_fn(|lane| {
                    if j + lane < b.columns {
                        let at = p * b.row_stride + (j + lane) * b.column_stride;
                        neighbours(b.values.as_ptr().add(at), depths)
                    } else {
                        no_pairs()
                    }
                });
                transpose(to.add(p / 2 * panel + j), panel, values);
            }
        }
    }
}

/// Writes `from`, rounded to bf16, to `to`.
///
/// # Safety
/// The CPU has AVX-512 F, BW and BF16.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
pub(in crate::ops::gemm) unsafe fn round(to: &mut [u16], from: &[f32]) {
    let mut whole = to.chunks_exact_mut(2 * LANES);
    for (to, from) in whole.by_ref().zip(from.chunks_exact(2 * LANES)) {
        // SAFETY: both slices have 32 more values.
        unsafe {
            _mm512_storeu_si512(to.as_mut_ptr().cast(), neighbours(from.as_ptr(), 2 * LANES));
        };
    }
    let rest = whole.into_remainder();
    let from = &from[from.len() - rest.len()..];
    let mut last = [0_u16; 2 * LANES];
    // SAFETY: masked lanes are not read.
    unsafe {
        _mm512_storeu_si512(
            last.as_mut_ptr().cast(),
            neighbours(from.as_ptr(), from.len()),
        );
    };
    rest.copy_from_slice(&last[..rest.len()]);
}

/// Rounds 32 neighbouring values at `from` to 16 pairs; values from `count` on are zeros.
///
/// # Safety
/// `count` values, or 32, can be read at `from`.
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn neighbours(from: *const f32, count: usize) -> __m512i {
    // SAFETY: guaranteed by the caller; masked lanes are not read.
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

/// Loads the first `count` values at `from`, at most 16; the other lanes are zeros.
///
/// # Safety
/// The `count` values can be read.
#[target_feature(enable = "avx512f")]
unsafe fn load(from: *const f32, count: usize) -> __m512 {
    // SAFETY: guaranteed by the caller; masked lanes are not read.
    unsafe { _mm512_maskz_loadu_ps(mask(count), from) }
}

pub(super) fn mask(count: usize) -> __mmask16 {
    if count >= LANES {
        u16::MAX
    } else {
        (1 << count) - 1
    }
}

/// Rounds 32 values to bf16; those of `low` come first.
#[target_feature(enable = "avx512f,avx512bf16")]
fn rounded(high: __m512, low: __m512) -> __m512i {
    // SAFETY: two types of 512 bits.
    unsafe { transmute::<__m512bh, __m512i>(_mm512_cvtne2ps_pbh(high, low)) }
}

/// Writes `count` rows of pairs of a matrix with contiguous rows, `step` pairs apart; missing columns of the last
/// vector are zeros.
///
/// # Safety
/// `to` has room for these rows.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
unsafe fn interleave(to: *mut u32, step: usize, from: Matrix<'_>, count: usize) {
    for q in 0..count {
        for j in (0..from.columns).step_by(LANES) {
            // SAFETY: guaranteed by the caller.
            unsafe { _mm512_storeu_si512(to.add(q * step + j).cast(), paired(from, q, j)) };
        }
    }
}

/// Pairs the values of the contiguous rows 2q and 2q + 1, for up to 16 columns from `first` on; a missing row counts as
/// zeros.
#[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
fn paired(from: Matrix<'_>, q: usize, first: usize) -> __m512i {
    const ORDER: [u16; 32] = {
        let mut order = [0; 32];
        let mut i = 0;
        while i < 32 {
            order[i] = (i / 2 + i % 2 * LANES) as u16;
            i += 1;
        }
        order
    };
    if 2 * q >= from.rows {
        return no_pairs();
    }
    // SAFETY: rows of `from`.
    unsafe {
        let row = from.values.as_ptr().add(2 * q * from.row_stride + first);
        let count = from.columns - first;
        let low = load(row, count);
        let high = if 2 * q + 1 < from.rows {
            load(row.add(from.row_stride), count)
        } else {
            _mm512_setzero_ps()
        };
        _mm512_permutexvar_epi16(
            _mm512_loadu_si512(ORDER.as_ptr().cast()),
            rounded(high, low),
        )
    }
}

#[target_feature(enable = "avx512f")]
fn no_pairs() -> __m512i {
    // SAFETY: two types of 512 bits.
    unsafe { transmute::<__m512, __m512i>(_mm512_setzero_ps()) }
}

/// Transposes 16 rows of 16 pairs, and writes the results `step` pairs apart.
///
/// # Safety
/// `to` has room for these rows.
#[target_feature(enable = "avx512f,avx512bf16")]
unsafe fn transpose(to: *mut u32, step: usize, mut x: [__m512i; LANES]) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        // First exchanges pairs at distances of 1 and 2 within parts of 128 bits, then at distances of 4 and 8 across
        // these parts.
        let mut y = x;
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
            _mm512_storeu_si512(to.add(q * step).cast(), row);
        }
    }
}
