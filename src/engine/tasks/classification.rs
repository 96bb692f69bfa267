//! Classification: outputs are logits, targets are classes.

use super::supervised::Goal;
use super::{Meaning, ReferenceInputs, Score, TaskError, TaskParts};
use crate::loader::Batch;
use crate::losses::CrossEntropySpec;
use crate::ops::{CrossEntropyOptions, Kernels, Pass, Result, Var, cross_entropy_by};

/// One of `classes` classes per sample.
pub(super) struct Classes {
    classes: usize,
    options: CrossEntropyOptions,
}

impl Classes {
    /// Classes of the task's data with the loss `spec`.
    ///
    /// # Errors
    /// [`TaskError::Misfit`] when the loss does not fit the number of classes, or its weights follow from rows that are missing.
    pub(super) fn new(
        spec: &CrossEntropySpec,
        classes: usize,
        parts: TaskParts<'_>,
    ) -> Result<Self, TaskError> {
        if let Some(misfit) = spec.misfit(classes) {
            return Err(TaskError::Misfit(misfit));
        }
        let weights = spec.class_weights(parts.rows_by_class);
        let weights = weights.map_err(TaskError::Misfit)?;
        let label_smoothing = spec.label_smoothing;
        let options = CrossEntropyOptions {
            label_smoothing,
            weights,
        };
        Ok(Self { classes, options })
    }
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
        cross_entropy_by(pass, logits, labels, &self.options)
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
