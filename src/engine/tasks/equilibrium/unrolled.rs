//! [`Unrolled`]: backpropagation through every iteration of the solver.

use super::classifier::{Classifier, Labelled, Step};
use crate::device::Buffer;
use crate::measure::{Phase, Stopwatch};
use crate::ops::{Kernels, Pass, Result, cross_entropy};
use crate::tasks::MicroStepResult;

/// The mean cross-entropy of the head at the equilibrium, differentiated through the loop.
pub(super) struct Unrolled;

impl<D: Kernels> Step<D> for Unrolled {
    fn step(
        &self,
        classifier: &mut Classifier<D>,
        mut pass: Pass<D>,
        inputs: &Labelled<D>,
        loss_grad: Buffer<D>,
        watch: &mut Stopwatch<'_>,
    ) -> Result<MicroStepResult<D>> {
        let model = &classifier.model;
        let source = model.embed(&mut pass, &inputs.x)?;
        let solved = model.solve(&mut pass, &source, &classifier.start(inputs)?)?;
        let logits = model.classify(&mut pass, &solved.state)?;
        classifier.remember(inputs, &solved.state)?;
        watch.mark(Phase::Forward);
        let loss = cross_entropy(&mut pass, &logits, &inputs.labels)?;
        watch.mark(Phase::Loss);
        // Dropped here, so that the backward pass frees each value after its last use.
        drop((source, solved, logits));
        let (work, activation_bytes) = (pass.work(), pass.held_bytes());
        let grads = pass.backward_from(&loss, loss_grad)?;
        watch.mark(Phase::Backward);
        Ok(MicroStepResult {
            grads,
            loss,
            work,
            activation_bytes,
        })
    }
}
