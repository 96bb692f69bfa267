//! [`Reference`]: the reference files, which describe a training step of another implementation.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;

use crate::layers::checkpoint::{self, Tensor};
use crate::ops::{Kernels, Module, OpError, Path as Name};
use crate::tasks::{ReferenceInputs, ReferenceTensor, ReferenceValues};

#[derive(Debug)]
pub(super) struct Reference {
    /// Weights before the first step, with running statistics.
    pub(super) weights: Vec<Tensor>,
    /// Inputs, the same in every step.
    pub(super) inputs: ReferenceInputs,
    /// Gradients of the first step for all trained parameters, before clipping.
    pub(super) grads: Vec<Tensor>,
    /// Weights after three optimizer steps, with running statistics.
    pub(super) after: Vec<Tensor>,
    /// Loss of the first step.
    pub(super) loss: f64,
    /// Loss in evaluation after the last step; `None` if the files do not have it.
    pub(super) evaluation: Option<f64>,
}

/// The fields of `expected.json` that this program reads.
#[derive(Debug, Deserialize)]
struct Expected {
    loss: f64,
    evaluation: Option<f64>,
}

impl Reference {
    /// Reads the reference files of a folder.
    ///
    /// # Errors
    /// [`VerifyError::Reference`] with every file that is missing or cannot be parsed.
    pub(super) fn read(folder: &Path) -> Result<Self, VerifyError> {
        let mut mistakes = Vec::new();
        let mut tensors = |name: &str| {
            let read = checkpoint::read(&folder.join(name));
            keep(read, &mut mistakes)
        };
        let weights = tensors("weights.safetensors");
        let grads = tensors("grads.safetensors");
        let after = tensors("weights_after.safetensors");
        let inputs = keep(inputs(&folder.join("inputs.safetensors")), &mut mistakes);
        let expected = keep(expected(&folder.join("expected.json")), &mut mistakes);
        match (weights, grads, after, inputs, expected) {
            (Some(weights), Some(grads), Some(after), Some(inputs), Some(expected)) => Ok(Self {
                weights,
                inputs,
                grads,
                after,
                loss: expected.loss,
                evaluation: expected.evaluation,
            }),
            _ => Err(VerifyError::Reference(mistakes)),
        }
    }

    /// Shape of each weight, by name.
    pub(super) fn shapes(&self) -> BTreeMap<&str, &[usize]> {
        let shapes = self.weights.iter();
        shapes
            .map(|tensor| (tensor.name.as_str(), tensor.shape.as_slice()))
            .collect()
    }

    /// Checks that gradients and later weights have the names and shapes of the initial weights, which are known to fit
    /// the model. Tensors in `untrained` need no gradient.
    ///
    /// # Errors
    /// [`VerifyError::Reference`] with all tensors that do not fit.
    pub(super) fn check_names(&self, untrained: &Untrained) -> Result<(), VerifyError> {
        let mut mistakes = Vec::new();
        let wanted = self.shapes();
        for (file, tensors) in [
            ("grads.safetensors", &self.grads),
            ("weights_after.safetensors", &self.after),
        ] {
            let found: BTreeMap<&str, &Tensor> = tensors
                .iter()
                .map(|tensor| (tensor.name.as_str(), tensor))
                .collect();
            let Untrained { buffers, frozen } = untrained;
            let needs = |name: &str| {
                file != "grads.safetensors" || !(buffers.contains(name) || frozen.contains(name))
            };
            for (name, shape) in wanted.iter().filter(|(name, _)| needs(name)) {
                match found.get(name) {
                    None => mistakes.push(format!("`{file}` has no `{name}`")),
                    Some(tensor) if tensor.shape != *shape => mistakes.push(format!(
                        "`{file}`: `{name}` has shape {:?}, expected {shape:?}",
                        tensor.shape
                    )),
                    Some(_) => {}
                }
            }
        }
        if mistakes.is_empty() {
            return Ok(());
        }
        Err(VerifyError::Reference(mistakes))
    }
}

fn keep<T, E: ToString>(read: Result<T, E>, mistakes: &mut Vec<String>) -> Option<T> {
    read.map_err(|error| mistakes.push(error.to_string())).ok()
}

fn expected(path: &Path) -> Result<Expected, String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot access `{shown}`: {error}"))?;
    serde_json::from_str(&text)
        .map_err(|error| format!("`{shown}` does not hold a `loss`: {error}"))
}

fn inputs(path: &Path) -> Result<ReferenceInputs, String> {
    let shown = path.display();
    let bytes = crate::base::file::read(path)
        .map_err(|error| format!("cannot access `{shown}`: {error}"))?;
    let file = SafeTensors::deserialize(&bytes)
        .map_err(|error| format!("`{shown}` is no valid safetensors file: {error}"))?;
    let mut tensors = BTreeMap::new();
    for (name, view) in file.iter() {
        let data = view.data();
        let values = match view.dtype() {
            Dtype::F32 => ReferenceValues::Floats(numbers(data, f32::from_le_bytes)),
            Dtype::F64 => {
                let wide: Vec<f64> = numbers(data, f64::from_le_bytes);
                ReferenceValues::Floats(wide.into_iter().map(|value| value as f32).collect())
            }
            Dtype::I64 => ReferenceValues::Integers(numbers(data, i64::from_le_bytes)),
            other => {
                return Err(format!(
                    "`{shown}`: `{name}` is of type {other:?}, expected F32, F64 or I64"
                ));
            }
        };
        let shape = view.shape().to_vec();
        tensors.insert(name.to_owned(), ReferenceTensor { shape, values });
    }
    Ok(ReferenceInputs::new(tensors))
}

fn numbers<const N: usize, T>(bytes: &[u8], number: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes
        .as_chunks::<N>()
        .0
        .iter()
        .map(|bytes| number(*bytes))
        .collect()
}

/// Why a model could not be compared with a reference.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// Messages about all files and tensors that are missing, damaged or do not fit the model.
    #[error("{}", .0.join("\n"))]
    Reference(Vec<String>),
    /// The device failed.
    #[error(transparent)]
    Op(#[from] OpError),
}

impl VerifyError {
    pub(super) fn one(error: &impl ToString) -> Self {
        Self::Reference(vec![error.to_string()])
    }
}

/// Names of tensors that are not trained by gradients.
#[derive(Debug, Default)]
pub(super) struct Untrained {
    /// Names of running statistics.
    pub(super) buffers: BTreeSet<String>,
    /// Names of parameters that `train.freeze` matches.
    pub(super) frozen: BTreeSet<String>,
}

impl Untrained {
    pub(super) fn of<D: Kernels>(module: &mut dyn Module<D>) -> Self {
        let (mut buffers, mut frozen) = (BTreeSet::new(), BTreeSet::new());
        module.visit_buffers(&Name::root(), &mut |name, _| {
            buffers.insert(name.to_owned());
        });
        module.visit(&Name::root(), &mut |name, parameter| {
            if parameter.is_frozen() {
                frozen.insert(name.to_owned());
            }
        });
        Self { buffers, frozen }
    }
}
