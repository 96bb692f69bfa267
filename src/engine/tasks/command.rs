//! A command trains in its own program: it has no task of ours.

use std::collections::BTreeMap;

use super::workload::Workload;
use super::{ReferenceInputs, Task, TaskError, TaskParts};
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

    fn reference_form(
        &self,
        _loss: &LossSpec,
        _inputs: &ReferenceInputs,
        _weights: &BTreeMap<&str, &[usize]>,
    ) -> Result<Option<(Features, Target)>, String> {
        Err("a command has no layers that could be verified".to_owned())
    }

    fn build<D: Kernels>(
        &self,
        _device: &D,
        _parts: TaskParts<'_>,
    ) -> Result<Box<dyn Task<D>>, TaskError> {
        Err(TaskError::Misfit(
            "a command trains in its own program".to_owned(),
        ))
    }
}
