//! [`Classifier`]: model, batches and evaluation, shared by the algorithms that train it ([`Step`]).

use super::memory::Memory;
use crate::base::Purpose;
use crate::device::Buffer;
use crate::layers::Init;
use crate::loader::Batch;
use crate::measure::{Phase, Stopwatch};
use crate::models::{Equilibrium, EquilibriumSpec};
use crate::ops::{Kernels, Pass, Result, Var, cross_entropy};
use crate::tasks::classification::indices;
use crate::tasks::{Meaning, MicroStepResult, Outputs, ReferenceInputs, Score, TaskParts};

/// An algorithm that trains the classifier.
pub(super) trait Step<D: Kernels> {
    /// The gradients of a batch, whose loss is recorded on `pass`.
    fn step(
        &self,
        classifier: &mut Classifier<D>,
        pass: Pass<D>,
        inputs: &Labelled<D>,
        loss_grad: Buffer<D>,
        watch: &mut Stopwatch<'_>,
    ) -> Result<MicroStepResult<D>>;
}

/// An equilibrium model that classifies a feature vector.
pub(super) struct Classifier<D: Kernels> {
    pub(super) device: D,
    pub(super) model: Equilibrium<D>,
    pub(super) inputs: usize,
    pub(super) classes: usize,
    pub(super) memory: Option<Memory>,
}

/// `x: (B, inputs)`, B classes, and B row indices of the dataset (empty if not known).
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
            memory: model.warm_start.then(Memory::default),
        })
    }

    /// Moves a batch to the device, and marks the end of [`Phase::Transfer`].
    pub(super) fn load(&self, batch: Batch, watch: &mut Stopwatch<'_>) -> Result<Labelled<D>> {
        let shape = [batch.size, self.inputs];
        let labelled = Labelled {
            x: Var::constant(&self.device, batch.features, shape)?,
            labels: indices(&batch.labels),
            rows: batch.rows,
        };
        watch.mark(Phase::Transfer);
        Ok(labelled)
    }

    pub(super) fn load_reference(&self, inputs: &mut ReferenceInputs) -> Result<Labelled<D>> {
        let x = inputs.floats("x", &[self.inputs]);
        let labels = inputs.indices("label", &[], self.classes);
        inputs.finish()?;
        Ok(Labelled {
            x: Var::constant(&self.device, x, [inputs.batch(), self.inputs])?,
            labels,
            rows: Vec::new(),
        })
    }

    /// Start of the solver in training: zeros, or the samples' last equilibria.
    pub(super) fn start(&self, inputs: &Labelled<D>) -> Result<Var<D>> {
        let rest = self.model.zero_state(&self.device, inputs.labels.len())?;
        match &self.memory {
            Some(memory) => memory.recall(&self.device, &inputs.rows, rest),
            None => Ok(rest),
        }
    }

    pub(super) fn remember(&mut self, inputs: &Labelled<D>, state: &Var<D>) -> Result<()> {
        match &mut self.memory {
            Some(memory) => memory.keep(&self.device, &inputs.rows, state),
            None => Ok(()),
        }
    }

    /// Adds loss, accuracy and the solver's iterations at the free equilibrium from zeros.
    pub(super) fn evaluate(&self, batch: Batch, score: &mut Score) -> Result<()> {
        let inputs = self.load(batch, &mut Stopwatch::start())?;
        let mut pass = Pass::inference(&self.device);
        let logits = self.logits(&mut pass, &inputs, score)?;
        self.score(pass, &logits, &inputs, score)
    }

    pub(super) fn outputs(&self, batch: Batch, score: &mut Score) -> Result<Outputs> {
        let inputs = self.load(batch, &mut Stopwatch::start())?;
        let mut pass = Pass::inference(&self.device);
        let logits = self.logits(&mut pass, &inputs, score)?;
        score.add_work(pass.work());
        Ok(Outputs {
            values: logits.to_host(&self.device)?,
            shape: logits.shape(),
            meaning: Meaning::Logits,
        })
    }

    pub(super) fn evaluate_outputs(
        &self,
        batch: Batch,
        outputs: Outputs,
        score: &mut Score,
    ) -> Result<()> {
        let inputs = self.load(batch, &mut Stopwatch::start())?;
        let logits = Var::constant(&self.device, outputs.values, outputs.shape)?;
        self.score(Pass::inference(&self.device), &logits, &inputs, score)
    }

    /// Logits at the free equilibrium from zeros; adds the solver's iterations.
    pub(super) fn logits(
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

    pub(super) fn score(
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
