//! Multi-label targets: several labels per sample, each present or absent. The model outputs one logit per label.

use super::goal::Goal;
use super::{OutputKind, ReferenceInputs, Score, TaskError};
use crate::loader::Batch;
use crate::losses::BinaryCrossEntropySpec;
use crate::ops::{BinaryTargets, Kernels, Pass, Result, Var, binary_cross_entropy};

/// The multi-label goal with `len` labels per sample.
pub(super) struct Labels {
    len: usize,
    /// Factor of each label's loss where the label is present (PyTorch's `pos_weight`); empty if all factors are 1.
    pos_weight: Vec<f64>,
}

impl Labels {
    /// The goal for `len` labels per sample with the loss `spec`.
    ///
    /// # Errors
    /// [`TaskError::Misfit`] if the loss does not fit the number of labels.
    pub(super) fn new(spec: &BinaryCrossEntropySpec, len: usize) -> Result<Self, TaskError> {
        if let Some(misfit) = spec.incompatibility(len) {
            return Err(TaskError::Misfit(misfit));
        }
        let pos_weight = spec.pos_weight.clone();
        Ok(Self { len, pos_weight })
    }
}

/// The labels of a batch, on the host and on the device for the loss.
pub(super) struct BatchLabels<D: Kernels> {
    labels: Vec<f32>,
    targets: BinaryTargets<D>,
}

impl<D: Kernels> Goal<D> for Labels {
    type Host = Vec<f32>;
    type Targets = BatchLabels<D>;

    fn meaning(&self) -> OutputKind {
        OutputKind::LabelLogits
    }

    fn of_batch(&self, batch: &mut Batch) -> Vec<f32> {
        std::mem::take(&mut batch.values)
    }

    fn of_reference(&self, inputs: &mut ReferenceInputs) -> Vec<f32> {
        inputs.floats("y", &[self.len])
    }

    fn upload(&self, device: &D, labels: Vec<f32>, rows: usize) -> Result<BatchLabels<D>> {
        let shape = [rows, self.len];
        let targets = BinaryTargets::new(device, &labels, shape, &self.pos_weight)?;
        Ok(BatchLabels { labels, targets })
    }

    fn loss(&self, pass: &mut Pass<D>, logits: &Var<D>, batch: &BatchLabels<D>) -> Result<Var<D>> {
        binary_cross_entropy(pass, logits, &batch.targets)
    }

    fn score(
        &self,
        device: &D,
        logits: &Var<D>,
        batch: &BatchLabels<D>,
        score: &mut Score,
    ) -> Result<()> {
        let logits = logits.to_host(device)?;
        score.add_labels(&logits, &batch.labels, self.len);
        Ok(())
    }
}
