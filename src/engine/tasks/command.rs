//! The task of a model of `kind = "command"`. A program of the user trains this model, so only its checks are here.

use super::workload::{BuiltTask, ReferenceDataKind, ReferenceFiles, Workload};
use super::{TaskError, TaskParts};
use crate::datasets::{DatasetFacts, DatasetSpec, Features, Target};
use crate::losses::LossSpec;
use crate::models::CommandSpec;
use crate::ops::Kernels;

impl Workload for CommandSpec {
    fn misfit(&self, _facts: &DatasetFacts, _loss: &LossSpec) -> Option<String> {
        None
    }

    fn default_loss(&self, _dataset: &DatasetSpec) -> LossSpec {
        LossSpec::Own
    }

    fn forward_flops(&self, _features: Features, _target: Target) -> Option<f64> {
        None
    }

    fn reference_data_kind(&self, _files: &ReferenceFiles<'_>) -> ReferenceDataKind {
        Err("a command has no layers that could be verified".to_owned())
    }

    fn build<D: Kernels>(&self, _device: &D, _parts: TaskParts<'_>) -> BuiltTask<D> {
        Err(TaskError::Misfit(
            "a command trains in its own program".to_owned(),
        ))
    }
}
