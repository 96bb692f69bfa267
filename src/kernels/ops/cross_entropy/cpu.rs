//! Softmax cross-entropy on the CPU: exponentials of whole chunks of rows at once, since rows are short.

use dfdx::tensor::Cpu;

use super::CrossEntropyKernel;
use crate::device::{Backend, Buffer};
use crate::ops::chunks::{for_rows, map_chunks, rows_per_chunk};
use crate::ops::gemm::{Accumulate, to_add};
use crate::ops::simd::simd;
use crate::ops::{Result, math};

impl CrossEntropyKernel for Cpu {
    fn cross_entropy(
        &self,
        logits: &Buffer<Self>,
        classes: usize,
        labels: &[usize],
    ) -> Result<(Buffer<Self>, Buffer<Self>)> {
        let mut probabilities = vec![0.0; logits.len()];
        for_rows(&mut probabilities, classes, |first, chunk| {
            let logits = &logits[first * classes..][..chunk.len()];
            simd!(exponentials(chunk, logits, classes));
        });
        // `log Σ exp(x) - x[label]`, before the exponentials are normalised.
        let rows = rows_per_chunk(classes);
        let losses = map_chunks(labels.len(), rows, logits.len(), |range| {
            let loss = |row: usize| {
                let own = row * classes..(row + 1) * classes;
                let sum: f32 = probabilities[own.clone()].iter().sum();
                let logits = &logits[own];
                f64::from(sum.ln() + highest(logits) - logits[labels[row]])
            };
            range.map(loss).sum::<f64>()
        });
        for_rows(&mut probabilities, classes, |_, chunk| {
            chunk.chunks_exact_mut(classes).for_each(normalise);
        });
        let mean = losses.iter().sum::<f64>() / labels.len() as f64;
        Ok((self.upload(vec![mean as f32])?, self.upload(probabilities)?))
    }

    fn cross_entropy_backward(
        &self,
        probabilities: &Buffer<Self>,
        classes: usize,
        labels: &[usize],
        dy: &Buffer<Self>,
        dlogits: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let dlogits = to_add(dlogits);
        let scale = dy[0] / labels.len() as f32;
        for_rows(dlogits, classes, |first, chunk| {
            let probabilities = &probabilities[first * classes..];
            let rows = chunk
                .chunks_exact_mut(classes)
                .zip(probabilities.chunks_exact(classes));
            for ((dlogits, probabilities), label) in rows.zip(&labels[first..]) {
                let own = dlogits[*label] + scale * (probabilities[*label] - 1.0);
                for (dlogit, probability) in dlogits.iter_mut().zip(probabilities) {
                    *dlogit += scale * probability;
                }
                dlogits[*label] = own;
            }
        });
        Ok(())
    }
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

/// The largest logit; ignores NaN, which shows up in the exponentials.
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
