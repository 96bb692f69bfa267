//! [`Goal`]: what a supervised model predicts, with loss and metrics.

use super::{OutputKind, ReferenceInputs, Score};
use crate::loader::Batch;
use crate::ops::{Kernels, Pass, Result, Var};

/// The targets of a supervised task, with their loss and metrics.
pub(super) trait Goal<D: Kernels> {
    /// Targets of a batch on the host.
    type Host;
    /// Targets of a batch in the form that the loss needs, usually on the device.
    type Targets;

    fn meaning(&self) -> OutputKind;

    fn of_batch(&self, batch: &mut Batch) -> Self::Host;

    fn of_reference(&self, inputs: &mut ReferenceInputs) -> Self::Host;

    fn upload(&self, device: &D, host: Self::Host, rows: usize) -> Result<Self::Targets>;

    /// The mean loss of the batch, one value, from `output: (B, outputs)`.
    fn loss(&self, pass: &mut Pass<D>, output: &Var<D>, targets: &Self::Targets) -> Result<Var<D>>;

    /// Adds the metrics of a batch, without the loss, to `score`.
    fn score(
        &self,
        device: &D,
        output: &Var<D>,
        targets: &Self::Targets,
        score: &mut Score,
    ) -> Result<()>;
}
