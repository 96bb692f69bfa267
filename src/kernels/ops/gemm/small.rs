//! Computes the products that are slow in the crate `gemm` with the tiles of [`super::tile`].
#![expect(
    unsafe_code,
    reason = "tiles take raw pointers; the views checked their bounds"
)]

use super::dots::Dots;
use super::tile::{Broadcast, Operands};
use super::{Accumulate, Matrix};
use crate::ops::scratch::with_scratch;
use crate::ops::simd::{VectorLevel, dispatch_simd, vector_level};

/// Largest number of rows of A for which packing B, as `gemm` always does, costs about as much as the product.
const FEW_ROWS: usize = 64;
/// Largest number of multiply-adds of a product that counts as small: its matrices stay in the L1 and L2 caches.
const SMALL: usize = 1 << 21;
/// Number of rows of A from which vectors across the rows of A are faster than vectors along them, even with empty
/// lanes.
const STREAM_ROWS: usize = 8;
/// Number of rows of A from which a transposed copy of B costs less than adding up the lanes of every result's vector.
const COPY_ROWS: usize = 64;

/// Computes the product if tiles are faster than `gemm`; otherwise returns false and writes nothing.
///
/// # Safety
/// As [`super::single`]'s `product_f32_at`: nothing else reads or writes C's elements during the call.
pub(super) unsafe fn try_product(
    c: *mut f32,
    c_row: usize,
    accumulate: Accumulate,
    a: Matrix<'_>,
    b: Matrix<'_>,
) -> bool {
    let (m, n, k) = (a.rows, b.columns, a.columns);
    let is_small = m <= FEW_ROWS || m * n * k <= SMALL;
    // On the portable level `gemm` is faster, since it uses vector instructions even then.
    if !is_small || m * n * k == 0 || vector_level() == VectorLevel::Portable {
        return false;
    }
    let operands = Operands {
        m,
        n,
        k,
        a: a.values.as_ptr(),
        a_row: a.row_stride,
        a_step: a.column_stride,
        b: b.values.as_ptr(),
        b_step: b.row_stride,
        c,
        c_row,
        add: accumulate.adds(),
        streams_a: false,
        cold: false,
    };
    // SAFETY: a view can only be made (and cut) over a slice that holds all of its elements; for C the caller guarantees it.
    unsafe {
        if n == 1 && c_row == 1 && a.row_stride == 1 {
            // Computes Cᵀ = Bᵀ · Aᵀ: the only column of C is a contiguous row of results.
            let operands = Operands {
                m: 1,
                n: m,
                a: operands.b,
                a_row: 0,
                a_step: b.row_stride,
                b: operands.a,
                b_step: a.column_stride,
                ..operands
            };
            dispatch_simd(Broadcast::new(operands));
        } else if (STREAM_ROWS..COPY_ROWS).contains(&m) && b.row_stride == 1 && k >= COPY_ROWS {
            across_rows(operands, a, b);
        } else if a.column_stride == 1
            && b.row_stride == 1
            && (n == 1 || m < COPY_ROWS && k >= COPY_ROWS)
        {
            let b_step = b.column_stride;
            dispatch_simd(Dots::new(Operands { b_step, ..operands }));
        } else if b.column_stride == 1 {
            dispatch_simd(Broadcast::new(operands));
        } else if b.row_stride == 1 {
            with_scratch(k * n, |copy| {
                // The copy holds all of B.
                transpose(copy.as_mut_ptr(), n, false, b);
                let (b, b_step) = (copy.as_ptr(), n);
                dispatch_simd(Broadcast::new(Operands {
                    b,
                    b_step,
                    ..operands
                }));
            });
        } else {
            return false;
        }
    }
    true
}

/// `Cᵀ = Bᵀ · Aᵀ` for a B with contiguous columns, read once and in place; vectors run across the rows of A.
///
/// # Safety
/// As [`Broadcast::new`], for the operands of `A · B`.
unsafe fn across_rows(operands: Operands, a: Matrix<'_>, b: Matrix<'_>) {
    let Operands { m, n, k, .. } = operands;
    with_scratch((k + n) * m, |copy| {
        let (copy, result) = copy.split_at_mut(k * m);
        // SAFETY: copy and result hold Aᵀ and Cᵀ and are borrowed by this call alone; A and B are views that hold
        // their elements; the caller guarantees C's memory.
        unsafe {
            transpose(copy.as_mut_ptr(), m, false, a.transposed());
            dispatch_simd(Broadcast::new(Operands {
                m: n,
                n: m,
                a: operands.b,
                a_row: b.column_stride,
                a_step: 1,
                b: copy.as_ptr(),
                b_step: m,
                c: result.as_mut_ptr(),
                c_row: m,
                add: false,
                streams_a: true,
                ..operands
            }));
            let result = Matrix::new(result, n, m).transposed();
            transpose(operands.c, operands.c_row, operands.add, result);
        }
    });
}

/// Writes `b` to `to`, row by row, or adds it if `add`; rows of `to` begin `to_row` values apart.
///
/// # Safety
/// `b` fits into the memory at `to`, and nothing else reads or writes that memory during the call.
unsafe fn transpose(to: *mut f32, to_row: usize, add: bool, b: Matrix<'_>) {
    /// Number of contiguous columns that are read together, so that every cache line is written once.
    const BLOCK: usize = 16;
    for first in (0..b.columns).step_by(BLOCK) {
        let count = BLOCK.min(b.columns - first);
        for row in 0..b.rows {
            for column in first..first + count {
                let value = b.values[column * b.column_stride + row * b.row_stride];
                // SAFETY: element (row, column) of the memory that the caller guarantees.
                unsafe {
                    let at = to.add(row * to_row + column);
                    *at = if add { *at + value } else { value };
                }
            }
        }
    }
}
