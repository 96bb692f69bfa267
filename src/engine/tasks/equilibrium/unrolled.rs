//! [`Unrolled`]: backpropagation through every iteration of the solver.

use super::{Classifier, Labelled};
use crate::device::Buffer;
use crate::loader::Batch;
use crate::measure::{Phase, Stopwatch};
use crate::ops::{Grads, Kernels, Module, OpError, Pass, cross_entropy};
use crate::tasks::{Micro, Outputs, Place, ReferenceInputs, Score, Task};

/// The mean cross-entropy of the head at the equilibrium, differentiated through the loop.
pub(super) struct Unrolled<D: Kernels>(Classifier<D>);

impl<D: Kernels> Unrolled<D> {
    pub(super) fn new(classifier: Classifier<D>) -> Self {
        Self(classifier)
    }

    fn backpropagate(
        &mut self,
        mut pass: Pass<D>,
        inputs: &Labelled<D>,
        loss_grad: Buffer<D>,
        watch: &mut Stopwatch<'_>,
    ) -> Result<Micro<D>, OpError> {
        let model = &self.0.model;
        let source = model.embed(&mut pass, &inputs.x)?;
        let solved = model.relax(&mut pass, &source, &self.0.start(inputs)?)?;
        let logits = model.classify(&mut pass, &solved.state)?;
        self.0.remember(inputs, &solved.state)?;
        watch.mark(Phase::Forward);
        let loss = cross_entropy(&mut pass, &logits, &inputs.labels)?;
        watch.mark(Phase::Loss);
        // Dropped here, so that the backward pass frees each value after its last use.
        drop((source, solved, logits));
        let (work, activation_bytes) = (pass.work(), pass.held_bytes());
        let grads = pass.backward_from(&loss, loss_grad)?;
        watch.mark(Phase::Backward);
        Ok(Micro {
            grads,
            loss,
            work,
            activation_bytes,
        })
    }
}

impl<D: Kernels> Task<D> for Unrolled<D> {
    fn module(&mut self) -> &mut dyn Module<D> {
        &mut self.0.model
    }

    fn gradients(
        &mut self,
        batch: Batch,
        _place: Place,
        loss_grad: Buffer<D>,
        sum: Option<Grads<D>>,
        watch: &mut Stopwatch<'_>,
    ) -> Result<Micro<D>, OpError> {
        let inputs = self.0.load(batch, watch)?;
        let pass = Pass::training(&self.0.device, sum)?.profiled(watch.profiler());
        self.backpropagate(pass, &inputs, loss_grad, watch)
    }

    fn evaluate(&mut self, batch: Batch, _index: u64, score: &mut Score) -> Result<(), OpError> {
        self.0.evaluate(batch, score)
    }

    fn outputs(
        &mut self,
        batch: Batch,
        _index: u64,
        score: &mut Score,
    ) -> Result<Outputs, OpError> {
        self.0.outputs(batch, score)
    }

    fn evaluate_outputs(
        &mut self,
        batch: Batch,
        _index: u64,
        outputs: Outputs,
        score: &mut Score,
    ) -> Result<(), OpError> {
        self.0.evaluate_outputs(batch, outputs, score)
    }

    fn reference(&mut self, inputs: &mut ReferenceInputs) -> Result<Micro<D>, OpError> {
        let inputs = self.0.load_reference(inputs)?;
        let pass = Pass::recording(&self.0.device);
        let one = self.0.device.full_buffer(1, 1.0)?;
        self.backpropagate(pass, &inputs, one, &mut Stopwatch::start())
    }
}
