//! Equilibrium propagation: gradients without backpropagation through the solver.

use super::classifier::{Classifier, Labelled};
use crate::device::Buffer;
use crate::measure::{Phase, Profiler, Stopwatch};
use crate::ops::{Flops, Kernels, Pass, Result, Var, blend, cross_entropy, mse};
use crate::tasks::MicroStepResult;

struct Phases<D: Kernels> {
    free: Var<D>,
    nudged: Var<D>,
    work: Flops,
}

impl<D: Kernels> Classifier<D> {
    /// Finds two equilibria without gradients, then backpropagates through one application of the block.
    ///
    /// Free phase `h* = solve(f, start)`; nudged phase `h_β = solve(f - β dL/df, h*)`, where L is the mean
    /// cross-entropy of the head; loss `(1/β) MSE(f(h*), h_β) + CE(head(h*))`. `h*` and `h_β` are constants in the
    /// loss: the block and the embedding learn from the first term, the head from the second.
    ///
    /// # Source
    /// Scellier & Bengio 2017; the training step of report 002 (`docs/founding-reports.md`).
    pub(super) fn propagate(
        &mut self,
        beta: f64,
        mut pass: Pass<D>,
        inputs: &Labelled<D>,
        loss_grad: Buffer<D>,
        watch: &mut Stopwatch<'_>,
    ) -> Result<MicroStepResult<D>> {
        let phases = self.phases(beta, inputs, watch.profiler())?;
        self.remember(inputs, &phases.free)?;
        watch.mark(Phase::Forward);
        let loss = self.local_loss(beta, &mut pass, &phases, inputs)?;
        MicroStepResult::of(pass, loss, loss_grad, phases.work, watch)
    }

    fn phases(
        &self,
        beta: f64,
        inputs: &Labelled<D>,
        profiler: Option<&Profiler>,
    ) -> Result<Phases<D>> {
        let (model, beta) = (&self.model, beta as f32);
        let mut pass = Pass::inference(&self.device).with_profiler(profiler);
        let source = model.embed(&mut pass, &inputs.x)?;
        let start = self.start(inputs)?;
        let free = model.solve(&mut pass, &source, &start)?.state;
        let nudged = model.solve_nudged(&mut pass, &source, &free, &inputs.labels, beta)?;
        Ok(Phases {
            nudged: nudged.state,
            // Detached, because the state refers to an autograd graph, although this pass recorded nothing.
            free: free.detach(&self.device)?,
            work: pass.work(),
        })
    }

    fn local_loss(
        &self,
        beta: f64,
        pass: &mut Pass<D>,
        phases: &Phases<D>,
        inputs: &Labelled<D>,
    ) -> Result<Var<D>> {
        let model = &self.model;
        let source = model.embed(pass, &inputs.x)?;
        let f = model.block(pass, &source, &phases.free)?;
        let local = mse(pass, &f, &phases.nudged)?;
        let logits = model.classify(pass, &phases.free)?;
        let readout = cross_entropy(pass, &logits, &inputs.labels)?;
        blend(pass, (&local, (1.0 / beta) as f32), (&readout, 1.0))
    }
}
