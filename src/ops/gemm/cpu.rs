//! The one call into the crate `gemm`, and how products are cut for threads.
#![expect(
    unsafe_code,
    reason = "the crate `gemm` takes raw pointers; the views checked their bounds"
)]

use super::{Into, Matrix, MatrixMut};
use crate::ops::parallel::{PRODUCT_FLOP, add_assign, for_each_chunk_if};
use crate::ops::scratch::with_scratch;

/// Rows of a chunk, about: enough that packing the right matrix once per chunk is lost in the product.
const ROWS: usize = 256;
/// Depth of a segment of [`transposed_product`], about, and the largest number of segments.
const DEPTH: usize = 512;
const SEGMENTS: usize = 8;
/// Result rows of a block of [`transposed_product`], about.
const BLOCK: usize = 64;

/// `C = A · B` or `C += A · B` on the calling thread.
///
/// # Panics
/// When the dimensions do not agree.
pub fn product(c: &mut MatrixMut<'_>, into: Into, a: Matrix<'_>, b: Matrix<'_>) {
    assert!(
        a.rows == c.rows && b.columns == c.columns && a.columns == b.rows,
        "a product of matrices that fit"
    );
    // SAFETY: a view can only be made (and cut) over a slice that holds all of its elements: `needed` or fewer values
    // are reached through its strides, and a transposed view reaches the same elements. `c` borrows its slice mutably,
    // so it overlaps neither `a` nor `b`, and its rows do not overlap each other. Strides fit `isize`, as slice lengths do.
    unsafe {
        gemm::gemm(
            c.rows,
            c.columns,
            a.columns,
            c.values.as_mut_ptr(),
            1,
            c.row_stride.cast_signed(),
            into == Into::Add,
            a.values.as_ptr(),
            a.column_stride.cast_signed(),
            a.row_stride.cast_signed(),
            b.values.as_ptr(),
            b.column_stride.cast_signed(),
            b.row_stride.cast_signed(),
            1.0,
            1.0,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// `C = A · B` or `C += A · B` with C's rows cut into chunks for threads; `finish(first_row, rows)` is called on each
/// chunk of C while it is still in the cache.
///
/// # Panics
/// When the dimensions do not agree.
pub fn rows_product(
    c: &mut [f32],
    into: Into,
    a: Matrix<'_>,
    b: Matrix<'_>,
    finish: impl Fn(usize, &mut [f32]) + Sync,
) {
    let n = b.columns;
    assert_eq!(c.len(), a.rows * n, "a result of the product's size");
    let rows = even_chunk(a.rows, ROWS);
    let large = 2 * a.rows * n * a.columns >= PRODUCT_FLOP;
    for_each_chunk_if(large, c, rows * n, |start, c| {
        let (first, count) = (start / n, c.len() / n);
        product(
            &mut MatrixMut::new(c, count, n),
            into,
            a.row_range(first, count),
            b,
        );
        finish(first, c);
    });
}

/// `C += Aᵀ · B` for tall matrices, as weight gradients are: `a: (k × m)`, `b: (k × n)`, `c: (m × n)`.
///
/// Where the result is small against the factors, the depth k is cut into a fixed number of segments with a partial
/// result each, added in order; otherwise the rows of C are cut.
///
/// # Panics
/// When the dimensions do not agree.
pub fn transposed_product(c: &mut [f32], a: Matrix<'_>, b: Matrix<'_>) {
    let (k, m, n) = (a.rows, a.columns, b.columns);
    assert!(
        c.len() == m * n && b.rows == k,
        "a product of matrices that fit"
    );
    let segments = (k / DEPTH).clamp(1, SEGMENTS);
    if 2 * m * n * k < PRODUCT_FLOP {
        product(&mut MatrixMut::new(c, m, n), Into::Add, a.transposed(), b);
    } else if segments > 1 && 2 * segments * m * n <= k * (m + n) {
        let depth = k.div_ceil(segments);
        with_scratch(segments * m * n, |partials| {
            for_each_chunk_if(true, partials, m * n, |start, partial| {
                let first = start / (m * n) * depth;
                let count = depth.min(k.saturating_sub(first));
                let (a, b) = (
                    a.row_range(first.min(k), count),
                    b.row_range(first.min(k), count),
                );
                product(
                    &mut MatrixMut::new(partial, m, n),
                    Into::Replace,
                    a.transposed(),
                    b,
                );
            });
            partials
                .chunks_exact(m * n)
                .for_each(|partial| add_assign(c, partial));
        });
    } else {
        let rows = even_chunk(m, BLOCK);
        for_each_chunk_if(true, c, rows * n, |start, c| {
            let count = c.len() / n;
            product(
                &mut MatrixMut::new(c, count, n),
                Into::Add,
                a.transposed().row_range(start / n, count),
                b,
            );
        });
    }
}

/// A chunk length near `about` that cuts `len` into an even number of nearly equal chunks; all of it where it is short.
pub(in crate::ops) fn even_chunk(len: usize, about: usize) -> usize {
    if 2 * len < about {
        len.max(1)
    } else {
        len.div_ceil((len / about).max(1).next_multiple_of(2))
    }
}
