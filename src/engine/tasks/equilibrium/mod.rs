//! Classification at the equilibrium of a weight-tied block, trained by one of two algorithms.
//!
//! `classifier.rs` has what both algorithms share: the model, batches, evaluation at the free equilibrium (solved from
//! zeros), and the memory for warm starts. `unrolled.rs` backpropagates through the solver's iterations;
//! `propagation.rs` is equilibrium propagation.

mod classifier;
mod memory;
mod propagation;
#[cfg(test)]
mod tests;
mod unrolled;

use self::classifier::Classifier;
use super::workload::{BuiltTask, ONE_CLASS, ReferenceDataKind, ReferenceFiles, Workload};
use super::{Algorithm, TaskError, TaskParts};
use crate::datasets::{DatasetFacts, Features, Target};
use crate::losses::LossSpec;
use crate::models::EquilibriumSpec;
use crate::ops::Kernels;

impl Workload for EquilibriumSpec {
    fn misfit(&self, facts: &DatasetFacts, loss: &LossSpec) -> Option<String> {
        if let Some(mistake) = self.check().into_iter().next() {
            return Some(mistake);
        }
        match facts.target {
            Target::Class { classes: ..2 } => return Some(ONE_CLASS.to_owned()),
            Target::Class { .. } => {}
            Target::Labels { .. } => {
                let message = "`equilibrium` tells one class of each sample, the dataset's targets are labels";
                return Some(message.to_owned());
            }
            _ => {
                return Some(
                    "`equilibrium` needs classes, the dataset's targets are numbers".to_owned(),
                );
            }
        }
        match loss {
            LossSpec::CrossEntropy(spec) if spec.is_plain() => None,
            LossSpec::CrossEntropy(_) => Some(
                "`equilibrium` learns by `cross-entropy` without `label-smoothing` and `weights`"
                    .to_owned(),
            ),
            loss => Some(format!(
                "`equilibrium` tells classes, `{}` does not fit; use `cross-entropy`",
                loss.kind()
            )),
        }
    }

    fn is_trained_by(&self, _algorithm: Algorithm) -> bool {
        true
    }

    fn forward_flops(&self, features: Features, target: Target) -> Option<f64> {
        match target {
            Target::Class { classes } => Some(self.forward_flops(features.len(), classes)),
            _ => None,
        }
    }

    fn reference_data_kind(&self, files: &ReferenceFiles<'_>) -> ReferenceDataKind {
        let len = files.inputs.len_of("x")?;
        let classes = files.rows_of("head.weight")?;
        Ok(Some((Features::Vector { len }, Target::Class { classes })))
    }

    fn build<D: Kernels>(&self, device: &D, parts: TaskParts<'_>) -> BuiltTask<D> {
        let classes = match (parts.loss, parts.target) {
            (LossSpec::CrossEntropy(spec), Target::Class { classes }) if spec.is_plain() => classes,
            _ => return Err(TaskError::misfit(parts)),
        };
        Ok(Box::new(Classifier::new(device, self, parts, classes)?))
    }
}
