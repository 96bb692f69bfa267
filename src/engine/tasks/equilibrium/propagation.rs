//! [`Propagation`]: equilibrium propagation, without backpropagation through the solver.

use super::{Classifier, Labelled};
use crate::device::Buffer;
use crate::loader::Batch;
use crate::measure::{Phase, Profiler, Stopwatch};
use crate::ops::{Grads, Kernels, Module, OpError, Pass, Var, Work, blend, cross_entropy, mse};
use crate::tasks::{Micro, Outputs, Place, ReferenceInputs, Score, Task};

/// Two equilibria without gradients, then one differentiated step.
///
/// Free phase `h* = solve(f, start)`; nudged phase `h_β = solve(f - β dL/df, h*)`, L the mean cross-entropy of the head;
/// loss `(1/β) MSE(f(h*), h_β) + CE(head(h*))` with `h*` and `h_β` held constant: block and embedding learn from the
/// first term, the head from the second.
///
/// # Source
/// Scellier & Bengio 2017; the step of founding report 002 (TEP).
pub(super) struct Propagation<D: Kernels> {
    classifier: Classifier<D>,
    beta: f64,
}

struct Phases<D: Kernels> {
    free: Var<D>,
    nudged: Var<D>,
    work: Work,
}

impl<D: Kernels> Propagation<D> {
    pub(super) fn new(classifier: Classifier<D>, beta: f64) -> Self {
        Self { classifier, beta }
    }

    fn phases(
        &self,
        inputs: &Labelled<D>,
        profiler: Option<&Profiler>,
    ) -> Result<Phases<D>, OpError> {
        let (model, beta) = (&self.classifier.model, self.beta as f32);
        let mut pass = Pass::inference(&self.classifier.device).profiled(profiler);
        let source = model.embed(&mut pass, &inputs.x)?;
        let start = self.classifier.start(inputs)?;
        let free = model.relax(&mut pass, &source, &start)?.state;
        let nudged = model.relax_nudged(&mut pass, &source, &free, &inputs.labels, beta)?;
        Ok(Phases {
            nudged: nudged.state,
            // Nothing was recorded on this pass, but the key is that of a recordable result.
            free: free.detach(&self.classifier.device)?,
            work: pass.work(),
        })
    }

    fn loss(
        &self,
        pass: &mut Pass<D>,
        phases: &Phases<D>,
        inputs: &Labelled<D>,
    ) -> Result<Var<D>, OpError> {
        let model = &self.classifier.model;
        let source = model.embed(pass, &inputs.x)?;
        let f = model.block(pass, &source, &phases.free)?;
        let local = mse(pass, &f, &phases.nudged)?;
        let logits = model.classify(pass, &phases.free)?;
        let readout = cross_entropy(pass, &logits, &inputs.labels)?;
        blend(pass, (&local, (1.0 / self.beta) as f32), (&readout, 1.0))
    }

    fn step(
        &mut self,
        mut pass: Pass<D>,
        inputs: &Labelled<D>,
        loss_grad: Buffer<D>,
        watch: &mut Stopwatch<'_>,
    ) -> Result<Micro<D>, OpError> {
        let phases = self.phases(inputs, watch.profiler())?;
        self.classifier.remember(inputs, &phases.free)?;
        watch.mark(Phase::Forward);
        let loss = self.loss(&mut pass, &phases, inputs)?;
        watch.mark(Phase::Loss);
        let (mut work, activation_bytes) = (phases.work, pass.held_bytes());
        work += pass.work();
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

impl<D: Kernels> Task<D> for Propagation<D> {
    fn module(&mut self) -> &mut dyn Module<D> {
        &mut self.classifier.model
    }

    fn gradients(
        &mut self,
        batch: Batch,
        _place: Place,
        loss_grad: Buffer<D>,
        sum: Option<Grads<D>>,
        watch: &mut Stopwatch<'_>,
    ) -> Result<Micro<D>, OpError> {
        let inputs = self.classifier.load(batch, watch)?;
        let pass = Pass::training(&self.classifier.device, sum)?.profiled(watch.profiler());
        self.step(pass, &inputs, loss_grad, watch)
    }

    fn evaluate(&mut self, batch: Batch, _index: u64, score: &mut Score) -> Result<(), OpError> {
        self.classifier.evaluate(batch, score)
    }

    fn outputs(
        &mut self,
        batch: Batch,
        _index: u64,
        score: &mut Score,
    ) -> Result<Outputs, OpError> {
        self.classifier.outputs(batch, score)
    }

    fn evaluate_outputs(
        &mut self,
        batch: Batch,
        _index: u64,
        outputs: Outputs,
        score: &mut Score,
    ) -> Result<(), OpError> {
        self.classifier.evaluate_outputs(batch, outputs, score)
    }

    fn reference(&mut self, inputs: &mut ReferenceInputs) -> Result<Micro<D>, OpError> {
        let inputs = self.classifier.load_reference(inputs)?;
        let pass = Pass::recording(&self.classifier.device);
        let one = self.classifier.device.full_buffer(1, 1.0)?;
        self.step(pass, &inputs, one, &mut Stopwatch::start())
    }
}
