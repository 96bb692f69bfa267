//! [`Workload`]: all that the planner, `verify` and the worker must know of a family of models.

use std::collections::BTreeMap;

use super::{Algorithm, ReferenceInputs, Task, TaskError, TaskParts};
use crate::datasets::{DatasetFacts, DatasetSpec, Features, Target};
use crate::losses::{CrossEntropySpec, LossSpec, MseSpec};
use crate::models::{ModelSpec, each_model};
use crate::ops::Kernels;

/// A family of models: on what it is trained and by which losses, its cost, its task.
///
/// Implemented for the `Spec` of every model, next to its task, and for [`ModelSpec`].
pub trait Workload {
    /// Why this model cannot learn these data with this loss; `None` if it can.
    fn misfit(&self, facts: &DatasetFacts, loss: &LossSpec) -> Option<String>;

    /// The loss where a manifest names none: of numbers the mean squared error, of classes cross-entropy.
    fn default_loss(&self, dataset: &DatasetSpec) -> LossSpec {
        if dataset.predicts_numbers() {
            LossSpec::Mse(MseSpec::default())
        } else {
            LossSpec::CrossEntropy(CrossEntropySpec::default())
        }
    }

    /// Whether `algorithm` trains the model.
    fn is_trained_by(&self, algorithm: Algorithm) -> bool {
        algorithm == Algorithm::Backprop
    }

    /// Floating-point operations of a forward pass of one sample, by formula; `None` if the data do not fit the model.
    fn forward_flops(&self, features: Features, target: Target) -> Option<f64>;

    /// The form of samples and targets that reference files imply: `inputs`, and the shapes of `weights` by name; `None` if
    /// the manifest's dataset decides.
    ///
    /// # Errors
    /// A sentence about the missing tensor.
    fn reference_form(
        &self,
        loss: &LossSpec,
        inputs: &ReferenceInputs,
        weights: &BTreeMap<&str, &[usize]>,
    ) -> Result<Option<(Features, Target)>, String>;

    /// The task, its model with initial weights.
    ///
    /// # Errors
    /// [`TaskError::Misfit`] when model, loss and data do not fit each other, [`TaskError::Op`] when the device fails.
    fn build<D: Kernels>(
        &self,
        device: &D,
        parts: TaskParts<'_>,
    ) -> Result<Box<dyn Task<D>>, TaskError>;
}

impl Workload for ModelSpec {
    fn misfit(&self, facts: &DatasetFacts, loss: &LossSpec) -> Option<String> {
        each_model!(self, spec => spec.misfit(facts, loss))
    }

    fn default_loss(&self, dataset: &DatasetSpec) -> LossSpec {
        each_model!(self, spec => spec.default_loss(dataset))
    }

    fn is_trained_by(&self, algorithm: Algorithm) -> bool {
        each_model!(self, spec => spec.is_trained_by(algorithm))
    }

    fn forward_flops(&self, features: Features, target: Target) -> Option<f64> {
        each_model!(self, spec => Workload::forward_flops(spec, features, target))
    }

    fn reference_form(
        &self,
        loss: &LossSpec,
        inputs: &ReferenceInputs,
        weights: &BTreeMap<&str, &[usize]>,
    ) -> Result<Option<(Features, Target)>, String> {
        each_model!(self, spec => spec.reference_form(loss, inputs, weights))
    }

    fn build<D: Kernels>(
        &self,
        device: &D,
        parts: TaskParts<'_>,
    ) -> Result<Box<dyn Task<D>>, TaskError> {
        if !self.is_trained_by(parts.algorithm) {
            return Err(TaskError::misfit(parts));
        }
        each_model!(self, spec => Workload::build(spec, device, parts))
    }
}

/// Why data with a single class teach nothing.
pub(super) const ONE_CLASS: &str =
    "the dataset has a single class, so there is nothing to tell apart";
