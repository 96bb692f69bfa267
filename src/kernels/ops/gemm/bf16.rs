//! Products of values rounded to bf16 (round to nearest even) with sums in `f32`.
//!
//! They are computed by an instruction of the CPU ([`super::Bf16Products`]) on copies of the operands in pairs of
//! neighbouring depths ([`super::pairs`]). On CPUs without such an instruction the operands are rounded copies in
//! `f32`: results differ only by the order of sums, and the products are no faster than in `f32`.
//!
//! # Source
//! Intel, "Instruction Set Extensions Programming Reference", `VDPBF16PS`, `TDPBF16PS`: inputs and results below 2⁻¹²⁶ are zero.
#![expect(
    unsafe_code,
    reason = "results are written through raw pointers, since threads write columns of them"
)]

#[cfg(any(test, all(target_arch = "x86_64", feature = "x86-v4")))]
use super::instruction::bf16_products;
use super::single::product_f32_at;
use super::{Accumulate, Matrix, RightMatrix};
use crate::ops::scratch::with_scratch;

/// `C = A · B` or `C += A · B` of values rounded to bf16.
///
/// # Safety
/// As [`product_f32_at`].
pub(super) unsafe fn product_at(
    c: *mut f32,
    c_row: usize,
    accumulate: Accumulate,
    a: Matrix<'_>,
    b: RightMatrix<'_>,
) {
    if a.rows == 0 || b.size().1 == 0 {
        return;
    }
    #[cfg(all(target_arch = "x86_64", feature = "x86-v4"))]
    if let Some(by) = bf16_products() {
        // SAFETY: the CPU has the instructions; for C the caller guarantees it.
        return unsafe { super::pairs::product_at(by, c, c_row, accumulate, a, b) };
    }
    with_rounded(a, |a| {
        with_rounded(b.matrix(), |b| {
            // SAFETY: guaranteed by the caller.
            unsafe { product_f32_at(c, c_row, accumulate, a, b) }
        });
    });
}

/// Calls `work` with a copy of `matrix` whose values are rounded to bf16.
fn with_rounded<R>(matrix: Matrix<'_>, work: impl FnOnce(Matrix<'_>) -> R) -> R {
    let across = matrix.column_stride != 1;
    let rows = if across { matrix.transposed() } else { matrix };
    with_scratch(rows.rows * rows.columns, |copy| {
        for (row, copy) in copy.chunks_exact_mut(rows.columns.max(1)).enumerate() {
            let values = &rows.values[row * rows.row_stride..][..rows.columns];
            for (copy, value) in copy.iter_mut().zip(values) {
                *copy = rounded(*value);
            }
        }
        let copy = Matrix::new(copy, rows.rows, rows.columns);
        work(if across { copy.transposed() } else { copy })
    })
}

/// `value` rounded to bf16, to nearest even; NaN stays NaN.
fn rounded(value: f32) -> f32 {
    if value.is_nan() {
        return value;
    }
    let bits = value.to_bits();
    f32::from_bits((bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff_0000)
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_added;
    use super::super::{MatrixMut, matmul_in_arithmetic};
    use super::*;
    use crate::device::Arithmetic;
    use crate::ops::testing::random_values;

    #[test]
    fn values_are_rounded_to_the_nearest_with_seven_bits_of_fraction() {
        // `torch.tensor([...]).bfloat16().float()`, PyTorch 2.15.
        let values = [1.0, 1.003_906_3, 1.011_718_8, 3.3, -1e-3, 65_504.0, 3.4e38];
        let wanted = [1.0, 1.0, 1.015_625, 3.296_875, -0.000_999_450_7, 65_536.0];
        for (value, wanted) in values.into_iter().zip(wanted) {
            assert_eq!(rounded(value).to_bits(), f32::to_bits(wanted), "{value}");
        }
        assert!(rounded(values[6]).is_infinite() && rounded(f32::NAN).is_nan());
    }

    #[test]
    fn products_of_all_layouts_are_those_of_rounded_values() {
        let sizes = [1, 2, 5, 6, 7, 15, 16, 17, 33, 64, 65, 130];
        for (index, m) in sizes.into_iter().enumerate() {
            let (n, k) = (sizes[(5 * index + 3) % 12], sizes[(7 * index + 1) % 12]);
            for (m, n, k) in [
                (m, n, k),
                (m, 1, k),
                (m, n, 1),
                (1, n, k),
                (7, 66, 2100),
                (530, 3, 5),
            ] {
                let tolerance = 1e-5 * (k as f32 / 70.0).max(1.0);
                assert_added(Arithmetic::Bfloat, (m, n, k), rounded, tolerance);
            }
        }
    }

    #[test]
    fn a_row_has_the_same_bits_in_any_product() {
        for (m, n, k) in [(33, 65, 70), (5, 130, 1100), (600, 20, 8)] {
            let (a, b) = (random_values(m * k, 1), random_values(k * n, 2));
            let (a, b) = (Matrix::new(&a, m, k), Matrix::new(&b, k, n));
            let result = |a: Matrix<'_>| {
                let mut c = vec![f32::NAN; a.rows * n];
                let mut target = MatrixMut::new(&mut c, a.rows, n);
                matmul_in_arithmetic(Arithmetic::Bfloat, &mut target, Accumulate::Replace, a, b);
                c
            };
            if bf16_products().is_some() {
                let (whole, rows) = (result(a), m / 3);
                assert_eq!(result(a.row_range(m - rows, rows)), whole[(m - rows) * n..]);
            }
        }
    }
}
