//! Which products the tiles of [`super::tile`] do: those that the crate `gemm` does slowly.
#![expect(
    unsafe_code,
    reason = "tiles take raw pointers; the views checked their bounds"
)]

use super::tile::{Broadcast, Dots, Operands};
use super::{Into, Matrix};
use crate::ops::scratch::with_scratch;
use crate::ops::simd::{VectorLevel, simd_vectors, vector_level};

/// Rows of A up to which packing B costs about as much as the product does; `gemm` packs always.
const FEW_ROWS: usize = 64;
/// Multiply-adds of a product that is small: its matrices stay in the first two caches.
const SMALL: usize = 1 << 21;
/// Rows of A from which on a transposed copy of B costs less than sums across vectors do.
const COPY_ROWS: usize = 64;

/// Does the product if tiles are the better way.
///
/// # Safety
/// As [`super::cpu`]'s `product_at`: all of C's elements lie in memory that nothing else reads or writes meanwhile.
pub(super) unsafe fn try_product(
    c: *mut f32,
    c_row: usize,
    into: Into,
    a: Matrix<'_>,
    b: Matrix<'_>,
) -> bool {
    let (m, n, k) = (a.rows, b.columns, a.columns);
    let is_small = m <= FEW_ROWS || m * n * k <= SMALL;
    // Without vectors `gemm` still has its own.
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
        add: into == Into::Add,
        ahead: false,
        cold: false,
    };
    // SAFETY: a view can only be made (and cut) over a slice that holds all of its elements; for C the caller promises it.
    unsafe {
        if n == 1 && c_row == 1 && a.row_stride == 1 {
            // The transposed product, whose row of results is contiguous.
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
            simd_vectors(Broadcast::new(operands));
        } else if a.column_stride == 1
            && b.row_stride == 1
            && (n == 1 || m < COPY_ROWS && k >= COPY_ROWS)
        {
            let b_step = b.column_stride;
            simd_vectors(Dots::new(Operands { b_step, ..operands }));
        } else if b.column_stride == 1 {
            simd_vectors(Broadcast::new(operands));
        } else if b.row_stride == 1 {
            with_scratch(k * n, |copy| {
                transpose(copy, b);
                let (b, b_step) = (copy.as_ptr(), n);
                simd_vectors(Broadcast::new(Operands {
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

/// Copies `b`, whose columns are contiguous, row by row.
fn transpose(copy: &mut [f32], b: Matrix<'_>) {
    /// Columns that are read side by side, so that every line of the cache is written once.
    const BLOCK: usize = 16;
    for first in (0..b.columns).step_by(BLOCK) {
        let count = BLOCK.min(b.columns - first);
        for (row, copy) in copy.chunks_exact_mut(b.columns).enumerate() {
            for (column, value) in copy[first..first + count].iter_mut().enumerate() {
                *value = b.values[(first + column) * b.column_stride + row];
            }
        }
    }
}
