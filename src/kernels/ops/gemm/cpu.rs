//! Matrix products in the arithmetics of the CPU, and how they are split over threads.
#![expect(
    unsafe_code,
    reason = "threads write columns of one result; the views checked their bounds"
)]

use super::single::product_f32_at;
use super::{Accumulate, Matrix, MatrixMut, RightMatrix, bf16, with_right_matrix};
use crate::device::{Arithmetic, cpu_arithmetic};
use crate::ops::chunks::rows_per_chunk;
use crate::ops::parallel::{
    MIN_PARALLEL_FLOP, MIN_PARALLEL_LEN, add_assign, for_each_chunk_if, for_each_index,
    for_each_zipped,
};
use crate::ops::scratch::with_scratch;

/// Approximate number of rows of C per chunk: packing the right matrix once per chunk costs little then.
const ROWS: usize = 256;
/// Approximate depth of a segment of [`matmul_transposed_a`], and the largest number of segments.
const DEPTH: usize = 512;
const SEGMENTS: usize = 8;
/// Approximate number of rows and largest number of values of a block of results in [`matmul_transposed_a`]; it stays
/// in the L2 cache.
const BLOCK: usize = 64;
const BLOCK_VALUES: usize = 1 << 17;
/// Approximate number of columns per block if [`matmul_by_rows`] cuts columns, and the multiple at which blocks begin.
const COLUMNS: usize = 1024;
const VECTOR: usize = 16;

/// `C = A · B` or `C += A · B` in `f32` on the calling thread.
///
/// # Panics
/// When the dimensions do not agree.
pub fn product(c: &mut MatrixMut<'_>, accumulate: Accumulate, a: Matrix<'_>, b: Matrix<'_>) {
    matmul_in_arithmetic(Arithmetic::Single, c, accumulate, a, b);
}

/// As [`product`], in a given arithmetic.
///
/// # Panics
/// When the dimensions do not agree.
pub fn matmul_in_arithmetic<'b>(
    arithmetic: Arithmetic,
    c: &mut MatrixMut<'_>,
    accumulate: Accumulate,
    a: Matrix<'_>,
    b: impl Into<RightMatrix<'b>>,
) {
    let b = b.into();
    assert!(
        a.rows == c.rows && (a.columns, c.columns) == b.size(),
        "a product of matrices that fit"
    );
    // SAFETY: `c` borrows its slice mutably, so it overlaps neither `a` nor `b`, and it holds all of its elements.
    unsafe {
        product_at(
            arithmetic,
            c.values.as_mut_ptr(),
            c.row_stride,
            accumulate,
            a,
            b,
        );
    }
}

/// `C = A · B` or `C += A · B` for a row-major C at `c`, whose rows begin `row_stride` values apart.
///
/// # Safety
/// C's elements must not overlap each other, and nothing else may read or write them during the call.
unsafe fn product_at(
    arithmetic: Arithmetic,
    c: *mut f32,
    row_stride: usize,
    accumulate: Accumulate,
    a: Matrix<'_>,
    b: RightMatrix<'_>,
) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        match arithmetic {
            Arithmetic::Bfloat => bf16::product_at(c, row_stride, accumulate, a, b),
            _ => product_f32_at(c, row_stride, accumulate, a, b.matrix()),
        }
    }
}

/// `C = A · B` or `C += A · B` with C's rows cut into chunks for threads, in the arithmetic of the calling thread.
/// Calls `finish(first_row, rows)` for each chunk of C while it is in the cache. If there are too few rows, C's columns
/// are cut instead.
///
/// # Panics
/// When the dimensions do not agree.
pub fn matmul_by_rows(
    c: &mut [f32],
    accumulate: Accumulate,
    a: Matrix<'_>,
    b: Matrix<'_>,
    finish: impl Fn(usize, &mut [f32]) + Sync,
) {
    matmul_by_rows_zipped([c], accumulate, a, b, |first, [rows]| finish(first, rows));
}

/// As [`matmul_by_rows`]; the product is written to the first of several outputs of equal size, and `finish` gets the
/// chunks of all.
///
/// # Panics
/// When the dimensions do not agree.
pub fn matmul_by_rows_zipped<const N: usize>(
    outputs: [&mut [f32]; N],
    accumulate: Accumulate,
    a: Matrix<'_>,
    b: Matrix<'_>,
    finish: impl Fn(usize, [&mut [f32]; N]) + Sync,
) {
    let (n, arithmetic) = (b.columns, cpu_arithmetic());
    let fits = outputs.iter().all(|output| output.len() == a.rows * n);
    assert!(fits, "results of the product's size");
    let rows = even_chunk_len(a.rows, ROWS);
    let work = 2 * a.rows * n * a.columns;
    let finish_in_parallel = N > 1 && a.rows * n >= MIN_PARALLEL_LEN;
    if work >= MIN_PARALLEL_FLOP && rows == a.rows && n >= 2 * VECTOR {
        columns_product(arithmetic, outputs[0], accumulate, a, b);
        let rows = if finish_in_parallel {
            rows_per_chunk(n)
        } else {
            rows
        };
        let outputs = outputs.map(|output| (output, rows * n));
        for_each_zipped(finish_in_parallel, outputs, |index, chunks| {
            finish(index * rows, chunks);
        });
        return;
    }
    let large = work >= MIN_PARALLEL_FLOP || finish_in_parallel;
    with_right_matrix(arithmetic, b, rows < a.rows, |b| {
        let outputs = outputs.map(|output| (output, rows * n));
        for_each_zipped(large, outputs, |index, chunks| {
            let (first, count) = (index * rows, chunks[0].len() / n);
            matmul_in_arithmetic(
                arithmetic,
                &mut MatrixMut::new(chunks[0], count, n),
                accumulate,
                a.row_range(first, count),
                b,
            );
            finish(first, chunks);
        });
    });
}

/// `C = A · B` or `C += A · B` with C's columns cut into blocks for threads; each block reads only its columns of B.
fn columns_product(
    arithmetic: Arithmetic,
    c: &mut [f32],
    accumulate: Accumulate,
    a: Matrix<'_>,
    b: Matrix<'_>,
) {
    let n = b.columns;
    let width = even_chunk_len(n, COLUMNS).next_multiple_of(VECTOR);
    assert_eq!(
        (c.len(), a.columns),
        (a.rows * n, b.rows),
        "a product of matrices that fit"
    );
    let start = Start(c.as_mut_ptr());
    for_each_index(true, n.div_ceil(width), |block| {
        let first = block * width;
        let b = b.column_range(first, width.min(n - first));
        // SAFETY: `c` is borrowed mutably for the whole call and holds `a.rows` rows of n values; a block writes the
        // columns from `first` to below `first + b.columns ≤ n` of each, and no other block has any of them.
        unsafe { product_at(arithmetic, start.at(first), n, accumulate, a, b.into()) }
    });
}

/// Pointer to a result, sent to threads that write different columns.
struct Start(*mut f32);

// SAFETY: the pointer itself does nothing; whoever writes through it justifies the soundness.
unsafe impl Sync for Start {}
// SAFETY: as for `Sync`.
unsafe impl Send for Start {}

impl Start {
    /// The pointer to the value `offset` values further on, within the result.
    fn at(&self, offset: usize) -> *mut f32 {
        self.0.wrapping_add(offset)
    }
}

/// `C += Aᵀ · B` in `f32` for tall matrices; see [`matmul_transposed_a`].
///
/// # Panics
/// When the dimensions do not agree.
pub fn add_matmul_transposed_a(c: &mut [f32], a: Matrix<'_>, b: Matrix<'_>) {
    tall_product_in(Arithmetic::Single, c, Accumulate::Add, a, b, |_, _| ());
}

/// `C = Aᵀ · B` or `C += Aᵀ · B` for tall matrices, as in the gradient of a weight: `a: (k × m)`, `b: (k × n)`,
/// `c: (m × n)`.
///
/// If C is small compared with A and B, the depth k is cut into segments, whose number depends on the shape only; their
/// partial results are added in order. Otherwise the rows of C are cut. Calls `finish(first_row, rows)` for each chunk
/// of C while it is in the cache. The arithmetic is that of the calling thread.
///
/// # Panics
/// When the dimensions do not agree.
pub fn matmul_transposed_a(
    c: &mut [f32],
    accumulate: Accumulate,
    a: Matrix<'_>,
    b: Matrix<'_>,
    finish: impl Fn(usize, &mut [f32]) + Sync,
) {
    tall_product_in(cpu_arithmetic(), c, accumulate, a, b, finish);
}

fn tall_product_in(
    arithmetic: Arithmetic,
    c: &mut [f32],
    accumulate: Accumulate,
    a: Matrix<'_>,
    b: Matrix<'_>,
    finish: impl Fn(usize, &mut [f32]) + Sync,
) {
    let (k, m, n) = (a.rows, a.columns, b.columns);
    assert!(
        c.len() == m * n && b.rows == k,
        "a product of matrices that fit"
    );
    let segments = (k / DEPTH).clamp(1, SEGMENTS);
    if 2 * m * n * k < MIN_PARALLEL_FLOP {
        let mut c_view = MatrixMut::new(c, m, n);
        matmul_in_arithmetic(arithmetic, &mut c_view, accumulate, a.transposed(), b);
        finish(0, c);
    } else if segments > 1 && 2 * segments * m * n <= k * (m + n) {
        segmented_product(arithmetic, c, accumulate, a, b, segments);
        finish(0, c);
    } else {
        let rows = even_chunk_len(m, BLOCK.min((BLOCK_VALUES / n).max(1)));
        with_right_matrix(arithmetic, b, rows < m, |b| {
            for_each_chunk_if(true, c, rows * n, |start, c| {
                let count = c.len() / n;
                matmul_in_arithmetic(
                    arithmetic,
                    &mut MatrixMut::new(c, count, n),
                    accumulate,
                    a.transposed().row_range(start / n, count),
                    b,
                );
                finish(start / n, c);
            });
        });
    }
}

/// [`matmul_transposed_a`] with the depth cut into `segments` segments.
fn segmented_product(
    arithmetic: Arithmetic,
    c: &mut [f32],
    accumulate: Accumulate,
    a: Matrix<'_>,
    b: Matrix<'_>,
    segments: usize,
) {
    let (k, m, n) = (a.rows, a.columns, b.columns);
    let depth = k.div_ceil(segments);
    with_scratch(segments * m * n, |partials| {
        for_each_chunk_if(true, partials, m * n, |start, partial| {
            let first = start / (m * n) * depth;
            let count = depth.min(k.saturating_sub(first));
            let (a, b) = (
                a.row_range(first.min(k), count),
                b.row_range(first.min(k), count),
            );
            matmul_in_arithmetic(
                arithmetic,
                &mut MatrixMut::new(partial, m, n),
                Accumulate::Replace,
                a.transposed(),
                b,
            );
        });
        sum_partials(c, accumulate, partials);
    });
}

/// Adds the partial results, each as long as `target`, in order; the sum overwrites `target` or is added to it.
pub(in crate::ops) fn sum_partials(target: &mut [f32], accumulate: Accumulate, partials: &[f32]) {
    let mut partials = partials.chunks_exact(target.len());
    if accumulate == Accumulate::Replace
        && let Some(first) = partials.next()
    {
        target.copy_from_slice(first);
    }
    partials.for_each(|partial| add_assign(target, partial));
}

/// Chunk length near `about` that cuts `len` into an even number of nearly equal chunks; `len` itself (at least 1) if
/// it is less than half of `about`.
pub(in crate::ops) fn even_chunk_len(len: usize, about: usize) -> usize {
    if 2 * len < about {
        len.max(1)
    } else {
        len.div_ceil((len / about).max(1).next_multiple_of(2))
    }
}
