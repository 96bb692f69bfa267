//! Transposition on the CPU: parallel over rows of the result, in tiles that fit the L1 cache.

use dfdx::tensor::Cpu;

use super::TransposeKernel;
use crate::device::Buffer;
use crate::ops::Result;
use crate::ops::chunks::for_rows;
use crate::ops::gemm::Accumulate;
use crate::ops::simd::simd;

/// Number of values along one side of a tile.
const SIDE: usize = 16;

impl TransposeKernel for Cpu {
    fn transpose(
        &self,
        x: &Buffer<Self>,
        [_, rows, columns, inner]: [usize; 4],
        (y, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        // A row of the result is one column of the input.
        let len = rows * inner;
        for_rows(y, len, |first, group| {
            simd!({
                let mut at = 0;
                while at < group.len() / len {
                    let (outer, column) = ((first + at) / columns, (first + at) % columns);
                    // Number of columns processed together: those left in this matrix, or in this group of rows.
                    let width = (columns - column).min(group.len() / len - at);
                    let own = &mut group[at * len..(at + width) * len];
                    let matrix = &x[outer * rows * columns * inner..][..rows * columns * inner];
                    if inner == 1 {
                        single(matrix, own, (rows, columns, column, width), accumulate);
                    } else {
                        runs(matrix, own, (rows, columns, column, inner), accumulate);
                    }
                    at += width;
                }
            });
        });
        Ok(())
    }
}

/// Copies `width` columns from `column` on, value by value.
#[inline(always)]
fn single(
    matrix: &[f32],
    y: &mut [f32],
    (rows, columns, column, width): (usize, usize, usize, usize),
    accumulate: Accumulate,
) {
    for top in (0..rows).step_by(SIDE) {
        for left in (0..width).step_by(SIDE) {
            let bottom = rows.min(top + SIDE);
            for c in left..width.min(left + SIDE) {
                let target = &mut y[c * rows + top..c * rows + bottom];
                for (offset, target) in target.iter_mut().enumerate() {
                    let value = matrix[(top + offset) * columns + column + c];
                    match accumulate {
                        Accumulate::Replace => *target = value,
                        Accumulate::Add => *target += value,
                    }
                }
            }
        }
    }
}

/// Copies columns from `column` on, in contiguous runs of `inner` values.
#[inline(always)]
fn runs(
    matrix: &[f32],
    y: &mut [f32],
    (rows, columns, column, inner): (usize, usize, usize, usize),
    accumulate: Accumulate,
) {
    for (c, target) in y.chunks_exact_mut(rows * inner).enumerate() {
        for (row, target) in target.chunks_exact_mut(inner).enumerate() {
            let values = &matrix[(row * columns + column + c) * inner..][..inner];
            match accumulate {
                Accumulate::Replace => target.copy_from_slice(values),
                Accumulate::Add => target.iter_mut().zip(values).for_each(|(y, x)| *y += x),
            }
        }
    }
}
