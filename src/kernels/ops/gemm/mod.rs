//! Matrix products `C = A · B` on the CPU, over slices with strides.
//!
//! Owns [`Matrix`] (a checked view), [`product`] (one thread) and the two functions for several threads:
//! [`matmul_by_rows`] cuts the rows of C, [`matmul_transposed_a`] the rows of C or the depth of `Aᵀ · B`. The cuts
//! depend on shapes alone, and so do the blocks of the crate `gemm`, so that a product has the same bits on any number
//! of threads.
//!
//! # Work
//! `2 m n k` FLOPs for `(m × k) · (k × n)`.

mod ahead;
mod bf16;
mod copied;
mod cpu;
mod dots;
mod instruction;
#[cfg(all(target_arch = "x86_64", feature = "x86-v4"))]
mod pairs;
mod right;
mod single;
mod small;
mod tile;

use dfdx::tensor::Cpu;

use crate::device::Buffer;

pub use copied::{AmxProducts, stack_rows, with_right_matrix, with_stacked_right};
pub use cpu::{
    add_matmul_transposed_a, matmul_by_rows, matmul_by_rows_zipped, matmul_in_arithmetic,
    matmul_transposed_a, product,
};
pub(super) use cpu::{even_chunk_len, sum_partials};
pub use instruction::{Bf16Products, bf16_products};
pub use right::RightMatrix;

/// A read-only matrix in a slice, with element `(i, j)` at `i · row_stride + j · column_stride`.
///
/// Rows may overlap, as the windows of a convolution do.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// A matrix whose rows are contiguous and begin `row_stride` values apart.
    ///
    /// # Panics
    /// When `values` is too short for the matrix.
    pub fn strided(values: &'a [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        assert!(
            needed(rows, columns, row_stride) <= values.len(),
            "a matrix within its slice"
        );
        Self {
            values,
            rows,
            columns,
            row_stride,
            column_stride: 1,
        }
    }

    /// A matrix whose rows follow each other without gaps.
    ///
    /// # Panics
    /// When `values` is too short for the matrix.
    pub fn new(values: &'a [f32], rows: usize, columns: usize) -> Self {
        Self::strided(values, rows, columns, columns)
    }

    /// The transposed matrix; nothing is copied.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Rows `start..start + count`, as a view.
    ///
    /// # Panics
    /// When the matrix has fewer rows.
    #[must_use]
    pub fn row_range(self, start: usize, count: usize) -> Self {
        assert!(start + count <= self.rows, "rows within the matrix");
        let from = (start * self.row_stride).min(self.values.len());
        Self {
            values: &self.values[from..],
            rows: count,
            ..self
        }
    }

    /// Columns `start..start + count`, as a view.
    ///
    /// # Panics
    /// When the matrix has fewer columns.
    #[must_use]
    pub fn column_range(self, start: usize, count: usize) -> Self {
        self.transposed().row_range(start, count).transposed()
    }
}

/// A mutable matrix in a slice, whose rows are contiguous and begin `row_stride ≥ columns` values apart.
#[derive(Debug)]
pub struct MatrixMut<'a> {
    values: &'a mut [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
}

impl<'a> MatrixMut<'a> {
    /// A mutable matrix whose rows are contiguous and begin `row_stride` values apart.
    ///
    /// # Panics
    /// When `values` is too short, or rows would overlap.
    pub fn strided(values: &'a mut [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        assert!(
            needed(rows, columns, row_stride) <= values.len(),
            "a matrix within its slice"
        );
        assert!(row_stride >= columns, "rows that do not overlap");
        Self {
            values,
            rows,
            columns,
            row_stride,
        }
    }

    /// A mutable matrix whose rows follow each other without gaps.
    ///
    /// # Panics
    /// When `values` is too short for the matrix.
    pub fn new(values: &'a mut [f32], rows: usize, columns: usize) -> Self {
        Self::strided(values, rows, columns, columns)
    }
}

/// Number of values of a slice from the matrix's first element to its last.
fn needed(rows: usize, columns: usize, row_stride: usize) -> usize {
    if rows == 0 || columns == 0 {
        0
    } else {
        (rows - 1) * row_stride + columns
    }
}

/// Whether a result overwrites the old values of its memory or is added to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accumulate {
    /// `C = A · B`; nothing is read from C.
    Replace,
    /// `C += A · B`.
    Add,
}

impl Accumulate {
    /// Whether results are added.
    pub fn adds(self) -> bool {
        self == Self::Add
    }
}

/// Prepares a gradient for code that only adds: fills it with zeros unless its old values are to be kept.
pub(super) fn zeroed_unless_adding(
    (grad, accumulate): (&mut Buffer<Cpu>, Accumulate),
) -> &mut Buffer<Cpu> {
    if !accumulate.adds() {
        grad.fill(0.0);
    }
    grad
}

/// Converts to the argument `adds` of CUDA kernels: 1 for [`Accumulate::Add`], 0 for [`Accumulate::Replace`].
#[cfg(feature = "cuda")]
impl From<Accumulate> for crate::device::cuda::Value {
    fn from(accumulate: Accumulate) -> Self {
        accumulate.adds().into()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::identity;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::device::Arithmetic;
    use crate::ops::simd::{VectorLevel, vector_level};
    use crate::ops::testing::{assert_close, random_values};

    /// The product by the definition, of values converted by `seen`.
    fn naive(a: &Matrix, b: &Matrix, seen: fn(f32) -> f32) -> Vec<f32> {
        let at = |m: &Matrix, i: usize, j: usize| {
            f64::from(seen(m.values[i * m.row_stride + j * m.column_stride]))
        };
        let element = |i, j| {
            (0..a.columns)
                .map(|p| at(a, i, p) * at(b, p, j))
                .sum::<f64>() as f32
        };
        (0..a.rows)
            .flat_map(|i| (0..b.columns).map(move |j| element(i, j)))
            .collect()
    }

    /// Asserts that products of both layouts of A and B, added to a C with gaps between its rows, agree with the
    /// definition for values converted by `seen`, and that the gaps are not written.
    pub(super) fn assert_added(
        arithmetic: Arithmetic,
        (m, n, k): (usize, usize, usize),
        seen: fn(f32) -> f32,
        tolerance: f32,
    ) {
        let (a, b) = (random_values(m * k, 1), random_values(k * n, 2));
        let of_a = [Matrix::new(&a, m, k), Matrix::new(&a, k, m).transposed()];
        let of_b = [Matrix::new(&b, k, n), Matrix::new(&b, n, k).transposed()];
        for (a, b) in of_a.into_iter().flat_map(|a| of_b.map(|b| (a, b))) {
            let mut c = vec![0.5; m * (n + 3)];
            let mut target = MatrixMut::strided(&mut c, m, n, n + 3);
            matmul_in_arithmetic(arithmetic, &mut target, Accumulate::Add, a, b);
            let wanted = naive(&a, &b, seen);
            for (c, wanted) in c.chunks_exact(n + 3).zip(wanted.chunks_exact(n)) {
                let wanted: Vec<f32> = wanted.iter().map(|value| value + 0.5).collect();
                assert_close(&c[..n], &wanted, tolerance);
                assert_eq!(c[n..], [0.5; 3]);
            }
        }
    }

    #[test]
    fn products_of_all_layouts_are_those_of_the_definition() {
        // The last two have enough work for threads but few rows, so that their columns are cut.
        let small = [(1, 1, 1), (3, 5, 17), (17, 1, 3), (1, 17, 5), (40, 33, 70)];
        for (m, n, k) in small.into_iter().chain([(7, 2100, 80), (33, 70, 500)]) {
            let (a, b) = (random_values(m * k, 1), random_values(k * n, 2));
            let pairs = [
                (Matrix::new(&a, m, k), Matrix::new(&b, k, n)),
                (Matrix::new(&a, k, m).transposed(), Matrix::new(&b, k, n)),
                (Matrix::new(&a, m, k), Matrix::new(&b, n, k).transposed()),
            ];
            for (a, b) in pairs {
                let wanted = naive(&a, &b, identity);
                // Sums of more terms have larger rounding errors.
                let tolerance = 1e-5 * (k as f32 / 70.0).max(1.0);
                let mut c = vec![f32::NAN; m * n];
                product(&mut MatrixMut::new(&mut c, m, n), Accumulate::Replace, a, b);
                assert_close(&c, &wanted, tolerance);
                let twice: Vec<f32> = wanted.iter().map(|v| 2.0 * v).collect();
                matmul_by_rows(&mut c, Accumulate::Add, a, b, |_, _| ());
                assert_close(&c, &twice, tolerance);
            }
        }
    }

    #[test]
    fn tiles_that_are_not_full_write_what_is_theirs_and_nothing_else() {
        // Sizes around those of tiles, passes over the depth, and panels; the rows of the result have gaps.
        let sizes = [1, 3, 5, 7, 15, 17, 31, 33, 63, 65, 67, 129];
        for (index, m) in sizes.into_iter().enumerate() {
            let (n, k) = (sizes[(5 * index + 3) % 12], sizes[(7 * index + 1) % 12]);
            for (m, n, k) in [(m, n, k), (m, 1, k), (m, n, 1), (1, n, k), (2, 1100, 2)] {
                assert_added(Arithmetic::Single, (m, n, k), identity, 1e-5);
            }
        }
    }

    #[test]
    fn tiles_give_the_same_bits_wherever_rows_and_columns_are_cut() {
        // On the portable level the crate `gemm` computes the product, in blocks that depend on the shape.
        if vector_level() == VectorLevel::Portable {
            return;
        }
        for (m, n, k) in [(33, 65, 70), (40, 31, 300), (31, 45, 600), (5, 130, 17)] {
            let (a, b) = (random_values(m * k, 1), random_values(k * n, 2));
            for b in [Matrix::new(&b, k, n), Matrix::new(&b, n, k).transposed()] {
                let a = Matrix::new(&a, m, k);
                let mut whole = vec![0.0; m * n];
                product(
                    &mut MatrixMut::new(&mut whole, m, n),
                    Accumulate::Replace,
                    a,
                    b,
                );
                let (rows, columns) = (m / 3, n / 3);
                let mut part = vec![0.0; rows * columns];
                let mut at = MatrixMut::new(&mut part, rows, columns);
                let a = a.row_range(m - rows, rows);
                product(&mut at, Accumulate::Replace, a, b.column_range(2, columns));
                for (i, part) in part.chunks_exact(columns).enumerate() {
                    let from = (m - rows + i) * n + 2;
                    assert_eq!(part, &whole[from..from + columns]);
                }
            }
        }
    }

    #[test]
    fn overlapping_rows_are_read_as_windows() {
        let signal = [1.0, 2.0, 3.0, 4.0];
        let mut sums = [0.0; 3];
        let ones = [1.0, 1.0];
        product(
            &mut MatrixMut::new(&mut sums, 3, 1),
            Accumulate::Replace,
            Matrix::strided(&signal, 3, 2, 1),
            Matrix::new(&ones, 2, 1),
        );
        assert_close(&sums, &[3.0, 5.0, 7.0], 0.0);
    }

    #[test]
    fn a_transposed_product_is_the_same_however_it_is_cut() {
        // One shape per algorithm: on one thread, depth cut into segments, rows cut into chunks.
        for (m, n, k) in [(3, 5, 17), (8, 16, 9000), (130, 70, 600)] {
            let (a, b) = (random_values(k * m, 1), random_values(k * n, 2));
            let (a, b) = (Matrix::new(&a, k, m), Matrix::new(&b, k, n));
            let mut c = vec![1.0; m * n];
            add_matmul_transposed_a(&mut c, a, b);
            let mut again = vec![f32::NAN; m * n];
            let found: Vec<_> = (0..m).map(|_| AtomicUsize::new(0)).collect();
            matmul_transposed_a(&mut again, Accumulate::Replace, a, b, |first, rows| {
                for (row, found) in rows.chunks_exact(n).zip(&found[first..]) {
                    assert!(row.iter().all(|value| value.is_finite()));
                    found.fetch_add(1, Ordering::Relaxed);
                }
            });
            let found = found.into_iter().map(AtomicUsize::into_inner);
            assert!(found.eq(vec![1; m]), "every row is told of once");
            for value in &mut again {
                *value += 1.0;
            }
            assert_close(&again, &c, 1e-5);
            let wanted: Vec<f32> = naive(&a.transposed(), &b, identity)
                .iter()
                .map(|v| v + 1.0)
                .collect();
            assert_close(&c, &wanted, 1e-4);
        }
    }

    #[test]
    #[should_panic(expected = "a matrix within its slice")]
    fn a_matrix_larger_than_its_slice_is_refused() {
        let _ = Matrix::new(&[0.0; 5], 2, 3);
    }
}
