//! Backpropagation through every iteration of the solver.

use super::classifier::{Classifier, Labelled};
use crate::device::Buffer;
use crate::measure::{Phase, Stopwatch};
use crate::ops::{Flops, Kernels, Pass, Result, cross_entropy};
use crate::tasks::MicroStepResult;

impl<D: Kernels> Classifier<D> {
    /// Loss and gradients of a batch: mean cross-entropy at the equilibrium, backpropagated through all solver
    /// iterations.
    pub(super) fn unroll(
        &mut self,
        mut pass: Pass<D>,
        inputs: &Labelled<D>,
        loss_grad: Buffer<D>,
        watch: &mut Stopwatch<'_>,
    ) -> Result<MicroStepResult<D>> {
        let source = self.model.embed(&mut pass, &inputs.x)?;
        let start = self.start(inputs)?;
        let solved = self.model.solve(&mut pass, &source, &start)?;
        let logits = self.model.classify(&mut pass, &solved.state)?;
        self.remember(inputs, &solved.state)?;
        watch.mark(Phase::Forward);
        let loss = cross_entropy(&mut pass, &logits, &inputs.labels)?;
        // Dropped before the backward pass, so that it can free each value after its last use.
        drop((source, start, solved, logits));
        MicroStepResult::of(pass, loss, loss_grad, Flops::default(), watch)
    }
}
