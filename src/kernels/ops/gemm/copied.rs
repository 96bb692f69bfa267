//! [`with_right`] copies the right matrix of several products once; [`TiledRight`] multiplies a left matrix where it is.
#![cfg_attr(
    all(target_arch = "x86_64", feature = "x86-v4"),
    expect(unsafe_code, reason = "intrinsics; lengths are checked before")
)]
#![cfg_attr(
    not(all(target_arch = "x86_64", feature = "x86-v4")),
    expect(unused_variables, reason = "there is no such product")
)]

use super::instruction::{Bf16Products, SIDE, bf16_products};
use super::right::{DEPTHS, Right, RightCopy};
use super::{Accumulate, Matrix, MatrixMut};
use crate::device::Arithmetic;
use crate::ops::parallel::{ELEMENTWISE_LEN, for_each_chunk_if};
use crate::ops::scratch::with_scratch;

/// The largest matrix that is copied for several products; a larger one does not stay in a cache.
const VALUES: usize = 1 << 22;

impl Right<'_> {
    /// AMX products of parts of this matrix, `rows` rows each, with matrices of bf16 values, whose rows begin `row_stride`
    /// values apart. `None` without AMX or a copy, if `rows` is no multiple of a tile's depth, or for an odd stride.
    pub fn tiles(self, rows: usize, row_stride: usize) -> Option<TiledRight> {
        let is_tiled = self.copy.is_some() && bf16_products() == Some(Bf16Products::Amx);
        let fits = rows.is_multiple_of(DEPTHS) && row_stride.is_multiple_of(2);
        (is_tiled && fits).then_some(TiledRight(()))
    }
}

/// Products by AMX's tiles that read their left matrix where it is, without a copy.
#[derive(Debug, Clone, Copy)]
pub struct TiledRight(());

impl TiledRight {
    /// Rows of the left matrix are read in multiples of this; the content after the last row is irrelevant.
    pub const ROWS: usize = SIDE;

    /// Rounds `from` to bf16 into `to`.
    ///
    /// # Panics
    /// When they differ in length.
    pub fn round(self, to: &mut [u16], from: &[f32]) {
        assert_eq!(to.len(), from.len(), "as many values");
        #[cfg(all(target_arch = "x86_64", feature = "x86-v4"))]
        // SAFETY: the CPU has the instructions, or there would be no `self`.
        unsafe {
            super::pairs::round(to, from);
        }
    }

    /// `C = A · B` or `C += A · B` for bf16 values `a`, whose rows begin a stride apart, and a B with a copy.
    ///
    /// # Panics
    /// When the dimensions do not agree, or A is too short for a multiple of [`TiledRight::ROWS`] rows.
    pub fn product(
        self,
        c: &mut MatrixMut<'_>,
        accumulate: Accumulate,
        (a, a_row): (&[u16], usize),
        b: Right<'_>,
    ) {
        let (k, n) = b.size();
        let rows = c.rows.next_multiple_of(Self::ROWS);
        assert!(
            n == c.columns && a.len() >= super::needed(rows, k, a_row) && k.is_multiple_of(DEPTHS),
            "a product of matrices that fit"
        );
        #[cfg(all(target_arch = "x86_64", feature = "x86-v4"))]
        if let Some(copy) = b.copy {
            // SAFETY: the CPU has the instructions, or there would be no `self`; A and C hold what is read and written.
            unsafe {
                let c_at = (c.values.as_mut_ptr(), c.row_stride, accumulate);
                super::pairs::tiled_product((c.rows, n, k), c_at, (a.as_ptr(), a_row), copy);
            }
        }
    }
}

/// Calls `work` with B, `for_several` products with a copy if they are in bf16 by an instruction of the CPU.
pub fn with_right<R>(
    arithmetic: Arithmetic,
    b: Matrix<'_>,
    for_several: bool,
    work: impl FnOnce(Right<'_>) -> R,
) -> R {
    let len = b.rows * b.columns;
    let by = bf16_products().filter(|_| for_several && arithmetic == Arithmetic::Bfloat);
    let Some(by) = by.filter(|_| (1..=VALUES).contains(&len)) else {
        return work(b.into());
    };
    let panel = by.panel();
    let panel_len = b.rows.next_multiple_of(DEPTHS) / 2 * panel;
    with_scratch(panel_len * b.columns.div_ceil(panel), |pairs| {
        for_each_chunk_if(len >= ELEMENTWISE_LEN, pairs, panel_len, |start, pairs| {
            let first = start / panel_len * panel;
            let columns = b.column_range(first, panel.min(b.columns - first));
            #[cfg(all(target_arch = "x86_64", feature = "x86-v4"))]
            // SAFETY: `pairs` has room for a panel; the CPU has the instructions of either variant.
            unsafe {
                super::pairs::copy_right(pairs.as_mut_ptr().cast(), panel, columns);
            }
        });
        let copied = RightCopy {
            pairs,
            panel,
            panel_len,
        };
        work(Right {
            matrix: b,
            copy: Some(copied),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::gemm::product_in;
    use crate::ops::testing::filled;

    #[test]
    fn a_copy_made_for_several_products_changes_no_bit() {
        let arithmetic = Arithmetic::Bfloat;
        for (m, n, k) in [(5, 70, 96), (33, 32, 1120), (16, 5, 33)] {
            let (a, b) = (filled(m * k, 1), filled(k * n, 2));
            let a = Matrix::new(&a, m, k);
            for b in [Matrix::new(&b, k, n), Matrix::new(&b, n, k).transposed()] {
                let result = |a: Matrix<'_>, b: Right<'_>| {
                    let mut c = vec![f32::NAN; m * n];
                    let mut target = MatrixMut::new(&mut c, m, n);
                    product_in(arithmetic, &mut target, Accumulate::Replace, a, b);
                    c
                };
                let part = (32, k - 32);
                let (rest, own) = (a.column_range(part.0, part.1), b.row_range(part.0, part.1));
                let [whole, some] = with_right(arithmetic, b, true, |b| {
                    [result(a, b), result(rest, b.row_range(part.0, part.1))]
                });
                assert_eq!(whole, result(a, b.into()));
                assert_eq!(some, result(rest, own.into()));
            }
        }
    }

    #[test]
    fn tiles_read_a_rounded_matrix_where_it_is() {
        let (m, n, k, step) = (37_usize, 40, 64, 48);
        let rows = m.next_multiple_of(TiledRight::ROWS);
        let (a, b) = (filled(rows * step + k, 1), filled(k * n, 2));
        let (of_a, of_b) = (Matrix::strided(&a, m, k, step), Matrix::new(&b, k, n));
        let mut wanted = vec![f32::NAN; m * n];
        let mut target = MatrixMut::new(&mut wanted, m, n);
        product_in(
            Arithmetic::Bfloat,
            &mut target,
            Accumulate::Replace,
            of_a,
            of_b,
        );
        with_right(Arithmetic::Bfloat, of_b, true, |b| {
            let Some(tiles) = b.tiles(k, step) else {
                eprintln!("skipped: this CPU has no AMX");
                return;
            };
            let mut rounded = vec![0; a.len()];
            tiles.round(&mut rounded, &a);
            let mut c = vec![f32::NAN; m * n];
            let mut target = MatrixMut::new(&mut c, m, n);
            tiles.product(&mut target, Accumulate::Replace, (&rounded, step), b);
            assert_eq!(c, wanted);
        });
    }
}
