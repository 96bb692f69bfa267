//! [`Workload`]: what the planner, `verify` and the worker need to know about a family of models.

use std::collections::BTreeMap;

use super::{Algorithm, ReferenceInputs, Task, TaskError, TaskParts};
use crate::datasets::{DatasetFacts, DatasetSpec, Features, Target};
use crate::losses::{BinaryCrossEntropySpec, CrossEntropySpec, LossSpec, MseSpec};
use crate::models::{ModelSpec, each_model};
use crate::ops::Kernels;

/// Features and target that reference files imply; `None` if the dataset determines them instead; a message on an
/// error.
pub type ReferenceDataKind = Result<Option<(Features, Target)>, String>;

/// A task with its model, or the reason why it cannot be built.
pub type BuiltTask<D> = Result<Box<dyn Task<D>>, TaskError>;

/// The manifest's loss and the reference files (a training step of another implementation), from which features and
/// target are derived.
#[derive(Debug)]
pub struct ReferenceFiles<'a> {
    /// Settings of the loss function in the manifest.
    pub loss: &'a LossSpec,
    /// The input tensors by name.
    pub inputs: &'a ReferenceInputs,
    /// Shapes of the weights by name.
    pub weights: BTreeMap<&'a str, &'a [usize]>,
}

impl ReferenceFiles<'_> {
    /// Number of rows of the weight `name`; a message as error if there is no such weight.
    pub(super) fn rows_of(&self, name: &str) -> Result<usize, String> {
        let rows = self.weights.get(name).and_then(|shape| shape.first());
        rows.copied()
            .ok_or_else(|| format!("`weights.safetensors` has no `{name}`"))
    }
}

/// A family of models: the data and losses that it supports, its FLOPs, and how to build its task.
///
/// Implemented for the `Spec` of every model, next to its task, and for [`ModelSpec`].
pub trait Workload {
    /// Message saying why this model does not fit these data and this loss; `None` if it fits.
    fn misfit(&self, facts: &DatasetFacts, loss: &LossSpec) -> Option<String>;

    /// Whether the task can learn targets that are mixed from two samples ([`DatasetFacts::mixes`]).
    fn learns_mixed_targets(&self) -> bool {
        false
    }

    /// The default loss: mean squared error for numbers, cross-entropy for classes, binary cross-entropy for labels.
    fn default_loss(&self, dataset: &DatasetSpec) -> LossSpec {
        if dataset.predicts_numbers() {
            LossSpec::Mse(MseSpec::default())
        } else if dataset.predicts_labels() {
            LossSpec::BinaryCrossEntropy(BinaryCrossEntropySpec::default())
        } else {
            LossSpec::CrossEntropy(CrossEntropySpec::default())
        }
    }

    /// Whether `algorithm` can train the model.
    fn is_trained_by(&self, algorithm: Algorithm) -> bool {
        algorithm == Algorithm::Backprop
    }

    /// FLOPs of the forward pass of one sample, by formula; `None` if the data do not fit the model.
    fn forward_flops(&self, features: Features, target: Target) -> Option<f64>;

    /// Features and target that the reference files imply; `None` if the manifest's dataset determines them.
    ///
    /// # Errors
    /// A message about the missing or wrong tensor.
    fn reference_data_kind(&self, _files: &ReferenceFiles<'_>) -> ReferenceDataKind {
        Ok(None)
    }

    /// Builds the task; its model gets new initial weights.
    ///
    /// # Errors
    /// [`TaskError::Misfit`] if model, loss and data do not fit together, [`TaskError::Op`] when the device fails.
    fn build<D: Kernels>(&self, device: &D, parts: TaskParts<'_>) -> BuiltTask<D>;
}

impl Workload for ModelSpec {
    fn misfit(&self, facts: &DatasetFacts, loss: &LossSpec) -> Option<String> {
        let wrong = each_model!(self, spec => spec.misfit(facts, loss));
        if wrong.is_none() && facts.mixes && !self.learns_mixed_targets() {
            return Some(format!(
                "`augment.mixup` and `augment.cutmix` mix the targets of samples, which `{}` does not learn; use `layers` or `mlp`",
                self.kind()
            ));
        }
        wrong
    }

    fn learns_mixed_targets(&self) -> bool {
        each_model!(self, spec => spec.learns_mixed_targets())
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

    fn reference_data_kind(&self, files: &ReferenceFiles<'_>) -> ReferenceDataKind {
        each_model!(self, spec => spec.reference_data_kind(files))
    }

    fn build<D: Kernels>(&self, device: &D, parts: TaskParts<'_>) -> BuiltTask<D> {
        if !self.is_trained_by(parts.algorithm) {
            return Err(TaskError::misfit(parts));
        }
        each_model!(self, spec => Workload::build(spec, device, parts))
    }
}

/// Message for data with a single class, from which nothing can be learned.
pub(super) const ONE_CLASS: &str =
    "the dataset has a single class, so there is nothing to tell apart";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datasets::{DigitsSpec, ImageSize};

    #[test]
    fn mixed_targets_are_for_models_that_predict_targets() {
        let image = ImageSize {
            height: 8,
            width: 8,
            channels: 3,
        };
        let target = Target::Class { classes: 2 };
        let plain = DatasetFacts::new([8, 0, 0], Features::Image(image), target, None);
        let mixed = DatasetFacts {
            mixes: true,
            ..plain.clone()
        };
        let learns = [
            ("kind = \"mlp\"", true),
            (
                "kind = \"layers\"\nlayers = [\"flatten\", { linear = \"classes\" }]",
                true,
            ),
            ("kind = \"ddpm-unet\"", false),
            ("kind = \"equilibrium\"", false),
        ];
        for (text, is_learned) in learns {
            let model: ModelSpec = toml::from_str(text).unwrap();
            let loss = model.default_loss(&DatasetSpec::Digits(DigitsSpec::default()));
            assert_eq!(model.misfit(&plain, &loss), None, "{text}");
            let misfit = model.misfit(&mixed, &loss);
            assert_eq!(misfit.is_none(), is_learned, "{text}: {misfit:?}");
            let says = |message: &str| message.contains("`augment.mixup` and `augment.cutmix`");
            assert!(misfit.is_none_or(|message| says(&message)));
        }
    }
}
