//! Products as dot products of contiguous rows of A and columns of B, as in `A · Wᵀ` with few rows.
#![expect(
    unsafe_code,
    reason = "tiles of registers go through memory by pointers; who makes an `Operands` promises the bounds"
)]

use pulp::{Simd, WithSimd};

use super::tile::{Operands, ROWS, tile_vectors};

/// The product `A · B` where A's rows and B's columns are contiguous (B's element `(p, j)` lies at `j · b_step + p`),
/// as in `A · Wᵀ`: each result is a dot product of two vectors in memory.
pub(super) struct Dots(Operands);

impl Dots {
    /// # Safety
    /// As [`super::tile::Broadcast::new`]; also `a_step` must be 1.
    pub(super) unsafe fn new(operands: Operands) -> Self {
        Self(operands)
    }
}

impl WithSimd for Dots {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let all = self.0;
        let width = tile_vectors::<S>();
        for first in (0..all.n).step_by(width) {
            let n = width.min(all.n - first);
            let at = Operands {
                n,
                b: all.b.wrapping_add(first * all.b_step),
                c: all.c.wrapping_add(first),
                ..all
            };
            // SAFETY: columns of the operands of a `Dots`, whose creator guaranteed their memory.
            unsafe {
                if n == 1 {
                    dots_down::<S, 1>(simd, at);
                } else if const { tile_vectors::<S>() == 2 } || n == 2 {
                    dots_down::<S, 2>(simd, at);
                } else if n == 3 {
                    dots_down::<S, 3>(simd, at);
                } else {
                    dots_down::<S, 4>(simd, at);
                }
            }
        }
    }
}

/// Computes all rows of `C` columns of the result.
///
/// # Safety
/// As [`Dots::new`], for `C` columns.
#[inline(always)]
unsafe fn dots_down<S: Simd, const C: usize>(simd: S, all: Operands) {
    for first in (0..all.m).step_by(ROWS) {
        let rows = ROWS.min(all.m - first);
        let at = all.rows(first, rows);
        // SAFETY: rows of the operands, guaranteed by the caller.
        unsafe {
            match rows {
                1 => dots::<S, 1, C>(simd, at),
                2 => dots::<S, 2, C>(simd, at),
                3 => dots::<S, 3, C>(simd, at),
                4 => dots::<S, 4, C>(simd, at),
                5 => dots::<S, 5, C>(simd, at),
                _ => dots::<S, ROWS, C>(simd, at),
            }
        }
    }
}

/// Multiplies the vectors of `R` rows and `C` columns that begin at element `from`, and adds the products to `sums`.
///
/// # Safety
/// `load` may be called with the addresses of these vectors.
#[inline(always)]
unsafe fn multiply<S: Simd, const R: usize, const C: usize>(
    sums: &mut [[S::f32s; C]; R],
    simd: S,
    t: Operands,
    from: usize,
    load: impl Fn(*const f32) -> S::f32s,
) {
    let mut columns = [simd.splat_f32s(0.0); C];
    for (j, column) in columns.iter_mut().enumerate() {
        *column = load(t.b.wrapping_add(j * t.b_step + from));
    }
    for (i, sums) in sums.iter_mut().enumerate() {
        let row = load(t.a.wrapping_add(i * t.a_row + from));
        for (sum, column) in sums.iter_mut().zip(columns) {
            *sum = simd.mul_add_e_f32s(row, column, *sum);
        }
    }
}

/// Computes `R` rows of `C` columns, with one vector of partial sums per result, which is summed at the end.
///
/// # Safety
/// As [`dots_down`], for `R` rows.
#[inline(always)]
unsafe fn dots<S: Simd, const R: usize, const C: usize>(simd: S, t: Operands) {
    let lanes = S::F32_LANES;
    let mut sums = [[simd.splat_f32s(0.0); C]; R];
    let whole = t.k - t.k % lanes;
    for from in (0..whole).step_by(lanes) {
        // SAFETY: a vector of every row and column, before the k-th element.
        unsafe {
            multiply(&mut sums, simd, t, from, |at| {
                at.cast::<S::f32s>().read_unaligned()
            });
        }
    }
    if whole < t.k {
        let rest = simd.mask_between_m32s(0, (t.k - whole) as u32);
        // SAFETY: a masked vector of every row and column, up to the k-th element.
        unsafe {
            multiply(&mut sums, simd, t, whole, |at| {
                simd.mask_load_ptr_f32s(rest, at)
            });
        }
    }
    for (i, sums) in sums.iter().enumerate() {
        for (j, sum) in sums.iter().enumerate() {
            let sum = simd.reduce_sum_f32s(*sum);
            // SAFETY: element (i, j) of C.
            unsafe {
                let at = t.c.wrapping_add(i * t.c_row + j);
                *at = if t.add { *at + sum } else { sum };
            }
        }
    }
}
