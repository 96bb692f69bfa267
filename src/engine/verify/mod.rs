//! Compares a model with another implementation of it: from equal weights and inputs, the loss, the gradients, and the
//! weights after three optimizer steps.
//!
//! Owns [`verify`], [`Verification`] and the reading of reference files (docs/verify.md has their format); and
//! [`operations`], which compares a device with the CPU. Prints nothing.

mod compare;
mod files;
pub mod operations;

pub use compare::Verification;
pub use files::VerifyError;

use std::path::Path;

use crate::base::Seed;
use crate::datasets::{Features, FingerprintCache, Target};
use crate::layers::checkpoint::{self, CheckpointError, Tensor};
use crate::layers::names;
use crate::ops::{self, DeviceJob, Grads, Kernels, Module, OpError, Path as Name, Result};
use crate::optim::clip;
use crate::plan::CellSpec;
use crate::tasks::{self, ReferenceFiles, ReferenceInputs, Task, TaskError, TaskParts, Workload};
use compare::Outcome;
use files::{Reference, Untrained};

/// Number of optimizer steps after which weights are compared.
pub const STEPS: usize = 3;

/// Takes three optimizer steps with the model of `cell`, all on the inputs in `folder`, and compares the results with
/// the reference files there. Without dropout, at a constant learning rate.
///
/// # Errors
/// [`VerifyError::Reference`] with every file that is missing or damaged, and every tensor that does not fit.
pub fn verify(cell: &CellSpec, folder: &Path) -> Result<Verification, VerifyError> {
    let reference = Reference::read(folder)?;
    let job = Job { cell, reference };
    ops::run_on(cell.train.device, job).map_err(OpError::from)?
}

struct Job<'a> {
    cell: &'a CellSpec,
    reference: Reference,
}

impl DeviceJob for Job<'_> {
    type Output = Result<Verification, VerifyError>;

    fn run<D: Kernels>(self, device: D) -> Self::Output {
        let mut task = self.build(&device)?;
        checkpoint::restore(&device, task.module(), &self.reference.weights)
            .map_err(|error| misfit("weights.safetensors", error))?;
        let freeze = &self.cell.train.freeze;
        if !freeze.is_empty() {
            names::freeze(task.module(), freeze).map_err(|error| VerifyError::one(&error))?;
        }
        let untrained = Untrained::of(task.module());
        self.reference.check_names(&untrained)?;
        let outcome = steps(self.cell, &self.reference.inputs, &device, &mut *task)?;
        Ok(compare::compare(&self.reference, outcome, &untrained))
    }
}

/// Takes three optimizer steps, each on `inputs`; returns the loss, gradients and weights to compare.
fn steps<D: Kernels>(
    cell: &CellSpec,
    inputs: &ReferenceInputs,
    device: &D,
    task: &mut dyn Task<D>,
) -> Result<Outcome, VerifyError> {
    let mut optimizer = cell.train.optimizer.build();
    let lr = cell.train.optimizer.lr();
    let mut outcome = Outcome::default();
    // Discards the algorithms that earlier calls recorded.
    ops::take_used_algorithms();
    for step in 0..STEPS {
        let mut micro = task.reference(&mut inputs.clone()).map_err(inputs_error)?;
        if step == 0 {
            outcome.loss = f64::from(micro.loss.to_host(device).map_err(OpError::from)?[0]);
            outcome.grads = gradients(device, task.module(), &mut micro.grads)?;
        }
        if let Some(max_norm) = cell.train.clip {
            let by = cell.train.clip_by;
            clip(task.module(), &mut micro.grads, max_norm, by)?;
        }
        optimizer.step(task.module(), &mut micro.grads, lr, None)?;
        task.after_step(true, None)?;
    }
    outcome.evaluation = task
        .reference_evaluation(&mut inputs.clone())
        .map_err(inputs_error)?;
    outcome.after = checkpoint::snapshot(device, task.module()).map_err(OpError::from)?;
    outcome.convolutions = ops::take_used_algorithms();
    Ok(outcome)
}

impl Job<'_> {
    /// Features and target of the manifest's dataset.
    fn form_of_data(&self) -> Result<(Features, Target), VerifyError> {
        let share = self.cell.validation.fraction_or_zero();
        let facts = self
            .cell
            .dataset
            .facts(share, &mut FingerprintCache::default());
        let facts = facts.map_err(|error| VerifyError::one(&error))?;
        Ok((facts.features, facts.target))
    }

    /// Builds the task; features and target come from the reference files, else from the dataset.
    fn build<D: Kernels>(&self, device: &D) -> Result<Box<dyn Task<D>>, VerifyError> {
        let (model, loss) = (&*self.cell.model, &*self.cell.loss);
        let files = ReferenceFiles {
            loss,
            inputs: &self.reference.inputs,
            weights: self.reference.shapes(),
        };
        let (features, target) = model
            .reference_data_kind(&files)
            .map_err(|error| VerifyError::one(&error))?
            .map_or_else(|| self.form_of_data(), Ok)?;
        let parts = TaskParts {
            model,
            loss,
            features,
            target,
            algorithm: self.cell.train.algorithm,
            beta: self.cell.train.beta,
            convolution: self.cell.train.convolution,
            training: &[],
            rows_by_class: &[],
            seed: Seed(0),
        };
        tasks::build(device, parts).map_err(|error| match error {
            TaskError::Misfit(text) => VerifyError::one(&text),
            TaskError::Data(error) => VerifyError::one(&error.to_string()),
            TaskError::Op(error) => VerifyError::Op(error),
        })
    }
}

/// The gradient of every trained parameter, with PyTorch's name, shape and layout.
fn gradients<D: Kernels>(
    device: &D,
    module: &mut dyn Module<D>,
    grads: &mut Grads<D>,
) -> Result<Vec<Tensor>> {
    let mut tensors = Ok(Vec::new());
    module.visit(&Name::root(), &mut |name, parameter| {
        let Ok(list) = &mut tensors else { return };
        if parameter.is_frozen() {
            return;
        }
        let shape = parameter.torch_shape();
        let values = grads
            .of_parameter(parameter)
            .and_then(|gradient| Ok(device.download(gradient)?));
        match values {
            Ok(values) => list.push(Tensor {
                name: name.to_owned(),
                shape: shape.dims().to_vec(),
                values: parameter.layout().to_torch(&values, shape),
            }),
            Err(error) => tensors = Err(error),
        }
    });
    tensors
}

fn misfit(file: &str, error: CheckpointError) -> VerifyError {
    match error {
        CheckpointError::Device(error) => VerifyError::Op(error),
        error => VerifyError::Reference(vec![format!("`{file}`: {error}")]),
    }
}

fn inputs_error(error: OpError) -> VerifyError {
    match error {
        OpError::Shape {
            op: "inputs",
            message,
        } => VerifyError::Reference(
            message
                .split("; ")
                .map(|mistake| format!("`inputs.safetensors`: {mistake}"))
                .collect(),
        ),
        error => VerifyError::Op(error),
    }
}

#[cfg(test)]
mod tests;
