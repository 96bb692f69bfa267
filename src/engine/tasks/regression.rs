//! Regression: targets are one or more numbers per sample.

use super::goal::Goal;
use super::{OutputKind, ReferenceInputs, Score};
use crate::loader::Batch;
use crate::ops::{ErrorTerm, Kernels, Pass, Result, Var, mean_error};

/// The regression goal: `len` target values per sample, and the error (such as the squared one) whose mean is the loss.
pub(super) struct Values {
    pub(super) len: usize,
    pub(super) term: ErrorTerm,
}

impl<D: Kernels> Goal<D> for Values {
    type Host = Vec<f32>;
    /// Target values `y: (B, len)`.
    type Targets = Var<D>;

    fn meaning(&self) -> OutputKind {
        OutputKind::Estimates
    }

    fn of_batch(&self, batch: &mut Batch) -> Vec<f32> {
        std::mem::take(&mut batch.values)
    }

    fn of_reference(&self, inputs: &mut ReferenceInputs) -> Vec<f32> {
        inputs.floats("y", &[self.len])
    }

    fn upload(&self, device: &D, values: Vec<f32>, rows: usize) -> Result<Var<D>> {
        Var::constant(device, values, [rows, self.len])
    }

    fn loss(&self, pass: &mut Pass<D>, output: &Var<D>, y: &Var<D>) -> Result<Var<D>> {
        mean_error(pass, self.term, output, y)
    }

    fn score(&self, device: &D, output: &Var<D>, y: &Var<D>, score: &mut Score) -> Result<()> {
        let (predicted, targets) = (output.to_host(device)?, y.to_host(device)?);
        score.add_values(&predicted, &targets, self.len);
        Ok(())
    }
}
