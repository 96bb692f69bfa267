//! Concatenation on the CPU: copies of rows.

use dfdx::tensor::Cpu;

use super::ConcatKernel;
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::chunks::{for_rows, rows_per_chunk};
use crate::ops::gemm::Accumulate;
use crate::ops::parallel::for_each_chunk;
use crate::ops::simd::simd;

impl ConcatKernel for Cpu {
    fn concat(
        &self,
        a: &Buffer<Self>,
        b: &Buffer<Self>,
        (wa, wb): (usize, usize),
    ) -> Result<Buffer<Self>> {
        let total = wa + wb;
        let mut y = self.uninit_buffer(a.len() + b.len())?;
        for_rows(&mut y, total, |first, y| {
            let rows = a[first * wa..]
                .chunks_exact(wa)
                .zip(b[first * wb..].chunks_exact(wb));
            for (y, (a, b)) in y.chunks_exact_mut(total).zip(rows) {
                y[..wa].copy_from_slice(a);
                y[wa..].copy_from_slice(b);
            }
        });
        Ok(y)
    }

    fn concat_backward(
        &self,
        grad_output: &Buffer<Self>,
        total: usize,
        offset: usize,
        width: usize,
        (grad, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        for_each_chunk(grad, rows_per_chunk(total) * width, |start, grad| {
            let first = start / width;
            let rows = grad_output[first * total..].chunks_exact(total);
            simd!({
                for (grad, row) in grad.chunks_exact_mut(width).zip(rows) {
                    let row = &row[offset..offset + width];
                    match accumulate {
                        Accumulate::Replace => grad.copy_from_slice(row),
                        Accumulate::Add => grad.iter_mut().zip(row).for_each(|(g, v)| *g += v),
                    }
                }
            });
        });
        Ok(())
    }
}
