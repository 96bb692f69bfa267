//! [`Classifier`]: the equilibrium model with its batches and evaluation, trained by one of two algorithms.

use super::memory::WarmStartStates;
use crate::base::Purpose;
use crate::device::Buffer;
use crate::layers::Init;
use crate::loader::Batch;
use crate::measure::{Phase, Stopwatch};
use crate::models::{Equilibrium, EquilibriumSpec};
use crate::ops::{Grads, Kernels, Module, Pass, Result, Var, cross_entropy};
use crate::tasks::classification::indices;
use crate::tasks::{
    Algorithm, MicroStepResult, OutputKind, Outputs, ReferenceInputs, Score, Task, TaskParts,
    TrainingPosition,
};

/// An equilibrium model that classifies feature vectors, `inputs` features into `classes` classes.
pub(super) struct Classifier<D: Kernels> {
    pub(super) device: D,
    pub(super) model: Equilibrium<D>,
    pub(super) inputs: usize,
    pub(super) classes: usize,
    pub(super) memory: Option<WarmStartStates>,
    /// Strength β of the nudge in equilibrium propagation; `None` if the model is trained by backpropagation.
    pub(super) beta: Option<f64>,
}

/// A batch: `x: (B, inputs)` on the device, B labels, and B row numbers in the dataset (empty for reference inputs).
pub(super) struct Labelled<D: Kernels> {
    pub(super) x: Var<D>,
    pub(super) labels: Vec<usize>,
    pub(super) rows: Vec<u32>,
}

impl<D: Kernels> Classifier<D> {
    pub(super) fn new(
        device: &D,
        model: &EquilibriumSpec,
        parts: TaskParts<'_>,
        classes: usize,
    ) -> Result<Self> {
        let inputs = parts.features.len();
        let mut init = Init::new(device, parts.seed.stream(Purpose::Weights));
        Ok(Self {
            device: device.clone(),
            model: model.build(&mut init, inputs, classes)?,
            inputs,
            classes,
            memory: model.warm_start.then(WarmStartStates::default),
            beta: match parts.algorithm {
                Algorithm::Backprop => None,
                Algorithm::EquilibriumPropagation => Some(parts.beta),
            },
        })
    }

    /// Moves a batch to the device, and marks the end of [`Phase::Transfer`].
    fn load(&self, batch: Batch, watch: &mut Stopwatch<'_>) -> Result<Labelled<D>> {
        let shape = [batch.size, self.inputs];
        let labelled = Labelled {
            x: Var::constant(&self.device, batch.features, shape)?,
            labels: indices(&batch.labels),
            rows: batch.rows,
        };
        watch.mark(Phase::Transfer);
        Ok(labelled)
    }

    fn load_reference(&self, inputs: &mut ReferenceInputs) -> Result<Labelled<D>> {
        let x = inputs.floats("x", &[self.inputs]);
        let labels = inputs.indices("label", &[], self.classes);
        inputs.finish()?;
        Ok(Labelled {
            x: Var::constant(&self.device, x, [inputs.batch(), self.inputs])?,
            labels,
            rows: Vec::new(),
        })
    }

    /// Initial state of the solver in training: zeros, or with a warm start the last equilibrium of each sample.
    pub(super) fn start(&self, inputs: &Labelled<D>) -> Result<Var<D>> {
        let rest = self.model.zero_state(&self.device, inputs.labels.len())?;
        match &self.memory {
            Some(memory) => memory.load_states(&self.device, &inputs.rows, rest),
            None => Ok(rest),
        }
    }

    pub(super) fn remember(&mut self, inputs: &Labelled<D>, state: &Var<D>) -> Result<()> {
        match &mut self.memory {
            Some(memory) => memory.store_states(&self.device, &inputs.rows, state),
            None => Ok(()),
        }
    }

    /// Logits at the free equilibrium, which the solver finds from zeros; adds the number of its iterations to `score`.
    fn logits(
        &self,
        pass: &mut Pass<D>,
        inputs: &Labelled<D>,
        score: &mut Score,
    ) -> Result<Var<D>> {
        let source = self.model.embed(pass, &inputs.x)?;
        let start = self.model.zero_state(&self.device, inputs.labels.len())?;
        let solved = self.model.solve(pass, &source, &start)?;
        score.add_iterations(solved.iterations);
        self.model.classify(pass, &solved.state)
    }

    fn score(
        &self,
        mut pass: Pass<D>,
        logits: &Var<D>,
        inputs: &Labelled<D>,
        score: &mut Score,
    ) -> Result<()> {
        let loss = cross_entropy(&mut pass, logits, &inputs.labels)?;
        score.add_loss(loss.to_host(&self.device)?[0], inputs.labels.len());
        score.add_work(pass.work());
        let logits = logits.to_host(&self.device)?;
        score.add_classes(&logits, self.classes, &inputs.labels);
        Ok(())
    }
}

impl<D: Kernels> Classifier<D> {
    /// Loss and gradients of a batch; `pass` records the operations of the loss.
    fn step(
        &mut self,
        pass: Pass<D>,
        inputs: &Labelled<D>,
        loss_grad: Buffer<D>,
        watch: &mut Stopwatch<'_>,
    ) -> Result<MicroStepResult<D>> {
        match self.beta {
            Some(beta) => self.propagate(beta, pass, inputs, loss_grad, watch),
            None => self.unroll(pass, inputs, loss_grad, watch),
        }
    }
}

impl<D: Kernels> Task<D> for Classifier<D> {
    fn module(&mut self) -> &mut dyn Module<D> {
        &mut self.model
    }

    fn gradients(
        &mut self,
        batch: Batch,
        _place: TrainingPosition,
        loss_grad: Buffer<D>,
        sum: Option<Grads<D>>,
        watch: &mut Stopwatch<'_>,
    ) -> Result<MicroStepResult<D>> {
        let inputs = self.load(batch, watch)?;
        let pass = Pass::training(&self.device, sum)?.with_profiler(watch.profiler());
        self.step(pass, &inputs, loss_grad, watch)
    }

    /// Adds loss, accuracy and the number of solver iterations, all at the free equilibrium, which is solved from
    /// zeros.
    fn evaluate(&mut self, batch: Batch, _index: u64, score: &mut Score) -> Result<()> {
        let inputs = self.load(batch, &mut Stopwatch::start())?;
        let mut pass = Pass::inference(&self.device);
        let logits = self.logits(&mut pass, &inputs, score)?;
        self.score(pass, &logits, &inputs, score)
    }

    fn outputs(&mut self, batch: Batch, _index: u64, score: &mut Score) -> Result<Outputs> {
        let inputs = self.load(batch, &mut Stopwatch::start())?;
        let mut pass = Pass::inference(&self.device);
        let logits = self.logits(&mut pass, &inputs, score)?;
        score.add_work(pass.work());
        Ok(Outputs {
            values: logits.to_host(&self.device)?,
            shape: logits.shape(),
            meaning: OutputKind::Logits,
        })
    }

    fn evaluate_outputs(
        &mut self,
        batch: Batch,
        _index: u64,
        outputs: Outputs,
        score: &mut Score,
    ) -> Result<()> {
        let inputs = self.load(batch, &mut Stopwatch::start())?;
        let logits = Var::constant(&self.device, outputs.values, outputs.shape)?;
        self.score(Pass::inference(&self.device), &logits, &inputs, score)
    }

    fn reference(&mut self, inputs: &mut ReferenceInputs) -> Result<MicroStepResult<D>> {
        let inputs = self.load_reference(inputs)?;
        let pass = Pass::recording(&self.device);
        let one = self.device.full_buffer(1, 1.0)?;
        self.step(pass, &inputs, one, &mut Stopwatch::start())
    }
}
