//! [`with_right_matrix`] copies the right matrix of several products once for all of them; [`AmxProducts`] reads the
//! left matrix in place.
#![cfg_attr(
    all(target_arch = "x86_64", feature = "x86-v4"),
    expect(unsafe_code, reason = "intrinsics; lengths are checked before")
)]
#![cfg_attr(
    not(all(target_arch = "x86_64", feature = "x86-v4")),
    expect(unused_variables, reason = "there is no such product")
)]

use super::instruction::{AMX_PANEL, Bf16Products, bf16_products};
use super::right::{DEPTH_MULTIPLE, RightCopy, RightMatrix};
use super::{Matrix, MatrixMut};
use crate::device::Arithmetic;
use crate::ops::parallel::{MIN_PARALLEL_LEN, for_each_chunk_if};
use crate::ops::scratch::with_scratch;

/// Largest number of values of a matrix that is copied; a larger copy would not stay in a cache.
const VALUES: usize = 1 << 22;

impl RightMatrix<'_> {
    /// AMX products of parts of this matrix, `rows` rows each, with left matrices of bf16 values whose rows begin
    /// `row_stride` values apart. `None` without AMX, without a copy of this matrix, if `rows` is no multiple of 32, or
    /// if `row_stride` is odd.
    pub fn tiles(self, rows: usize, row_stride: usize) -> Option<AmxProducts> {
        let is_tiled = self.copy.is_some() && bf16_products() == Some(Bf16Products::Amx);
        let fits = rows.is_multiple_of(DEPTH_MULTIPLE) && row_stride.is_multiple_of(2);
        (is_tiled && fits).then_some(AmxProducts(()))
    }
}

/// Products on AMX's tiles that read the left matrix in place; made by [`RightMatrix::tiles`].
#[derive(Debug, Clone, Copy)]
pub struct AmxProducts(());

impl AmxProducts {
    /// The rows of the left matrix are read in multiples of this number; the values after the last row do not matter.
    pub const ROWS: usize = AMX_PANEL;

    /// Writes `from`, rounded to bf16, to `to`.
    ///
    /// # Panics
    /// When the slices differ in length.
    pub fn round(self, to: &mut [u16], from: &[f32]) {
        assert_eq!(to.len(), from.len(), "as many values");
        #[cfg(all(target_arch = "x86_64", feature = "x86-v4"))]
        // SAFETY: the CPU has the instructions, or there would be no `self`.
        unsafe {
            super::pairs::round(to, from);
        }
    }

    /// `C = Σ_i A_i · B_i`, where the `B_i` are equal parts of the rows of `b`, which must have a copy, one for each
    /// entry of `starts`. `A_i` has the bf16 values of `a` from index `starts[i]` on; its rows begin `a_row` values
    /// apart.
    ///
    /// # Panics
    /// When the dimensions do not agree, or `a` is too short for a multiple of [`AmxProducts::ROWS`] rows.
    pub fn product(
        self,
        c: &mut MatrixMut<'_>,
        (a, a_row): (&[u16], usize),
        starts: &[usize],
        b: RightMatrix<'_>,
    ) {
        let (k, n) = (b.rows / starts.len(), b.columns);
        let rows = c.rows.next_multiple_of(Self::ROWS);
        let last = starts.iter().copied().max().unwrap_or_default();
        assert!(
            n == c.columns
                && k.is_multiple_of(DEPTH_MULTIPLE)
                && k * starts.len() == b.rows
                && a.len() >= last + super::needed(rows, k, a_row),
            "products of matrices that fit"
        );
        #[cfg(all(target_arch = "x86_64", feature = "x86-v4"))]
        if let Some(copy) = b.copy {
            // SAFETY: the CPU has the instructions, or there would be no `self`; A and C hold what is read and written.
            unsafe {
                let c_at = (c.values.as_mut_ptr(), c.row_stride);
                super::pairs::tiled_product((c.rows, n, k), c_at, (a, a_row), starts, copy);
            }
        }
    }
}

/// Calls `work` with the right matrix B of products. With `for_several`, and if products are in bf16 by an instruction
/// of the CPU, B comes with a copy that all products of `work` read.
pub fn with_right_matrix<R>(
    arithmetic: Arithmetic,
    b: Matrix<'_>,
    for_several: bool,
    work: impl FnOnce(RightMatrix<'_>) -> R,
) -> R {
    match copied_by(arithmetic, b.rows * b.columns, for_several) {
        None => work(b.into()),
        Some(by) => with_copy(by, &[b], |copy| {
            let matrix = Some(b);
            work(RightMatrix { matrix, ..copy })
        }),
    }
}

/// As [`with_right_matrix`], for the matrix that consists of `parts`, all of one size, one below the other.
pub fn with_stacked_right<R>(
    arithmetic: Arithmetic,
    parts: &[Matrix<'_>],
    for_several: bool,
    work: impl FnOnce(RightMatrix<'_>) -> R,
) -> R {
    let (rows, columns) = parts
        .first()
        .map_or((0, 0), |part| (part.rows, part.columns));
    let len = parts.len() * rows * columns;
    let by =
        copied_by(arithmetic, len, for_several).filter(|_| rows.is_multiple_of(DEPTH_MULTIPLE));
    if let Some(by) = by {
        return with_copy(by, parts, work);
    }
    with_scratch(len, |joined| {
        stack_rows(parts, joined);
        let joined = Matrix::new(joined, parts.len() * rows, columns);
        with_right_matrix(arithmetic, joined, for_several, work)
    })
}

/// Writes `parts`, all of one size, one below the other with contiguous rows, in blocks of 16 × 16 values that stay in
/// the cache.
///
/// # Panics
/// When the length of `joined` is not that of all parts together.
pub fn stack_rows(parts: &[Matrix<'_>], joined: &mut [f32]) {
    const SIDE: usize = 16;
    let Some(&Matrix { rows, columns, .. }) = parts.first() else {
        return;
    };
    assert_eq!(
        joined.len(),
        parts.len() * rows * columns,
        "length of the joined parts"
    );
    let large = joined.len() >= MIN_PARALLEL_LEN;
    for_each_chunk_if(large, joined, rows * columns, |start, to| {
        let part = parts[start / (rows * columns)];
        for (i, j) in (0..rows)
            .step_by(SIDE)
            .flat_map(|i| (0..columns).step_by(SIDE).map(move |j| (i, j)))
        {
            for row in i..(i + SIDE).min(rows) {
                for column in j..(j + SIDE).min(columns) {
                    to[row * columns + column] =
                        part.values[row * part.row_stride + column * part.column_stride];
                }
            }
        }
    });
}

/// The bf16 instruction whose products read a copy of a right matrix of `len` values; `None` if none is copied.
fn copied_by(arithmetic: Arithmetic, len: usize, for_several: bool) -> Option<Bf16Products> {
    let is_copied = for_several && arithmetic == Arithmetic::Bfloat && (1..=VALUES).contains(&len);
    bf16_products().filter(|_| is_copied)
}

/// Calls `work` with a copy of the matrices `parts`, all of one size, one below the other. If there are several, their
/// number of rows must be a multiple of [`DEPTH_MULTIPLE`].
fn with_copy<R>(
    by: Bf16Products,
    parts: &[Matrix<'_>],
    work: impl FnOnce(RightMatrix<'_>) -> R,
) -> R {
    let (rows, columns) = (parts[0].rows, parts[0].columns);
    let panel = by.panel();
    let part_len = rows.next_multiple_of(DEPTH_MULTIPLE) / 2 * panel;
    let panel_len = parts.len() * part_len;
    with_scratch(panel_len * columns.div_ceil(panel), |pairs| {
        let large = parts.len() * rows * columns >= MIN_PARALLEL_LEN;
        for_each_chunk_if(large, pairs, part_len, |start, pairs| {
            let (first, part) = (start / panel_len * panel, start % panel_len / part_len);
            let part = parts[part].column_range(first, panel.min(columns - first));
            #[cfg(all(target_arch = "x86_64", feature = "x86-v4"))]
            // SAFETY: `pairs` has room for a part's panel; the CPU has the instructions of either variant.
            unsafe {
                super::pairs::copy_right(pairs.as_mut_ptr().cast(), panel, part);
            }
        });
        work(RightMatrix {
            rows: parts.len() * rows,
            columns,
            matrix: None,
            copy: Some(RightCopy {
                pairs,
                panel,
                panel_len,
            }),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::gemm::{Accumulate, matmul_in_arithmetic};
    use crate::ops::testing::random_values;

    #[test]
    fn a_copy_made_for_several_products_changes_no_bit() {
        let arithmetic = Arithmetic::Bfloat;
        for (m, n, k) in [(5, 70, 96), (33, 32, 1120), (16, 5, 33)] {
            let (a, b) = (random_values(m * k, 1), random_values(k * n, 2));
            let a = Matrix::new(&a, m, k);
            for b in [Matrix::new(&b, k, n), Matrix::new(&b, n, k).transposed()] {
                let result = |a: Matrix<'_>, b: RightMatrix<'_>| {
                    let mut c = vec![f32::NAN; m * n];
                    let mut target = MatrixMut::new(&mut c, m, n);
                    matmul_in_arithmetic(arithmetic, &mut target, Accumulate::Replace, a, b);
                    c
                };
                let part = (32, k - 32);
                let (rest, own) = (a.column_range(part.0, part.1), b.row_range(part.0, part.1));
                let [whole, some] = with_right_matrix(arithmetic, b, true, |b| {
                    [result(a, b), result(rest, b.row_range(part.0, part.1))]
                });
                assert_eq!(whole, result(a, b.into()));
                assert_eq!(some, result(rest, own.into()));
            }
        }
    }

    #[test]
    fn a_copy_of_stacked_matrices_is_that_of_the_joined_one() {
        let (m, n, k) = (35, 40, 64);
        let (a, b) = (random_values(m * 2 * k, 1), random_values(2 * k * n, 2));
        let a = Matrix::new(&a, m, 2 * k);
        let parts = [&b[k * n..], &b[..k * n]].map(|part| Matrix::new(part, n, k).transposed());
        let mut joined = Vec::new();
        for part in parts {
            let rows = (0..k).flat_map(|p| (0..n).map(move |j| part.values[j * k + p]));
            joined.extend(rows);
        }
        let result = |b: RightMatrix<'_>| {
            let mut c = vec![f32::NAN; m * n];
            let mut target = MatrixMut::new(&mut c, m, n);
            matmul_in_arithmetic(Arithmetic::Bfloat, &mut target, Accumulate::Replace, a, b);
            c
        };
        for for_several in [false, true] {
            let c = with_stacked_right(Arithmetic::Bfloat, &parts, for_several, result);
            assert_eq!(c, result(Matrix::new(&joined, 2 * k, n).into()));
        }
    }

    #[test]
    fn tiles_read_parts_of_a_rounded_matrix_where_they_are() {
        // One part in one pass; several parts in one pass; several passes per part.
        for (count, depth) in [(1, 64), (3, 224), (2, 1312)] {
            let (m, n, k) = (37_usize, 40, count * depth);
            let step = k - 16;
            let rows = m.next_multiple_of(AmxProducts::ROWS);
            let (a, b) = (random_values(rows * step + k, 1), random_values(k * n, 2));
            let (of_a, of_b) = (Matrix::strided(&a, m, k, step), Matrix::new(&b, k, n));
            let starts: Vec<_> = (0..count).map(|part| part * depth).collect();
            let mut wanted = vec![f32::NAN; m * n];
            let mut target = MatrixMut::new(&mut wanted, m, n);
            let replace = Accumulate::Replace;
            matmul_in_arithmetic(Arithmetic::Bfloat, &mut target, replace, of_a, of_b);
            with_right_matrix(Arithmetic::Bfloat, of_b, true, |b| {
                let Some(tiles) = b.tiles(depth, step) else {
                    eprintln!("skipped: this CPU has no AMX");
                    return;
                };
                let mut rounded = vec![0; a.len()];
                tiles.round(&mut rounded, &a);
                let mut c = vec![f32::NAN; m * n];
                let mut target = MatrixMut::new(&mut c, m, n);
                tiles.product(&mut target, (&rounded, step), &starts, b);
                assert_eq!(c, wanted);
            });
        }
    }
}
