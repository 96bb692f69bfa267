//! RMS norm on the CPU: rows in parallel, each read once from memory; the gradient of the scale as partial sums of
//! fixed groups of rows.

use dfdx::tensor::Cpu;

use super::RmsNormKernel;
use crate::device::{Backend, Buffer};
use crate::ops::chunks::{for_rows_zipped, rows_per_chunk, sum_row};
use crate::ops::gemm::{Accumulate, zeroed_unless_adding};
use crate::ops::parallel::add_assign;
use crate::ops::simd::simd;
use crate::ops::{PooledBuffer, Result};

/// Largest number of groups of rows in backward: each has a partial sum as long as a row.
const MOST_GROUPS: usize = 64;

impl RmsNormKernel for Cpu {
    fn rms_norm(
        &self,
        x: &PooledBuffer<Self>,
        gamma: &Buffer<Self>,
        eps: f32,
        _keeps: bool,
    ) -> Result<(Buffer<Self>, Buffer<Self>)> {
        let features = gamma.len();
        let mut y = self.uninit_buffer(x.len())?;
        let mut rstd = self.uninit_buffer(x.len() / features)?;
        let rows = rows_per_chunk(features);
        for_rows_zipped(
            &mut y,
            (rows, features),
            (&mut rstd, rows),
            |first, y, rstd| {
                let x = &x[first * features..][..y.len()];
                simd!(forward(x, gamma, eps, y, rstd));
            },
        );
        Ok((y, rstd))
    }

    fn rms_norm_backward(
        &self,
        x: &PooledBuffer<Self>,
        gamma: &Buffer<Self>,
        rstd: &Buffer<Self>,
        grad: &mut Buffer<Self>,
        grad_gamma: Option<(&mut Buffer<Self>, Accumulate)>,
    ) -> Result<()> {
        let features = gamma.len();
        let rows = rows_per_chunk(features).max(rstd.len().div_ceil(MOST_GROUPS));
        let mut partials = vec![0.0; rstd.len().div_ceil(rows) * features];
        let wanted = grad_gamma.is_some();
        for_rows_zipped(
            grad,
            (rows, features),
            (&mut partials, features),
            |first, grad, sums| {
                let x = &x[first * features..][..grad.len()];
                let (rstd, sums) = (&rstd[first..], wanted.then_some(sums));
                simd!(backward(grad, x, gamma, rstd, sums));
            },
        );
        if let Some(grad_gamma) = grad_gamma.map(zeroed_unless_adding) {
            for sums in partials.chunks_exact(features) {
                add_assign(grad_gamma, sums);
            }
        }
        Ok(())
    }
}

#[inline(always)]
fn forward(x: &[f32], gamma: &[f32], eps: f32, y: &mut [f32], rstd: &mut [f32]) {
    let features = gamma.len();
    let rows = x.chunks_exact(features).zip(y.chunks_exact_mut(features));
    for ((x, y), rstd) in rows.zip(rstd) {
        let factor = 1.0 / (sum_row(x, |x| x * x) / features as f32 + eps).sqrt();
        for ((y, x), gamma) in y.iter_mut().zip(x).zip(gamma) {
            *y = x * factor * gamma;
        }
        *rstd = factor;
    }
}

/// Turns `grad`, the gradient of rows of the result, into that of the input's rows; adds the gradient of the scale to
/// `sums`.
#[inline(always)]
fn backward(
    grad: &mut [f32],
    x: &[f32],
    gamma: &[f32],
    rstd: &[f32],
    mut sums: Option<&mut [f32]>,
) {
    let features = gamma.len();
    let rows = grad
        .chunks_exact_mut(features)
        .zip(x.chunks_exact(features));
    for ((grad, x), rstd) in rows.zip(rstd) {
        if let Some(sums) = &mut sums {
            for ((sum, x), grad) in sums.iter_mut().zip(x).zip(&*grad) {
                *sum += grad * (x * rstd);
            }
        }
        let product = sum_products(grad, gamma, x) * rstd / features as f32;
        for ((grad, x), gamma) in grad.iter_mut().zip(x).zip(gamma) {
            *grad = rstd * (*grad * gamma - x * rstd * product);
        }
    }
}

/// `Σ aᵢ bᵢ cᵢ`, in sixteen partial sums as in [`sum_row`].
#[inline(always)]
fn sum_products(a: &[f32], b: &[f32], c: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 16];
    let (a, b, c) = (
        a.as_chunks::<16>(),
        b.as_chunks::<16>(),
        c.as_chunks::<16>(),
    );
    for ((a, b), c) in a.0.iter().zip(b.0).zip(c.0) {
        for lane in 0..16 {
            sums[lane] += a[lane] * b[lane] * c[lane];
        }
    }
    let rest = a.1.iter().zip(b.1).zip(c.1).map(|((a, b), c)| a * b * c);
    sums.iter().sum::<f32>() + rest.sum::<f32>()
}
