//! Layer norm on the CPU: rows in parallel; gradients of scale and offset as partial sums of fixed groups of rows.

use dfdx::tensor::Cpu;

use super::{LayerNormKernel, Saved};
use crate::device::{Backend, Buffer};
use crate::ops::chunks::{for_rows, map_chunks, rows_per_chunk, sum_row};
use crate::ops::gemm::{Accumulate, to_add};
use crate::ops::simd::simd;
use crate::ops::{PooledBuffer, Result};

impl LayerNormKernel for Cpu {
    fn layer_norm(
        &self,
        x: &PooledBuffer<Self>,
        gamma: &Buffer<Self>,
        beta: &Buffer<Self>,
        eps: f32,
        _keeps: bool,
    ) -> Result<(Buffer<Self>, Saved<Self>)> {
        let features = gamma.len();
        let rows = x.len() / features;
        let moments = map_chunks(rows, rows_per_chunk(features), x.len(), |range| {
            let rows = x[range.start * features..range.end * features].chunks_exact(features);
            rows.map(|row| simd!(moments(row, eps))).collect::<Vec<_>>()
        })
        .concat();
        let mut y = self.spare_buffer(x.len())?;
        for_rows(&mut y, features, |first, chunk| {
            let rows = chunk
                .chunks_exact_mut(features)
                .zip(x[first * features..].chunks_exact(features));
            for ((y, x), &(mean, rstd)) in rows.zip(&moments[first..]) {
                simd!(normalise(y, x, gamma, beta, mean, rstd));
            }
        });
        let (mean, rstd) = moments.into_iter().unzip();
        Ok((
            y,
            Saved {
                mean: self.upload(mean)?,
                rstd: self.upload(rstd)?,
            },
        ))
    }

    fn layer_norm_backward_x(
        &self,
        x: &PooledBuffer<Self>,
        gamma: &Buffer<Self>,
        saved: &Saved<Self>,
        dy: &Buffer<Self>,
        dx: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let dx = to_add(dx);
        let features = gamma.len();
        for_rows(dx, features, |first, chunk| {
            for (offset, dx) in chunk.chunks_exact_mut(features).enumerate() {
                let row = first + offset;
                let range = row * features..(row + 1) * features;
                let (x, dy) = (&x[range.clone()], &dy[range]);
                simd!(backward_row(
                    dx,
                    x,
                    dy,
                    gamma,
                    saved.mean[row],
                    saved.rstd[row]
                ));
            }
        });
        Ok(())
    }

    fn layer_norm_backward_gamma(
        &self,
        x: &PooledBuffer<Self>,
        saved: &Saved<Self>,
        dy: &Buffer<Self>,
        dgamma: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let dgamma = to_add(dgamma);
        let features = dgamma.len();
        add_row_sums(dgamma, dy, |row, sums, dy| {
            let x = &x[row * features..(row + 1) * features];
            simd!(add_scaled_row(
                sums,
                x,
                dy,
                saved.mean[row],
                saved.rstd[row]
            ));
        });
        Ok(())
    }

    fn layer_norm_backward_beta(
        &self,
        dy: &Buffer<Self>,
        dbeta: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        add_row_sums(to_add(dbeta), dy, |_, sums, dy| {
            sums.iter_mut().zip(dy).for_each(|(sum, dy)| *sum += dy);
        });
        Ok(())
    }
}

/// Adds to `target` the sum over rows of the values of `add`: within fixed groups of rows, then over groups in order.
fn add_row_sums(target: &mut [f32], dy: &[f32], add: impl Fn(usize, &mut [f32], &[f32]) + Sync) {
    let features = target.len();
    let partials = map_chunks(
        dy.len() / features,
        rows_per_chunk(features),
        dy.len(),
        |rows| {
            let mut sums = vec![0.0; features];
            rows.for_each(|row| add(row, &mut sums, &dy[row * features..(row + 1) * features]));
            sums
        },
    );
    for partial in partials {
        target
            .iter_mut()
            .zip(&partial)
            .for_each(|(target, value)| *target += value);
    }
}

/// Mean and `1 / sqrt(variance + eps)` of a row, in two passes.
#[inline(always)]
fn moments(row: &[f32], eps: f32) -> (f32, f32) {
    let n = row.len() as f32;
    let mean = sum_row(row, |x| x) / n;
    let variance = sum_row(row, |x| (x - mean) * (x - mean)) / n;
    (mean, 1.0 / (variance + eps).sqrt())
}

#[inline(always)]
fn normalise(y: &mut [f32], x: &[f32], gamma: &[f32], beta: &[f32], mean: f32, rstd: f32) {
    for (((y, x), gamma), beta) in y.iter_mut().zip(x).zip(gamma).zip(beta) {
        *y = (x - mean) * rstd * gamma + beta;
    }
}

#[inline(always)]
fn backward_row(dx: &mut [f32], x: &[f32], dy: &[f32], gamma: &[f32], mean: f32, rstd: f32) {
    let (mut sums, mut products) = ([0.0_f32; 16], [0.0_f32; 16]);
    for ((x, dy), gamma) in x.chunks(16).zip(dy.chunks(16)).zip(gamma.chunks(16)) {
        for lane in 0..x.len() {
            let scaled = dy[lane] * gamma[lane];
            sums[lane] += scaled;
            products[lane] += scaled * (x[lane] - mean) * rstd;
        }
    }
    let n = dx.len() as f32;
    let (sum, product) = (
        sums.iter().sum::<f32>() / n,
        products.iter().sum::<f32>() / n,
    );
    for (((dx, x), dy), gamma) in dx.iter_mut().zip(x).zip(dy).zip(gamma) {
        *dx += rstd * (dy * gamma - sum - (x - mean) * rstd * product);
    }
}

#[inline(always)]
fn add_scaled_row(sums: &mut [f32], x: &[f32], dy: &[f32], mean: f32, rstd: f32) {
    for ((sum, x), dy) in sums.iter_mut().zip(x).zip(dy) {
        *sum += dy * (x - mean) * rstd;
    }
}
