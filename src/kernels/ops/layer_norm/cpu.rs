//! Layer norm on the CPU: groups of rows; each value is read from memory once forward and once backward.

use dfdx::tensor::Cpu;

use super::{LayerNormKernel, RowStatistics};
use crate::device::{Backend, Buffer};
use crate::ops::chunks::{for_rows_zipped, rows_per_chunk, sum_row};
use crate::ops::gemm::Accumulate;
use crate::ops::parallel::{MIN_PARALLEL_LEN, for_each_chunk_if, for_each_zipped};
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
    ) -> Result<(Buffer<Self>, RowStatistics<Self>)> {
        let features = gamma.len();
        let (rows, group) = (x.len() / features, rows_per_chunk(features));
        let mut y = self.uninit_buffer(x.len())?;
        let (mut mean, mut rstd) = (self.uninit_buffer(rows)?, self.uninit_buffer(rows)?);
        let outputs = [
            (y.as_mut_slice(), group * features),
            (&mut mean, group),
            (&mut rstd, group),
        ];
        for_each_zipped(x.len() >= MIN_PARALLEL_LEN, outputs, |index, outputs| {
            let [y, mean, rstd] = outputs;
            let x = x[index * group * features..].chunks_exact(features);
            let saved = mean.iter_mut().zip(rstd);
            simd!(
                for ((y, x), (mean, rstd)) in y.chunks_exact_mut(features).zip(x).zip(saved) {
                    (*mean, *rstd) = moments(x, eps);
                    normalise(y, x, gamma, beta, *mean, *rstd);
                }
            );
        });
        Ok((y, RowStatistics { mean, rstd }))
    }

    fn layer_norm_backward(
        &self,
        x: &PooledBuffer<Self>,
        gamma: &Buffer<Self>,
        saved: &RowStatistics<Self>,
        dy: &Buffer<Self>,
        dx: Option<(&mut Buffer<Self>, Accumulate)>,
    ) -> Result<[Buffer<Self>; 2]> {
        let features = gamma.len();
        let group = rows_per_chunk(features);
        let groups = saved.mean.len().div_ceil(group);
        // For every group the sums of gamma's gradient, then those of beta's.
        let mut partials = vec![0.0; 2 * features * groups];
        let row = |row: usize| {
            let range = row * features..(row + 1) * features;
            let (mean, rstd) = (saved.mean[row], saved.rstd[row]);
            (&x[range.clone()], &dy[range], mean, rstd)
        };
        if let Some((dx, accumulate)) = dx {
            let beside = (partials.as_mut_slice(), 2 * features);
            for_rows_zipped(dx, (group, features), beside, |first, dx, sums| {
                let (of_gamma, of_beta) = sums.split_at_mut(features);
                simd!(
                    for (index, dx) in dx.chunks_exact_mut(features).enumerate() {
                        let (x, dy, mean, rstd) = row(first + index);
                        let means =
                            sum_row_gradients(x, dy, gamma, (mean, rstd), [of_gamma, of_beta]);
                        backward_row(dx, x, dy, gamma, (mean, rstd), means, accumulate);
                    }
                );
            });
        } else {
            let large = dy.len() >= MIN_PARALLEL_LEN;
            for_each_chunk_if(large, &mut partials, 2 * features, |start, sums| {
                let first = start / (2 * features) * group;
                let (of_gamma, of_beta) = sums.split_at_mut(features);
                simd!(for index in first..(first + group).min(saved.mean.len()) {
                    let (x, dy, mean, rstd) = row(index);
                    sum_row_gradients(x, dy, gamma, (mean, rstd), [of_gamma, of_beta]);
                });
            });
        }
        let mut totals = [self.zeros_buffer(features)?, self.zeros_buffer(features)?];
        for partial in partials.chunks_exact(2 * features) {
            for (total, part) in totals.iter_mut().zip(partial.chunks_exact(features)) {
                for (total, value) in total.iter_mut().zip(part) {
                    *total += value;
                }
            }
        }
        Ok(totals)
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

/// Number of lanes in which the sums over a row are computed: a fixed order that vectorises.
const LANES: usize = 16;

/// The means over a row of `γ dy` and of `γ dy h`, where h is the normalised x; adds `dy h` and `dy` to the sums over
/// rows.
#[inline(always)]
fn sum_row_gradients(
    x: &[f32],
    dy: &[f32],
    gamma: &[f32],
    (mean, rstd): (f32, f32),
    [of_gamma, of_beta]: [&mut [f32]; 2],
) -> (f32, f32) {
    let (mut sums, mut products) = ([0.0_f32; LANES], [0.0_f32; LANES]);
    let (blocks, last) = x.as_chunks::<LANES>();
    let blocks = blocks.iter().zip(dy.as_chunks::<LANES>().0);
    let blocks = blocks.zip(gamma.as_chunks::<LANES>().0);
    let affine = of_gamma.as_chunks_mut::<LANES>().0.iter_mut();
    let affine = affine.zip(of_beta.as_chunks_mut::<LANES>().0);
    let mut add = |lane: usize, [x, dy, gamma]: [f32; 3], of_gamma: &mut f32, of_beta: &mut f32| {
        let normalised = (x - mean) * rstd;
        let scaled = dy * gamma;
        sums[lane] += scaled;
        products[lane] += scaled * normalised;
        *of_gamma += dy * normalised;
        *of_beta += dy;
    };
    for (((x, dy), gamma), (of_gamma, of_beta)) in blocks.zip(affine) {
        for lane in 0..LANES {
            let values = [x[lane], dy[lane], gamma[lane]];
            add(lane, values, &mut of_gamma[lane], &mut of_beta[lane]);
        }
    }
    for (lane, k) in (x.len() - last.len()..x.len()).enumerate() {
        let values = [x[k], dy[k], gamma[k]];
        add(lane, values, &mut of_gamma[k], &mut of_beta[k]);
    }
    let n = x.len() as f32;
    let of_row = |sums: [f32; LANES]| sums.iter().sum::<f32>() / n;
    (of_row(sums), of_row(products))
}

#[inline(always)]
fn backward_row(
    dx: &mut [f32],
    x: &[f32],
    dy: &[f32],
    gamma: &[f32],
    (mean, rstd): (f32, f32),
    (sum, product): (f32, f32),
    accumulate: Accumulate,
) {
    let values = dx.iter_mut().zip(x).zip(dy).zip(gamma);
    let value =
        |x: f32, dy: f32, gamma: f32| rstd * (dy * gamma - sum - (x - mean) * rstd * product);
    match accumulate {
        Accumulate::Replace => values.for_each(|(((dx, x), dy), g)| *dx = value(*x, *dy, *g)),
        Accumulate::Add => values.for_each(|(((dx, x), dy), g)| *dx += value(*x, *dy, *g)),
    }
}
