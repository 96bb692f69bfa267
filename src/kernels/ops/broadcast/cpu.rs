//! Sums and products of values with rows that are the same at every position, on the CPU.

use dfdx::tensor::Cpu;

use super::{BroadcastKernel, Combine};
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::chunks::for_rows;
use crate::ops::gemm::Accumulate;
use crate::ops::parallel::{MIN_PARALLEL_LEN, for_each_chunk_if, for_each_item};
use crate::ops::simd::simd;

/// Number of columns that one task sums: so few that the sums stay in the L1 cache, so many that reads are of whole
/// cache lines.
const COLUMNS: usize = 1024;

/// Number of positions that are summed before their sum is added to the total, so that many positions lose no
/// precision.
const BLOCK: usize = 64;

impl BroadcastKernel for Cpu {
    fn broadcast(
        &self,
        x: &Buffer<Self>,
        y: &Buffer<Self>,
        [_, positions, inner]: [usize; 3],
        how: Combine,
    ) -> Result<Buffer<Self>> {
        let mut z = self.uninit_buffer(x.len())?;
        each_part(&mut z, (positions, inner), |at, from, z| {
            let (x, y) = (&x[at..at + z.len()], &y[from..from + z.len()]);
            let values = z.iter_mut().zip(x.iter().zip(y));
            match how {
                Combine::Add => values.for_each(|(z, (x, y))| *z = x + y),
                Combine::Multiply => values.for_each(|(z, (x, y))| *z = x * y),
            }
        });
        Ok(z)
    }

    fn sum_positions(
        &self,
        a: &Buffer<Self>,
        b: Option<&Buffer<Self>>,
        [_, positions, inner]: [usize; 3],
        factor: f32,
        (sums, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let columns = inner.min(COLUMNS);
        // Number of chunks of a row of sums; the last one may be shorter.
        let per_row = inner.div_ceil(columns);
        let is_large = a.len() >= MIN_PARALLEL_LEN;
        let tasks: Vec<&mut [f32]> = sums
            .chunks_mut(inner)
            .flat_map(|row| row.chunks_mut(columns))
            .collect();
        let one = |(task, sums): (usize, &mut [f32])| {
            let (outer, left) = (task / per_row, task % per_row * columns);
            let row = |values: &[f32], position: usize| {
                let start = (outer * positions + position) * inner + left;
                start..start + sums.len().min(values.len() - start)
            };
            let mut total = [0.0_f32; COLUMNS];
            let mut block = [0.0_f32; COLUMNS];
            let (total, block) = (&mut total[..sums.len()], &mut block[..sums.len()]);
            simd!({
                for first in (0..positions).step_by(BLOCK) {
                    block.fill(0.0);
                    for position in first..positions.min(first + BLOCK) {
                        let range = row(a, position);
                        let values = &a[range.clone()];
                        match b {
                            None => block.iter_mut().zip(values).for_each(|(s, a)| *s += a),
                            Some(b) => {
                                let pairs = values.iter().zip(&b[range]);
                                let sums = block.iter_mut().zip(pairs);
                                sums.for_each(|(s, (a, b))| *s += a * b);
                            }
                        }
                    }
                    total.iter_mut().zip(&*block).for_each(|(t, s)| *t += s);
                }
            });
            for (sum, total) in sums.iter_mut().zip(&*total) {
                match accumulate {
                    Accumulate::Replace => *sum = factor * total,
                    Accumulate::Add => *sum += factor * total,
                }
            }
        };
        for_each_item(is_large, tasks.into_iter().enumerate(), one);
        Ok(())
    }

    fn spread(
        &self,
        y: &Buffer<Self>,
        [_, positions, inner]: [usize; 3],
        factor: f32,
        (x, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        each_part(x, (positions, inner), |_, from, x| {
            let values = x.iter_mut().zip(&y[from..]);
            match accumulate {
                Accumulate::Replace => values.for_each(|(x, y)| *x = factor * y),
                Accumulate::Add => values.for_each(|(x, y)| *x += factor * y),
            }
        });
        Ok(())
    }
}

/// Calls `kernel` with pieces of `values`, none longer than a row of `inner` values, each with the index of its first
/// value in `values` and with the index of the matching value in the rows.
fn each_part(
    values: &mut [f32],
    (positions, inner): (usize, usize),
    kernel: impl Fn(usize, usize, &mut [f32]) + Sync,
) {
    // A long row is cut, so that several threads share it.
    let piece = inner.min(1 << 14);
    if piece < inner {
        let is_large = values.len() >= MIN_PARALLEL_LEN;
        let rows = values.len() / inner;
        for row in 0..rows {
            let own = &mut values[row * inner..(row + 1) * inner];
            for_each_chunk_if(is_large, own, piece, |start, part| {
                let from = row / positions * inner + start;
                simd!(kernel(row * inner + start, from, part));
            });
        }
        return;
    }
    for_rows(values, inner, |first, rows| {
        simd!({
            for (offset, part) in rows.chunks_exact_mut(inner).enumerate() {
                let row = first + offset;
                kernel(row * inner, row / positions * inner, part);
            }
        });
    });
}
