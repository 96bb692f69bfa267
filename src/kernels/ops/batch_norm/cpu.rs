//! Batch norm on the CPU, in chunks of rows. Forward has one pass over memory for the moments and one for the result;
//! backward has two.

use dfdx::tensor::Cpu;

use super::{BatchNormInputs, BatchNormKernel, BatchNormSize};
use crate::device::{Backend, Buffer};
use crate::ops::activation::{Activate, activated};
use crate::ops::chunks::{for_rows, for_rows_zipped, map_chunks, rows_per_chunk};
use crate::ops::parallel::{for_each_chunk, for_each_chunk_pair};
use crate::ops::simd::simd;
use crate::ops::{Activation, PooledBuffer, Result};

impl BatchNormKernel for Cpu {
    fn batch_moments(
        &self,
        x: &Buffer<Self>,
        BatchNormSize { rows, channels }: BatchNormSize,
        eps: f32,
    ) -> Result<[Buffer<Self>; 3]> {
        let chunk = rows_per_chunk(channels);
        let parts = map_chunks(rows, chunk, x.len(), |range| {
            moments_of(&x[range.start * channels..range.end * channels], channels)
        });
        // Combines the chunks' moments in order (Chan et al. 1983).
        let (mut mean, mut squares) = (vec![0.0_f64; channels], vec![0.0_f64; channels]);
        let mut seen = 0.0_f64;
        for (index, (means, deviations)) in parts.iter().enumerate() {
            let count = chunk.min(rows - index * chunk) as f64;
            let share = count / (seen + count);
            for channel in 0..channels {
                let distance = f64::from(means[channel]) - mean[channel];
                mean[channel] += distance * share;
                squares[channel] +=
                    f64::from(deviations[channel]) + distance * distance * seen * share;
            }
            seen += count;
        }
        let mut all = [(); 3].map(|()| vec![0.0; channels]);
        for channel in 0..channels {
            let biased = squares[channel] / rows as f64;
            all[0][channel] = mean[channel] as f32;
            all[1][channel] = (1.0 / (biased + f64::from(eps)).sqrt()) as f32;
            all[2][channel] = (squares[channel] / (rows as f64 - 1.0).max(1.0)) as f32;
        }
        let [mean, rstd, variance] = all;
        Ok([
            self.upload(mean)?,
            self.upload(rstd)?,
            self.upload(variance)?,
        ])
    }

    fn inverse_deviation(&self, variance: &Buffer<Self>, eps: f32) -> Result<Buffer<Self>> {
        let inverse = |v: &f32| (1.0 / (f64::from(*v) + f64::from(eps)).sqrt()) as f32;
        Ok(self.upload(variance.iter().map(inverse).collect())?)
    }

    fn batch_norm(&self, inputs: &BatchNormInputs<'_, Self>, _: bool) -> Result<Buffer<Self>> {
        let channels = inputs.size.channels;
        let mut y = self.uninit_buffer(inputs.x.len())?;
        let affine = Affine::new(inputs);
        for_rows(&mut y, channels, |first, y| {
            let start = first * channels;
            let x = &inputs.x[start..start + y.len()];
            let shift = inputs.shift.map(|shift| &shift[start..start + y.len()]);
            activated!(inputs.activation, |act| simd!(forward(
                y, x, &affine, shift, act
            )));
        });
        Ok(y)
    }

    fn batch_norm_sums(
        &self,
        inputs: &BatchNormInputs<'_, Self>,
        y: Option<&PooledBuffer<Self>>,
        grad: &mut Buffer<Self>,
    ) -> Result<[Buffer<Self>; 2]> {
        let (BatchNormSize { rows, channels }, activation) = (inputs.size, inputs.activation);
        let chunk = rows_per_chunk(channels);
        let affine = Affine::new(inputs);
        // For every chunk the sums Σ dz of all channels, then Σ dz (x − m).
        let mut partial = vec![0.0; 2 * channels * rows.div_ceil(chunk)];
        let beside = (partial.as_mut_slice(), 2 * channels);
        for_rows_zipped(grad, (chunk, channels), beside, |first, grad, sums| {
            let start = first * channels;
            let part = start..start + grad.len();
            let own = &inputs.x[part.clone()];
            let shift = inputs.shift.map(|shift| &shift[part.clone()]);
            let y = y.map(|y| &y[part.clone()]);
            activated!(activation, |act| simd!({
                before_activation(grad, own, y, &affine, shift, act, activation);
                add_sums(grad, own, &affine.mean, sums);
            }));
        });
        let (mut of_beta, mut of_gamma) = (vec![0.0; channels], vec![0.0; channels]);
        for channel in 0..channels {
            let total = |offset: usize| -> f64 {
                let parts = partial.chunks_exact(2 * channels);
                parts.map(|sums| f64::from(sums[offset + channel])).sum()
            };
            of_beta[channel] = total(0) as f32;
            of_gamma[channel] = (total(channels) * f64::from(inputs.rstd[channel])) as f32;
        }
        Ok([self.upload(of_beta)?, self.upload(of_gamma)?])
    }

    fn batch_norm_backward(
        &self,
        inputs: &BatchNormInputs<'_, Self>,
        sums: Option<&[Buffer<Self>; 2]>,
        grad: &mut Buffer<Self>,
        into: Option<&mut Buffer<Self>>,
    ) -> Result<()> {
        let (BatchNormSize { rows, channels }, x) = (inputs.size, inputs.x);
        // Per channel, dx = a dz + b + k (x − m).
        let a = factors(inputs);
        let share = 1.0 / rows as f32;
        let (mut b, mut k) = (vec![0.0; channels], vec![0.0; channels]);
        if let Some([of_beta, of_gamma]) = sums {
            for channel in 0..channels {
                b[channel] = -a[channel] * of_beta[channel] * share;
                k[channel] = -a[channel] * inputs.rstd[channel] * of_gamma[channel] * share;
            }
        }
        let wide = [&a, &b, &k, inputs.mean].map(|values| repeated(values));
        let len = rows_per_chunk(channels) * channels;
        match into {
            None => for_each_chunk(grad, len, |start, grad| {
                simd!(backward(grad, None, &x[start..], &wide));
            }),
            Some(into) => for_each_chunk_pair(into, grad, len, |start, into, grad| {
                simd!(backward(into, Some(grad), &x[start..], &wide));
            }),
        }
        Ok(())
    }
}

/// `γ / √(v + ε)` of every channel.
fn factors(inputs: &BatchNormInputs<'_, Cpu>) -> Vec<f32> {
    let pairs = inputs.gamma.iter().zip(inputs.rstd.iter());
    pairs.map(|(gamma, rstd)| gamma * rstd).collect()
}

/// Approximate number of values processed together: several rows if there are few channels, so that the inner loop is
/// long.
const WIDE: usize = 256;

/// `values`, one per channel, repeated for as many rows as are processed together.
fn repeated(values: &[f32]) -> Vec<f32> {
    values.repeat((WIDE / values.len()).max(1))
}

/// Adds the rows of `wide`, each with one value per channel, to `sums`, one per channel.
fn folded(wide: &[f32], sums: &mut [f32]) {
    for row in wide.chunks_exact(sums.len()) {
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += value;
        }
    }
}

/// The affine map before the activation, `(x − mean) · factor + β`, with each parameter repeated by [`repeated`].
struct Affine {
    mean: Vec<f32>,
    factors: Vec<f32>,
    beta: Vec<f32>,
}

impl Affine {
    fn new(inputs: &BatchNormInputs<'_, Cpu>) -> Self {
        Self {
            mean: repeated(inputs.mean),
            factors: repeated(&factors(inputs)),
            beta: repeated(inputs.beta),
        }
    }

    /// The parameters for the first `len` of the values that are processed together.
    #[inline(always)]
    fn part(&self, len: usize) -> [&[f32]; 3] {
        [&self.mean[..len], &self.factors[..len], &self.beta[..len]]
    }
}

/// Mean of every channel of a chunk, and sum of squared deviations from it, in two passes over a chunk that fits into
/// the cache.
fn moments_of(x: &[f32], channels: usize) -> (Vec<f32>, Vec<f32>) {
    let share = channels as f32 / x.len() as f32;
    // Sums differences from the first row, which are small even if the mean is large.
    let first = repeated(&x[..channels]);
    let (mut wide, mut mean) = (vec![0.0; first.len()], x[..channels].to_vec());
    simd!({
        for x in x.chunks(first.len()) {
            for ((sum, x), first) in wide.iter_mut().zip(x).zip(&first) {
                *sum += x - first;
            }
        }
    });
    let mut sums = vec![0.0; channels];
    folded(&wide, &mut sums);
    for (mean, sum) in mean.iter_mut().zip(&sums) {
        *mean += sum * share;
    }
    let around = repeated(&mean);
    wide.fill(0.0);
    simd!({
        for x in x.chunks(around.len()) {
            for ((sum, x), mean) in wide.iter_mut().zip(x).zip(&around) {
                *sum += (x - mean) * (x - mean);
            }
        }
    });
    sums.fill(0.0);
    folded(&wide, &mut sums);
    (mean, sums)
}

#[inline(always)]
fn forward(y: &mut [f32], x: &[f32], affine: &Affine, shift: Option<&[f32]>, act: impl Activate) {
    let wide = affine.mean.len();
    let parts = y.chunks_mut(wide).zip(x.chunks(wide));
    // Two separate loops, so that there is no branch inside a loop.
    match shift {
        None => {
            for (y, x) in parts {
                let ([mean, factors, beta], x) = (affine.part(y.len()), &x[..y.len()]);
                for c in 0..y.len() {
                    y[c] = act.value((x[c] - mean[c]) * factors[c] + beta[c]);
                }
            }
        }
        Some(shift) => {
            for ((y, x), shift) in parts.zip(shift.chunks(wide)) {
                let ([mean, factors, beta], x) = (affine.part(y.len()), &x[..y.len()]);
                let shift = &shift[..y.len()];
                for c in 0..y.len() {
                    y[c] = act.value((x[c] - mean[c]) * factors[c] + beta[c] + shift[c]);
                }
            }
        }
    }
}

/// Multiplies `grad` by the activation's derivative, computed from the result `y` if given, else from the value before
/// the activation.
#[inline(always)]
fn before_activation(
    grad: &mut [f32],
    x: &[f32],
    y: Option<&[f32]>,
    affine: &Affine,
    shift: Option<&[f32]>,
    act: impl Activate,
    activation: Activation,
) {
    if activation == Activation::Identity {
        return;
    }
    if let Some(y) = y {
        for (grad, y) in grad.iter_mut().zip(y) {
            *grad *= act.slope_from_kept(*y);
        }
        return;
    }
    let wide = affine.mean.len();
    let parts = grad.chunks_mut(wide).zip(x.chunks(wide));
    match shift {
        None => {
            for (grad, x) in parts {
                let ([mean, factors, beta], x) = (affine.part(grad.len()), &x[..grad.len()]);
                for c in 0..grad.len() {
                    grad[c] *= act.slope((x[c] - mean[c]) * factors[c] + beta[c]);
                }
            }
        }
        Some(shift) => {
            for ((grad, x), shift) in parts.zip(shift.chunks(wide)) {
                let ([mean, factors, beta], x) = (affine.part(grad.len()), &x[..grad.len()]);
                let shift = &shift[..grad.len()];
                for c in 0..grad.len() {
                    grad[c] *= act.slope((x[c] - mean[c]) * factors[c] + beta[c] + shift[c]);
                }
            }
        }
    }
}

/// `dx = a dz + b + k (x − m)`; if `dz` is `None`, `dx` holds dz on entry.
#[inline(always)]
fn backward(dx: &mut [f32], dz: Option<&[f32]>, x: &[f32], wide: &[Vec<f32>; 4]) {
    let len = wide[0].len();
    let parts = dx.chunks_mut(len).zip(x.chunks(len));
    let [a, b, k, mean] = wide;
    match dz {
        None => {
            for (dx, x) in parts {
                let n = dx.len();
                let (a, b, k, mean, x) = (&a[..n], &b[..n], &k[..n], &mean[..n], &x[..n]);
                for c in 0..n {
                    dx[c] = a[c] * dx[c] + b[c] + k[c] * (x[c] - mean[c]);
                }
            }
        }
        Some(dz) => {
            for ((dx, x), dz) in parts.zip(dz.chunks(len)) {
                let n = dx.len();
                let (a, b, k, mean, x) = (&a[..n], &b[..n], &k[..n], &mean[..n], &x[..n]);
                let dz = &dz[..n];
                for c in 0..n {
                    dx[c] = a[c] * dz[c] + b[c] + k[c] * (x[c] - mean[c]);
                }
            }
        }
    }
}

/// Adds Σ dz and Σ dz (x − m) of a chunk, per channel, to `sums`.
#[inline(always)]
fn add_sums(dz: &[f32], x: &[f32], mean: &[f32], sums: &mut [f32]) {
    let (plain, centred) = sums.split_at_mut(sums.len() / 2);
    let (mut of_dz, mut of_products) = (vec![0.0; mean.len()], vec![0.0; mean.len()]);
    for (dz, x) in dz.chunks(mean.len()).zip(x.chunks(mean.len())) {
        let (mean, x) = (&mean[..dz.len()], &x[..dz.len()]);
        let (of_dz, of_products) = (&mut of_dz[..dz.len()], &mut of_products[..dz.len()]);
        for c in 0..dz.len() {
            of_dz[c] += dz[c];
            of_products[c] += dz[c] * (x[c] - mean[c]);
        }
    }
    folded(&of_dz, plain);
    folded(&of_products, centred);
}
