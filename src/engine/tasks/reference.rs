//! [`ReferenceInputs`]: the input tensors of a reference step (computed by PyTorch too), by name.

use std::collections::BTreeMap;

use crate::ops::{OpError, Result};

/// The tensors of `inputs.safetensors`, from which a task takes the inputs of its reference step. Errors are collected,
/// so that all of them can be reported at once.
#[derive(Debug, Clone, Default)]
pub struct ReferenceInputs {
    tensors: BTreeMap<String, ReferenceTensor>,
    mistakes: Vec<String>,
    batch: Option<usize>,
}

/// A tensor as PyTorch stores it, row-major.
#[derive(Debug, Clone, PartialEq)]
pub struct ReferenceTensor {
    /// Dimensions, outermost first.
    pub shape: Vec<usize>,
    /// Values, row-major.
    pub values: ReferenceValues,
}

/// Values of a reference tensor, in one of two types.
#[derive(Debug, Clone, PartialEq)]
pub enum ReferenceValues {
    /// Floating-point values.
    Floats(Vec<f32>),
    /// Integers: labels, times.
    Integers(Vec<i64>),
}

impl ReferenceInputs {
    /// Takes the input tensors by name.
    pub fn new(tensors: BTreeMap<String, ReferenceTensor>) -> Self {
        Self {
            tensors,
            ..Self::default()
        }
    }

    pub(super) fn batch(&self) -> usize {
        self.batch.unwrap_or(0)
    }

    /// The float tensor `name: (B, sample…)`, row-major; empty if it is missing or has another shape or type.
    pub(super) fn floats(&mut self, name: &str, sample: &[usize]) -> Vec<f32> {
        let tensor = self.take(name, sample);
        self.numbers(name, tensor)
    }

    /// The float tensor `name: (rows, sample…)`, whose number of rows may differ from B; empty on an error as in
    /// [`Self::floats`].
    pub(super) fn rows(&mut self, name: &str, sample: &[usize]) -> Vec<f32> {
        let rows = self.shape(name).and_then(|shape| shape.first()).copied();
        let batch = std::mem::replace(&mut self.batch, rows);
        let tensor = self.take(name, sample);
        self.batch = batch;
        self.numbers(name, tensor)
    }

    fn numbers(&mut self, name: &str, tensor: Option<ReferenceTensor>) -> Vec<f32> {
        let Some(tensor) = tensor else {
            return Vec::new();
        };
        match tensor.values {
            ReferenceValues::Floats(values) => values,
            ReferenceValues::Integers(_) => {
                self.mistake(format!("`{name}` holds whole numbers, expected f32"));
                Vec::new()
            }
        }
    }

    /// The integer tensor `name: (B, sample…)` with values in `0..limit`; empty if it is missing or has another shape
    /// or type. Values outside are an error, and left out.
    pub(super) fn indices(&mut self, name: &str, sample: &[usize], limit: usize) -> Vec<usize> {
        let Some(tensor) = self.take(name, sample) else {
            return Vec::new();
        };
        let ReferenceValues::Integers(values) = tensor.values else {
            self.mistake(format!("`{name}` holds f32, expected int64"));
            return Vec::new();
        };
        let index = |value: &i64| usize::try_from(*value).ok().filter(|value| *value < limit);
        if let Some(outside) = values.iter().find(|value| index(value).is_none()) {
            self.mistake(format!(
                "`{name}` holds {outside}, expected 0 to {}",
                limit - 1
            ));
        }
        values.iter().filter_map(index).collect()
    }

    /// Checks that no error was collected.
    ///
    /// # Errors
    /// [`OpError::Shape`] with all errors so far.
    pub(super) fn finish(&self) -> Result<()> {
        if self.mistakes.is_empty() {
            return Ok(());
        }
        Err(OpError::shape("inputs", self.mistakes.join("; ")))
    }

    fn take(&mut self, name: &str, sample: &[usize]) -> Option<ReferenceTensor> {
        let Some(tensor) = self.tensors.get(name).cloned() else {
            let known: Vec<&str> = self.tensors.keys().map(String::as_str).collect();
            self.mistake(format!("there is no `{name}` among {}", known.join(", ")));
            return None;
        };
        let batch = *self.batch.get_or_insert(tensor.shape.first().copied()?);
        let expected: Vec<usize> = std::iter::once(batch)
            .chain(sample.iter().copied())
            .collect();
        if tensor.shape != expected || batch == 0 {
            let found = &tensor.shape;
            self.mistake(format!(
                "`{name}` has shape {found:?}, expected {expected:?}"
            ));
            return None;
        }
        Some(tensor)
    }

    fn mistake(&mut self, mistake: String) {
        self.mistakes.push(mistake);
    }

    fn shape(&self, name: &str) -> Option<&[usize]> {
        self.tensors.get(name).map(|tensor| tensor.shape.as_slice())
    }

    /// The shape of the input tensor `name`.
    ///
    /// # Errors
    /// A message if there is no such tensor.
    pub(super) fn shape_of(&self, name: &str) -> Result<&[usize], String> {
        let shape = self.shape(name);
        shape.ok_or_else(|| format!("`inputs.safetensors` has no `{name}`"))
    }

    /// Number of values per sample of the input tensor `name`; a message as error if there is no such tensor.
    pub(super) fn len_of(&self, name: &str) -> Result<usize, String> {
        Ok(self.shape_of(name)?.iter().skip(1).product())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_wrong_is_said_at_once() {
        let tensor = |shape: &[usize], values| ReferenceTensor {
            shape: shape.to_vec(),
            values,
        };
        let mut inputs = ReferenceInputs::new(BTreeMap::from([
            (
                "x".into(),
                tensor(&[2, 1], ReferenceValues::Floats(vec![1.0, 2.0])),
            ),
            (
                "y".into(),
                tensor(&[3, 1], ReferenceValues::Floats(vec![1.0; 3])),
            ),
            (
                "label".into(),
                tensor(&[2], ReferenceValues::Integers(vec![0, 7])),
            ),
        ]));
        assert_eq!(inputs.floats("x", &[1]), [1.0, 2.0]);
        inputs.floats("y", &[1]);
        inputs.indices("label", &[], 3);
        inputs.floats("z", &[1]);
        let text = inputs.finish().unwrap_err().to_string();
        for part in [
            "`y` has shape [3, 1], expected [2, 1]",
            "`label` holds 7, expected 0 to 2",
            "no `z` among label, x, y",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
