//! Classification at the equilibrium of a weight-tied block, by two algorithms.
//!
//! [`Classifier`] is shared by both: model, batches, evaluation at the free equilibrium from zeros, and the memory for
//! warm starts. `unrolled.rs` backpropagates through the solver's iterations, `propagation.rs` is equilibrium
//! propagation.

mod memory;
mod propagation;
#[cfg(test)]
mod tests;
mod unrolled;

use self::memory::Memory;
use self::propagation::Propagation;
use self::unrolled::Unrolled;
use super::classification::indices;
use super::workload::{BuiltTask, ONE_CLASS, ReferenceFiles, ReferenceForm, Workload};
use super::{
    Algorithm, Meaning, Micro, Outputs, Place, ReferenceInputs, Score, Task, TaskError, TaskParts,
};
use crate::base::Purpose;
use crate::datasets::{DatasetFacts, Features, Target};
use crate::device::Buffer;
use crate::layers::Init;
use crate::loader::Batch;
use crate::losses::LossSpec;
use crate::measure::{Phase, Stopwatch};
use crate::models::{Equilibrium, EquilibriumSpec};
use crate::ops::{Grads, Kernels, Module, Pass, Result, Var, cross_entropy};

impl Workload for EquilibriumSpec {
    fn misfit(&self, facts: &DatasetFacts, loss: &LossSpec) -> Option<String> {
        if let Some(mistake) = self.check().into_iter().next() {
            return Some(mistake);
        }
        match facts.target {
            Target::Class { classes: ..2 } => return Some(ONE_CLASS.to_owned()),
            Target::Class { .. } => {}
            Target::Labels { .. } => {
                let message = "`equilibrium` tells one class of each sample, the dataset's targets are labels";
                return Some(message.to_owned());
            }
            _ => {
                return Some(
                    "`equilibrium` needs classes, the dataset's targets are numbers".to_owned(),
                );
            }
        }
        match loss {
            LossSpec::CrossEntropy(spec) if spec.is_plain() => None,
            LossSpec::CrossEntropy(_) => Some(
                "`equilibrium` learns by `cross-entropy` without `label-smoothing` and `weights`"
                    .to_owned(),
            ),
            loss => Some(format!(
                "`equilibrium` tells classes, `{}` does not fit; use `cross-entropy`",
                loss.kind()
            )),
        }
    }

    fn is_trained_by(&self, _algorithm: Algorithm) -> bool {
        true
    }

    fn forward_flops(&self, features: Features, target: Target) -> Option<f64> {
        match target {
            Target::Class { classes } => Some(self.forward_flops(features.len(), classes)),
            _ => None,
        }
    }

    fn reference_form(&self, files: &ReferenceFiles<'_>) -> ReferenceForm {
        let len = files.inputs.len_of("x")?;
        let classes = files.rows_of("head.weight")?;
        Ok(Some((Features::Vector { len }, Target::Class { classes })))
    }

    fn build<D: Kernels>(&self, device: &D, parts: TaskParts<'_>) -> BuiltTask<D> {
        let classes = match (parts.loss, parts.target) {
            (LossSpec::CrossEntropy(spec), Target::Class { classes }) if spec.is_plain() => classes,
            _ => return Err(TaskError::misfit(parts)),
        };
        let classifier = Classifier::new(device, self, parts, classes)?;
        Ok(match parts.algorithm {
            Algorithm::Backprop => Box::new(Trained(classifier, Unrolled)),
            Algorithm::EquilibriumPropagation => {
                let beta = parts.beta;
                Box::new(Trained(classifier, Propagation { beta }))
            }
        })
    }
}

/// An algorithm that trains the classifier.
trait Step<D: Kernels> {
    /// The gradients of a batch, whose loss is recorded on `pass`.
    fn step(
        &self,
        classifier: &mut Classifier<D>,
        pass: Pass<D>,
        inputs: &Labelled<D>,
        loss_grad: Buffer<D>,
        watch: &mut Stopwatch<'_>,
    ) -> Result<Micro<D>>;
}

/// A classifier and the algorithm that trains it.
struct Trained<D: Kernels, S>(Classifier<D>, S);

impl<D: Kernels, S: Step<D>> Task<D> for Trained<D, S> {
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
    ) -> Result<Micro<D>> {
        let Self(classifier, algorithm) = self;
        let inputs = classifier.load(batch, watch)?;
        let pass = Pass::training(&classifier.device, sum)?.with_profiler(watch.profiler());
        algorithm.step(classifier, pass, &inputs, loss_grad, watch)
    }

    fn evaluate(&mut self, batch: Batch, _index: u64, score: &mut Score) -> Result<()> {
        self.0.evaluate(batch, score)
    }

    fn outputs(&mut self, batch: Batch, _index: u64, score: &mut Score) -> Result<Outputs> {
        self.0.outputs(batch, score)
    }

    fn evaluate_outputs(
        &mut self,
        batch: Batch,
        _index: u64,
        outputs: Outputs,
        score: &mut Score,
    ) -> Result<()> {
        self.0.evaluate_outputs(batch, outputs, score)
    }

    fn reference(&mut self, inputs: &mut ReferenceInputs) -> Result<Micro<D>> {
        let Self(classifier, algorithm) = self;
        let inputs = classifier.load_reference(inputs)?;
        let pass = Pass::recording(&classifier.device);
        let one = classifier.device.full_buffer(1, 1.0)?;
        algorithm.step(classifier, pass, &inputs, one, &mut Stopwatch::start())
    }
}

/// An equilibrium model that classifies a feature vector.
struct Classifier<D: Kernels> {
    device: D,
    model: Equilibrium<D>,
    inputs: usize,
    classes: usize,
    memory: Option<Memory>,
}

/// `x: (B, inputs)`, B classes, and B row indices of the dataset (empty if not known).
struct Labelled<D: Kernels> {
    x: Var<D>,
    labels: Vec<usize>,
    rows: Vec<u32>,
}

impl<D: Kernels> Classifier<D> {
    fn new(
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

    /// Start of the solver in training: zeros, or the samples' last equilibria.
    fn start(&self, inputs: &Labelled<D>) -> Result<Var<D>> {
        let rest = self.model.zero_state(&self.device, inputs.labels.len())?;
        match &self.memory {
            Some(memory) => memory.recall(&self.device, &inputs.rows, rest),
            None => Ok(rest),
        }
    }

    fn remember(&mut self, inputs: &Labelled<D>, state: &Var<D>) -> Result<()> {
        match &mut self.memory {
            Some(memory) => memory.keep(&self.device, &inputs.rows, state),
            None => Ok(()),
        }
    }

    /// Adds loss, accuracy and the solver's iterations at the free equilibrium from zeros.
    fn evaluate(&self, batch: Batch, score: &mut Score) -> Result<()> {
        let inputs = self.load(batch, &mut Stopwatch::start())?;
        let mut pass = Pass::inference(&self.device);
        let logits = self.logits(&mut pass, &inputs, score)?;
        self.score(pass, &logits, &inputs, score)
    }

    fn outputs(&self, batch: Batch, score: &mut Score) -> Result<Outputs> {
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

    fn evaluate_outputs(&self, batch: Batch, outputs: Outputs, score: &mut Score) -> Result<()> {
        let inputs = self.load(batch, &mut Stopwatch::start())?;
        let logits = Var::constant(&self.device, outputs.values, outputs.shape)?;
        self.score(Pass::inference(&self.device), &logits, &inputs, score)
    }

    /// Logits at the free equilibrium from zeros; adds the solver's iterations.
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
