//! Products in `f32`: calls the crate `gemm-f32`, except for the products that [`super::small`] computes.
#![expect(
    unsafe_code,
    reason = "the crate `gemm-f32` takes raw pointers; the views checked their bounds"
)]

use super::small::try_product;
use super::{Accumulate, Matrix};

/// `C = A · B` or `C += A · B` for a row-major C at `c`, whose rows begin `row_stride` values apart.
///
/// # Safety
/// C's elements must not overlap each other, and nothing else may read or write them during the call.
pub(super) unsafe fn product_f32_at(
    c: *mut f32,
    row_stride: usize,
    accumulate: Accumulate,
    a: Matrix<'_>,
    b: Matrix<'_>,
) {
    // SAFETY: the caller guarantees it for C.
    if unsafe { try_product(c, row_stride, accumulate, a, b) } {
        return;
    }
    // `gemm` needs a C with contiguous columns, so it computes Cᵀ = Bᵀ · Aᵀ.
    // SAFETY: a view can only be made (and cut) over a slice that holds all of its elements: `needed` or fewer values
    // are reached through its strides, and a transposed view reaches the same elements. For `c` the caller guarantees it.
    // Strides fit `isize`, as slice lengths do.
    unsafe {
        gemm_f32::gemm::f32::get_gemm_fn()(
            b.columns,
            a.rows,
            a.columns,
            c,
            row_stride.cast_signed(),
            1,
            accumulate.adds(),
            b.values.as_ptr(),
            b.row_stride.cast_signed(),
            b.column_stride.cast_signed(),
            a.values.as_ptr(),
            a.row_stride.cast_signed(),
            a.column_stride.cast_signed(),
            1.0,
            1.0,
            false,
            false,
            false,
            gemm_common::Parallelism::None,
        );
    }
}
