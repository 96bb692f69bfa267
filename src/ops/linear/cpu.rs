//! Linear layers on the CPU: products from [`crate::ops::gemm`]; bias and activation on each chunk of rows while it is
//! in the cache.

use dfdx::tensor::Cpu;

use super::{LinearKernel, LinearSize};
use crate::device::{Backend, Buffer};
use crate::ops::activation::{Activate, activated};
use crate::ops::gemm::{Into, Matrix, rows_product, transposed_product};
use crate::ops::parallel::{CHUNK, add_assign, for_each_chunk};
use crate::ops::scratch::with_scratch;
use crate::ops::simd::simd;
use crate::ops::{Activation, OpError};

/// Rows whose column sums make one partial result.
const SUM_ROWS: usize = 1024;

impl LinearKernel for Cpu {
    fn linear(
        &self,
        x: &Buffer<Self>,
        weight: &Buffer<Self>,
        bias: Option<&Buffer<Self>>,
        size: LinearSize,
        activation: Activation,
        keep: bool,
    ) -> Result<(Buffer<Self>, Option<Buffer<Self>>), OpError> {
        let LinearSize {
            rows,
            inputs,
            outputs,
        } = size;
        let mut before = vec![0.0; rows * outputs];
        let (x, weight) = (
            Matrix::new(x, rows, inputs),
            Matrix::new(weight, inputs, outputs),
        );
        rows_product(&mut before, Into::Replace, x, weight, |_, values| {
            if let Some(bias) = bias {
                simd(
                    #[inline(always)]
                    || add_bias(values, bias),
                );
            }
            if !keep {
                activate_all(values, activation);
            }
        });
        if !keep {
            return Ok((self.upload(before)?, None));
        }
        let mut y = vec![0.0; before.len()];
        for_each_chunk(&mut y, CHUNK, |start, y| {
            y.copy_from_slice(&before[start..start + y.len()]);
            activate_all(y, activation);
        });
        Ok((self.upload(y)?, Some(self.upload(before)?)))
    }

    fn linear_onto(
        &self,
        residual: &Buffer<Self>,
        x: &Buffer<Self>,
        weight: &Buffer<Self>,
        bias: &Buffer<Self>,
        size: LinearSize,
    ) -> Result<Buffer<Self>, OpError> {
        let mut y = residual.to_vec();
        let x = Matrix::new(x, size.rows, size.inputs);
        let weight = Matrix::new(weight, size.inputs, size.outputs);
        rows_product(&mut y, Into::Add, x, weight, |_, values| {
            simd(
                #[inline(always)]
                || add_bias(values, bias),
            );
        });
        Ok(self.upload(y)?)
    }

    fn activation_backward(
        &self,
        before: &Buffer<Self>,
        grad_output: &Buffer<Self>,
        activation: Activation,
    ) -> Result<Buffer<Self>, OpError> {
        let mut grad = vec![0.0; before.len()];
        for_each_chunk(&mut grad, CHUNK, |start, grad| {
            let range = start..start + grad.len();
            let (before, grad_output) = (&before[range.clone()], &grad_output[range]);
            activated!(activation, |act| simd(
                #[inline(always)]
                || {
                    for ((grad, before), grad_output) in
                        grad.iter_mut().zip(before).zip(grad_output)
                    {
                        *grad = grad_output * act.slope(*before);
                    }
                }
            ));
        });
        Ok(self.upload(grad)?)
    }

    fn linear_backward_x(
        &self,
        grad: &Buffer<Self>,
        weight: &Buffer<Self>,
        size: LinearSize,
        grad_x: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        let LinearSize {
            rows,
            inputs,
            outputs,
        } = size;
        let (grad, weight) = (
            Matrix::new(grad, rows, outputs),
            Matrix::new(weight, inputs, outputs),
        );
        rows_product(grad_x, Into::Add, grad, weight.transposed(), |_, _| ());
        Ok(())
    }

    fn linear_backward_weight(
        &self,
        x: &Buffer<Self>,
        grad: &Buffer<Self>,
        size: LinearSize,
        grad_weight: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        let LinearSize {
            rows,
            inputs,
            outputs,
        } = size;
        transposed_product(
            grad_weight,
            Matrix::new(x, rows, inputs),
            Matrix::new(grad, rows, outputs),
        );
        Ok(())
    }

    fn bias_backward(
        &self,
        grad: &Buffer<Self>,
        grad_bias: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        let columns = grad_bias.len();
        let chunk = SUM_ROWS * columns;
        with_scratch(grad.len().div_ceil(chunk.max(1)) * columns, |partials| {
            let large = grad.len() >= crate::ops::parallel::ELEMENTWISE_LEN;
            crate::ops::parallel::for_each_chunk_if(large, partials, columns, |start, sums| {
                let first = start * SUM_ROWS;
                let grad = &grad[first..(first + chunk).min(grad.len())];
                simd(
                    #[inline(always)]
                    || column_sums(grad, sums),
                );
            });
            partials
                .chunks_exact(columns.max(1))
                .for_each(|partial| add_assign(grad_bias, partial));
        });
        Ok(())
    }
}

fn activate_all(values: &mut [f32], activation: Activation) {
    activated!(activation, |act| simd(
        #[inline(always)]
        || activate(values, act)
    ));
}

#[inline(always)]
fn activate(values: &mut [f32], act: impl Activate) {
    for value in values {
        *value = act.value(*value);
    }
}

/// Adds `bias` to every row.
#[inline(always)]
fn add_bias(rows: &mut [f32], bias: &[f32]) {
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
