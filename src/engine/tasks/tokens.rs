//! Language models: predict the next token at every position of a window.

use super::goal::Goal;
use super::{OutputKind, ReferenceInputs, Score};
use crate::loader::Batch;
use crate::ops::{
    CrossEntropyOptions, Kernels, Pass, Result, Var, cross_entropy, cross_entropy_with_targets,
};

/// The language-model goal: at each of `length` positions predict the next of `vocabulary` different tokens.
pub(super) struct NextToken {
    pub(super) length: usize,
    pub(super) vocabulary: usize,
    pub(super) label_smoothing: f64,
}

impl NextToken {
    /// Reshapes logits `(B, length, vocabulary)` to `(B · length, vocabulary)`.
    fn rows<D: Kernels>(&self, logits: &Var<D>) -> Result<Var<D>> {
        logits.reshape([logits.shape().rows(), self.vocabulary])
    }
}

/// Targets of a batch: `B · length` tokens, and the number of their bytes in UTF-8.
pub(super) struct Targets {
    tokens: Vec<usize>,
    bytes: f64,
}

impl<D: Kernels> Goal<D> for NextToken {
    type Host = Targets;
    type Targets = Targets;

    fn meaning(&self) -> OutputKind {
        OutputKind::Logits
    }

    /// Takes the targets from the features: each window has `length` input tokens and one more token.
    fn of_batch(&self, batch: &mut Batch) -> Targets {
        let windows = batch.features.chunks_exact(self.length + 1);
        let tokens = windows.flat_map(|window| window[1..].iter().map(|id| *id as usize));
        Targets {
            tokens: tokens.collect(),
            bytes: batch.values.iter().map(|bytes| f64::from(*bytes)).sum(),
        }
    }

    fn of_reference(&self, inputs: &mut ReferenceInputs) -> Targets {
        let tokens = inputs.indices("label", &[self.length], self.vocabulary);
        let bytes = tokens.len() as f64;
        Targets { tokens, bytes }
    }

    fn upload(&self, _device: &D, host: Targets, _rows: usize) -> Result<Targets> {
        Ok(host)
    }

    fn loss(&self, pass: &mut Pass<D>, logits: &Var<D>, targets: &Targets) -> Result<Var<D>> {
        let options = CrossEntropyOptions {
            label_smoothing: self.label_smoothing,
            weights: Vec::new(),
        };
        cross_entropy_with_targets(pass, &self.rows(logits)?, &targets.tokens, &options)
    }

    fn score(
        &self,
        device: &D,
        logits: &Var<D>,
        targets: &Targets,
        score: &mut Score,
    ) -> Result<()> {
        if self.label_smoothing > 0.0 {
            // Bits per byte are computed from the loss without label smoothing.
            let rows = self.rows(logits)?;
            let loss = cross_entropy(&mut Pass::inference(device), &rows, &targets.tokens)?;
            let samples = targets.tokens.len() / self.length;
            score.add_plain_loss(loss.to_host(device)?[0], samples);
        }
        let logits = logits.to_host(device)?;
        score.add_tokens(&logits, &targets.tokens, self.length, targets.bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{TestDevice, device};

    #[test]
    fn smoothing_changes_the_loss_and_not_the_bits_per_byte() {
        let device = device();
        let values = vec![1.0, 2.0, -1.0, 0.5, 0.0, 3.0];
        let logits = Var::constant(&device, values, [1, 2, 3]).unwrap();
        let metrics = |label_smoothing| {
            let goal = NextToken {
                length: 2,
                vocabulary: 3,
                label_smoothing,
            };
            let targets = Targets {
                tokens: vec![0, 2],
                bytes: 4.0,
            };
            let mut pass = Pass::inference(&device);
            let loss = goal.loss(&mut pass, &logits, &targets).unwrap();
            let mut score = Score::default();
            score.add_loss(loss.to_host(&device).unwrap()[0], 1);
            Goal::<TestDevice>::score(&goal, &device, &logits, &targets, &mut score).unwrap();
            score.metrics()
        };
        let (plain, smoothed) = (metrics(0.0), metrics(0.2));
        assert_ne!(plain[0], smoothed[0]);
        assert_eq!(plain[1..], smoothed[1..]);
        assert_eq!(plain[2].0, "bits_per_byte");
    }
}
