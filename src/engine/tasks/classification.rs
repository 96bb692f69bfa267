//! Classification: outputs are logits, targets are classes.

use super::supervised::Goal;
use super::{Meaning, ReferenceInputs, Score};
use crate::loader::Batch;
use crate::ops::{Kernels, Pass, Result, Var, cross_entropy};

/// One of `classes` classes per sample.
pub(super) struct Classes {
    pub(super) classes: usize,
}

impl<D: Kernels> Goal<D> for Classes {
    type Host = Vec<usize>;
    type Targets = Vec<usize>;

    fn meaning(&self) -> Meaning {
        Meaning::Logits
    }

    fn of_batch(&self, batch: &mut Batch) -> Vec<usize> {
        indices(&batch.labels)
    }

    fn of_reference(&self, inputs: &mut ReferenceInputs) -> Vec<usize> {
        inputs.indices("label", &[], self.classes)
    }

    fn upload(&self, _device: &D, labels: Vec<usize>, _rows: usize) -> Result<Vec<usize>> {
        Ok(labels)
    }

    fn loss(&self, pass: &mut Pass<D>, logits: &Var<D>, labels: &Vec<usize>) -> Result<Var<D>> {
        cross_entropy(pass, logits, labels)
    }

    fn score(
        &self,
        device: &D,
        logits: &Var<D>,
        labels: &Vec<usize>,
        score: &mut Score,
    ) -> Result<()> {
        let logits = logits.to_host(device)?;
        score.add_classes(&logits, self.classes, labels);
        Ok(())
    }
}

pub(super) fn indices(labels: &[u32]) -> Vec<usize> {
    labels.iter().map(|&label| label as usize).collect()
}
