//! Softmax cross-entropy on the CPU, row by row.

use dfdx::tensor::Cpu;

use super::CrossEntropyKernel;
use crate::device::{Backend, Buffer};
use crate::ops::OpError;
use crate::ops::chunks::{for_rows, map_chunks};
use crate::ops::parallel::CHUNK;

impl CrossEntropyKernel for Cpu {
    fn cross_entropy(
        &self,
        logits: &Buffer<Self>,
        classes: usize,
        labels: &[usize],
    ) -> Result<(Buffer<Self>, Buffer<Self>), OpError> {
        let mut probabilities = self.zeros_buffer(logits.len())?;
        for_rows(&mut probabilities, classes, |first, chunk| {
            let rows = chunk
                .chunks_exact_mut(classes)
                .zip(logits[first * classes..].chunks_exact(classes));
            rows.for_each(|(probabilities, logits)| softmax(probabilities, logits));
        });
        let losses = map_chunks(
            labels.len(),
            (CHUNK / classes).max(1),
            logits.len(),
            |range| {
                let row = |index: usize| &logits[index * classes..(index + 1) * classes];
                range
                    .map(|index| f64::from(loss(row(index), labels[index])))
                    .sum::<f64>()
            },
        );
        let mean = losses.iter().sum::<f64>() / labels.len() as f64;
        Ok((self.upload(vec![mean as f32])?, probabilities))
    }

    fn cross_entropy_backward(
        &self,
        probabilities: &Buffer<Self>,
        classes: usize,
        labels: &[usize],
        dy: &Buffer<Self>,
        dlogits: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        let scale = dy[0] / labels.len() as f32;
        for_rows(dlogits, classes, |first, chunk| {
            for (offset, dlogits) in chunk.chunks_exact_mut(classes).enumerate() {
                let row = first + offset;
                for (class, dlogit) in dlogits.iter_mut().enumerate() {
                    let wanted = if class == labels[row] { 1.0 } else { 0.0 };
                    *dlogit += scale * (probabilities[row * classes + class] - wanted);
                }
            }
        });
        Ok(())
    }
}

fn highest(row: &[f32]) -> f32 {
    row.iter().copied().fold(f32::NEG_INFINITY, f32::max)
}

fn softmax(probabilities: &mut [f32], logits: &[f32]) {
    let highest = highest(logits);
    for (probability, logit) in probabilities.iter_mut().zip(logits) {
        *probability = (logit - highest).exp();
    }
    let sum: f32 = probabilities.iter().sum();
    for probability in probabilities {
        *probability /= sum;
    }
}

/// `log Σ exp(logits) - logits[label]`; NaN stays NaN, so that a diverged run is seen.
fn loss(logits: &[f32], label: usize) -> f32 {
    let highest = highest(logits);
    let sum: f32 = logits.iter().map(|logit| (logit - highest).exp()).sum();
    sum.ln() + highest - logits[label]
}
