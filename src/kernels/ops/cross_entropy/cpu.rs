//! Softmax cross-entropy on the CPU: exponentials of whole chunks of rows at once, since rows are short.

use dfdx::tensor::Cpu;

use super::{ClassTargetWeights, ClassTargets, CrossEntropyKernel};
use crate::device::{Backend, Buffer};
use crate::ops::chunks::{for_rows, map_chunks, rows_per_chunk};
use crate::ops::gemm::{Accumulate, zeroed_unless_adding};
use crate::ops::simd::simd;
use crate::ops::{Result, math};

impl CrossEntropyKernel for Cpu {
    fn cross_entropy(
        &self,
        logits: &Buffer<Self>,
        targets: &ClassTargets,
    ) -> Result<(Buffer<Self>, Buffer<Self>)> {
        let (classes, labels) = (targets.classes, &targets.labels);
        let mut probabilities = vec![0.0; logits.len()];
        for_rows(&mut probabilities, classes, |first, chunk| {
            let logits = &logits[first * classes..][..chunk.len()];
            simd!(exponentials(chunk, logits, classes));
        });
        // The loss `log Σ exp(x) - x[label]` of every row, before its exponentials are normalised.
        let rows = rows_per_chunk(classes);
        let losses = map_chunks(labels.len(), rows, logits.len(), |range| {
            let loss = |row: usize| {
                let own = row * classes..(row + 1) * classes;
                let sum: f32 = probabilities[own.clone()].iter().sum();
                let logits = &logits[own];
                let log = sum.ln() + highest(logits);
                match &targets.shares {
                    None => f64::from(log - logits[labels[row]]),
                    Some(shares) => shared_loss(log, logits, labels[row], shares),
                }
            };
            range.map(loss).sum::<f64>()
        });
        for_rows(&mut probabilities, classes, |_, chunk| {
            chunk.chunks_exact_mut(classes).for_each(normalise);
        });
        let mean = losses.iter().sum::<f64>() / targets.divisor;
        Ok((self.upload(vec![mean as f32])?, self.upload(probabilities)?))
    }

    fn cross_entropy_backward(
        &self,
        probabilities: &Buffer<Self>,
        targets: &ClassTargets,
        dy: &Buffer<Self>,
        dlogits: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let dlogits = zeroed_unless_adding(dlogits);
        let classes = targets.classes;
        let scale = dy[0] / targets.divisor as f32;
        for_rows(dlogits, classes, |first, chunk| {
            let probabilities = &probabilities[first * classes..];
            let rows = chunk
                .chunks_exact_mut(classes)
                .zip(probabilities.chunks_exact(classes));
            for ((dlogits, probabilities), label) in rows.zip(&targets.labels[first..]) {
                match &targets.shares {
                    None => slope(dlogits, probabilities, *label, scale),
                    Some(shares) => shared_slope(dlogits, probabilities, *label, (shares, scale)),
                }
            }
        });
        Ok(())
    }
}

fn slope(dlogits: &mut [f32], probabilities: &[f32], label: usize, scale: f32) {
    let own = dlogits[label] + scale * (probabilities[label] - 1.0);
    for (dlogit, probability) in dlogits.iter_mut().zip(probabilities) {
        *dlogit += scale * probability;
    }
    dlogits[label] = own;
}

/// The loss of a row with label smoothing or class weights; `log` is `log Σ exp(logits)`.
fn shared_loss(log: f32, logits: &[f32], label: usize, shares: &ClassTargetWeights) -> f64 {
    let own = f64::from(shares.own[label]) * f64::from(log - logits[label]);
    if shares.spread_sum == 0.0 {
        // The other terms are skipped instead of multiplied by 0, because 0 times an infinite logit is NaN.
        return own;
    }
    let spread = logits.iter().zip(&shares.spread);
    own + spread
        .map(|(logit, share)| f64::from(*share) * f64::from(log - logit))
        .sum::<f64>()
}

fn shared_slope(
    dlogits: &mut [f32],
    probabilities: &[f32],
    label: usize,
    (shares, scale): (&ClassTargetWeights, f32),
) {
    let (before, sum) = (dlogits[label], shares.spread_sum + shares.own[label]);
    let values = dlogits.iter_mut().zip(probabilities).zip(&shares.spread);
    for ((dlogit, probability), share) in values {
        *dlogit += scale * (sum * probability - share);
    }
    let target = shares.spread[label] + shares.own[label];
    dlogits[label] = before + scale * (sum * probabilities[label] - target);
}

#[inline(always)]
fn exponentials(y: &mut [f32], logits: &[f32], classes: usize) {
    for (y, logits) in y
        .chunks_exact_mut(classes)
        .zip(logits.chunks_exact(classes))
    {
        let highest = highest(logits);
        for (y, logit) in y.iter_mut().zip(logits) {
            *y = logit - highest;
        }
    }
    for y in y {
        *y = math::exp(*y);
    }
}

/// The largest logit of a row. NaN is ignored here, but makes the exponentials NaN.
#[inline(always)]
fn highest(row: &[f32]) -> f32 {
    row.iter().copied().fold(f32::NEG_INFINITY, f32::max)
}

fn normalise(row: &mut [f32]) {
    let sum: f32 = row.iter().sum();
    for value in row.iter_mut() {
        *value /= sum;
    }
}
