//! Language models: for every token of a window, the next one.

use super::supervised::Goal;
use super::{Meaning, ReferenceInputs, Score};
use crate::loader::Batch;
use crate::ops::{Kernels, Pass, Result, Var, cross_entropy};

/// The next token at each of `length` positions, one of `vocabulary`.
pub(super) struct NextToken {
    pub(super) length: usize,
    pub(super) vocabulary: usize,
}

/// The targets of a batch: `B · length` tokens, and their bytes in UTF-8.
pub(super) struct Targets {
    tokens: Vec<usize>,
    bytes: f64,
}

impl<D: Kernels> Goal<D> for NextToken {
    type Host = Targets;
    type Targets = Targets;

    fn meaning(&self) -> Meaning {
        Meaning::Logits
    }

    /// A sample's features are its `length` inputs and the token after them.
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
        let rows = logits.reshape([logits.shape().rows(), self.vocabulary])?;
        cross_entropy(pass, &rows, &targets.tokens)
    }

    fn score(
        &self,
        device: &D,
        logits: &Var<D>,
        targets: &Targets,
        score: &mut Score,
    ) -> Result<()> {
        let logits = logits.to_host(device)?;
        score.add_classes(&logits, self.vocabulary, &targets.tokens);
        score.add_tokens(self.length, targets.bytes);
        Ok(())
    }
}
