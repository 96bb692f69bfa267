//! Linear layers on the CPU: products from [`crate::ops::gemm`]; bias and activation are computed for each chunk of
//! rows while it is in the cache.

use std::sync::atomic::{AtomicU64, Ordering};

use dfdx::tensor::Cpu;

use super::{LinearKernel, LinearSize, ProjectionsKernel};
use crate::device::{Backend, Buffer};
use crate::ops::activation::{Activate, activated};
use crate::ops::gemm::{
    Accumulate, Matrix, matmul_by_rows, matmul_by_rows_zipped, matmul_transposed_a,
    zeroed_unless_adding,
};
use crate::ops::parallel::{CHUNK, MIN_PARALLEL_LEN, add_assign, for_each_chunk, for_each_zipped};
use crate::ops::scratch::with_scratch;
use crate::ops::simd::simd;
use crate::ops::update::squares;
use crate::ops::{Activation, PooledBuffer, Result};

/// Number of rows that one partial result of column sums adds up.
const SUM_ROWS: usize = 1024;

impl ProjectionsKernel for Cpu {}

impl LinearKernel for Cpu {
    fn linear(
        &self,
        x: &PooledBuffer<Self>,
        weight: &PooledBuffer<Self>,
        bias: Option<&Buffer<Self>>,
        size: LinearSize,
        activation: Activation,
        keep: bool,
    ) -> Result<(Buffer<Self>, Option<PooledBuffer<Self>>)> {
        let LinearSize {
            rows,
            inputs,
            outputs,
        } = size;
        let mut y = self.uninit_buffer(rows * outputs)?;
        let (x, weight) = (
            Matrix::new(x, rows, inputs),
            Matrix::new(weight, inputs, outputs),
        );
        if !keep {
            matmul_by_rows(&mut y, Accumulate::Replace, x, weight, |_, values| {
                if let Some(bias) = bias {
                    simd!(add_bias(values, bias));
                }
                activate_all(values, activation);
            });
            return Ok((y, None));
        }
        let mut slopes = self.uninit_buffer(rows * outputs)?;
        let both = [y.as_mut_slice(), slopes.as_mut_slice()];
        matmul_by_rows_zipped(both, Accumulate::Replace, x, weight, |_, [y, slopes]| {
            // Row by row: after the product, the results are in the L2 cache but not in the L1 cache.
            let rows = y.chunks_exact_mut(outputs);
            activated!(activation, |act| simd!(for (y, slopes) in
                rows.zip(slopes.chunks_exact_mut(outputs))
            {
                if let Some(bias) = bias {
                    add_bias(y, bias);
                }
                values_and_slopes(y, slopes, act);
            }));
        });
        Ok((y, Some(PooledBuffer::new(slopes))))
    }

    fn linear_plus_residual(
        &self,
        residual: &Buffer<Self>,
        x: &PooledBuffer<Self>,
        weight: &PooledBuffer<Self>,
        bias: &Buffer<Self>,
        size: LinearSize,
    ) -> Result<Buffer<Self>> {
        let mut y = residual.to_vec();
        let x = Matrix::new(x, size.rows, size.inputs);
        let weight = Matrix::new(weight, size.inputs, size.outputs);
        matmul_by_rows(&mut y, Accumulate::Add, x, weight, |_, values| {
            simd!(add_bias(values, bias));
        });
        Ok(self.upload(y)?)
    }

    fn linear_backward_activation(
        &self,
        slopes: &PooledBuffer<Self>,
        mut grad: Buffer<Self>,
        _activation: Activation,
        grad_bias: Option<(&mut Buffer<Self>, Accumulate)>,
    ) -> Result<PooledBuffer<Self>> {
        let Some(grad_bias) = grad_bias.map(zeroed_unless_adding) else {
            for_each_chunk(&mut grad, CHUNK, |start, grad| {
                simd!(multiply(grad, &slopes[start..]));
            });
            return Ok(PooledBuffer::new(grad));
        };
        let columns = grad_bias.len();
        let chunk = (SUM_ROWS * columns).max(1);
        with_scratch(grad.len().div_ceil(chunk) * columns, |partials| {
            let large = slopes.len() >= MIN_PARALLEL_LEN;
            let outputs = [(grad.as_mut_slice(), chunk), (&mut *partials, columns)];
            for_each_zipped(large, outputs, |index, [grad, sums]| {
                simd!(multiply_and_sum(grad, &slopes[index * chunk..], sums));
            });
            partials
                .chunks_exact(columns.max(1))
                .for_each(|partial| add_assign(grad_bias, partial));
        });
        Ok(PooledBuffer::new(grad))
    }

    fn linear_backward_x(
        &self,
        grad: &PooledBuffer<Self>,
        weight: &PooledBuffer<Self>,
        size: LinearSize,
        (grad_x, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let grad = Matrix::new(grad, size.rows, size.outputs);
        let weight = Matrix::new(weight, size.inputs, size.outputs);
        matmul_by_rows(grad_x, accumulate, grad, weight.transposed(), |_, _| ());
        Ok(())
    }

    fn linear_backward_weight(
        &self,
        x: &PooledBuffer<Self>,
        grad: &PooledBuffer<Self>,
        size: LinearSize,
        (grad_weight, accumulate): (&mut Buffer<Self>, Accumulate),
        wants_squares: bool,
    ) -> Result<Option<f64>> {
        let x = Matrix::new(x, size.rows, size.inputs);
        let grad = Matrix::new(grad, size.rows, size.outputs);
        if !wants_squares {
            matmul_transposed_a(grad_weight, accumulate, x, grad, |_, _| ());
            return Ok(None);
        }
        // One sum per chunk of rows, at the index of the chunk's first row: written by threads, then added in order.
        let sums: Vec<_> = (0..size.inputs).map(|_| AtomicU64::new(0)).collect();
        matmul_transposed_a(grad_weight, accumulate, x, grad, |first, rows| {
            sums[first].store(squares(rows).to_bits(), Ordering::Relaxed);
        });
        let sums = sums.into_iter().map(|sum| f64::from_bits(sum.into_inner()));
        Ok(Some(sums.sum()))
    }

    fn bias_backward(
        &self,
        grad: &PooledBuffer<Self>,
        grad_bias: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let grad_bias = zeroed_unless_adding(grad_bias);
        let columns = grad_bias.len();
        let chunk = SUM_ROWS * columns;
        with_scratch(grad.len().div_ceil(chunk.max(1)) * columns, |partials| {
            let large = grad.len() >= MIN_PARALLEL_LEN;
            crate::ops::parallel::for_each_chunk_if(large, partials, columns, |start, sums| {
                let first = start * SUM_ROWS;
                let grad = &grad[first..(first + chunk).min(grad.len())];
                simd!(column_sums(grad, sums));
            });
            partials
                .chunks_exact(columns.max(1))
                .for_each(|partial| add_assign(grad_bias, partial));
        });
        Ok(())
    }
}

fn activate_all(values: &mut [f32], activation: Activation) {
    activated!(activation, |act| simd!(activate(values, act)));
}

#[inline(always)]
fn activate(values: &mut [f32], act: impl Activate) {
    for value in values {
        *value = act.value(*value);
    }
}

/// `y = act(y)`, and `slopes = act'(y)`, in one loop that computes common subexpressions once.
#[inline(always)]
fn values_and_slopes(y: &mut [f32], slopes: &mut [f32], act: impl Activate) {
    for (y, slope) in y.iter_mut().zip(slopes) {
        let before = *y;
        *y = act.value(before);
        *slope = act.slope(before);
    }
}

#[inline(always)]
fn multiply(values: &mut [f32], factors: &[f32]) {
    for (value, factor) in values.iter_mut().zip(factors) {
        *value *= factor;
    }
}

/// `grad *= slopes`, and `sums[k] = Σ_rows grad[row, k]`.
#[inline(always)]
fn multiply_and_sum(grad: &mut [f32], slopes: &[f32], sums: &mut [f32]) {
    sums.fill(0.0);
    let columns = sums.len();
    for (grad, slopes) in grad
        .chunks_exact_mut(columns)
        .zip(slopes.chunks_exact(columns))
    {
        for ((sum, value), slope) in sums.iter_mut().zip(grad).zip(slopes) {
            *value *= slope;
            *sum += *value;
        }
    }
}

#[inline(always)]
fn add_bias(rows: &mut [f32], bias: &[f32]) {
    if let [bias] = bias {
        for value in rows.iter_mut() {
            *value += bias;
        }
        return;
    }
    for row in rows.chunks_exact_mut(bias.len()) {
        for (value, bias) in row.iter_mut().zip(bias) {
            *value += bias;
        }
    }
}

/// `sums[k] = Σ_rows rows[row, k]`.
#[inline(always)]
fn column_sums(rows: &[f32], sums: &mut [f32]) {
    sums.fill(0.0);
    for row in rows.chunks_exact(sums.len()) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += value;
        }
    }
}
