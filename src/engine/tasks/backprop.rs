//! [`Backprop`]: a task that consists of a forward pass, a loss and backpropagation.

use rand_chacha::ChaCha8Rng;

use super::{
    Assess, Assessment, AssessmentProgress, Drawing, Image, Meaning, MicroStepResult, Outputs,
    Place, ReferenceInputs, Score, Task, TaskError,
};
use crate::base::{Purpose, Seed};
use crate::device::Buffer;
use crate::loader::Batch;
use crate::measure::{Phase, Stopwatch};
use crate::models::StatisticsUpdate;
use crate::ops::{Grads, Kernels, Module, Pass, Result, Var, Work};

/// One forward pass and its loss. [`Backprop`] adds gradients, phases and metrics.
pub(super) trait Objective<D: Kernels> {
    /// A batch with its random draws, on the host.
    type Drawn;
    /// A batch on the device.
    type Inputs;

    fn module(&mut self) -> &mut dyn Module<D>;

    /// Draws the random numbers for a batch.
    fn draw(&self, batch: Batch, draw: Draw) -> Self::Drawn;

    /// The fixed draws of a verification step, from reference inputs.
    fn reference(&self, inputs: &mut ReferenceInputs) -> Result<Self::Drawn>;

    fn upload(&self, device: &D, drawn: Self::Drawn) -> Result<Self::Inputs>;

    /// Draws the random numbers of the step, moves the batch to the device, and marks the end of [`Phase::Transfer`];
    /// the time of drawing counts as the step's residual.
    fn inputs(
        &self,
        device: &D,
        batch: Batch,
        draw: Draw,
        watch: &mut Stopwatch<'_>,
    ) -> Result<Self::Inputs> {
        let drawn = self.draw(batch, draw);
        watch.skip();
        let inputs = self.upload(device, drawn)?;
        watch.mark(Phase::Transfer);
        Ok(inputs)
    }

    fn meaning(&self) -> Meaning;

    fn forward(&self, pass: &mut Pass<D>, inputs: &Self::Inputs) -> Result<Var<D>>;

    /// The mean loss of the batch, one value.
    fn loss(&self, pass: &mut Pass<D>, output: &Var<D>, inputs: &Self::Inputs) -> Result<Var<D>>;

    /// Adds metrics other than the loss to `score`.
    fn score(
        &self,
        _device: &D,
        _output: &Var<D>,
        _inputs: &Self::Inputs,
        _score: &mut Score,
    ) -> Result<()> {
        Ok(())
    }

    /// Updates running statistics.
    fn update_statistics(&mut self, _device: &D, _update: &StatisticsUpdate<'_, D>) -> Result<()> {
        Ok(())
    }

    /// Expensive evaluation; see [`Task::assess`].
    fn assess(
        &mut self,
        _device: &D,
        _assess: &Assess<'_>,
        _found: &mut Assessment<'_>,
    ) -> Result<(), TaskError> {
        Ok(())
    }

    /// Images that the model draws; see [`Task::draw`].
    fn draw_images(
        &self,
        _device: &D,
        _wanted: &Drawing<'_>,
        _told: AssessmentProgress<'_>,
    ) -> Result<Option<Vec<Image>>> {
        Ok(None)
    }
}

/// Key of a batch's random streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Draw {
    Training(Place),
    /// Index of a batch in its split, the same in every evaluation.
    Evaluation(u64),
}

impl Draw {
    /// The stream of noise of the batch, or of the part `within` it.
    pub(super) fn noise(self, seed: Seed, within: &[u64]) -> ChaCha8Rng {
        match self {
            Self::Training(Place { epoch, step }) => {
                seed.stream_at(Purpose::Noise, &[&[epoch, step], within].concat())
            }
            Self::Evaluation(index) => {
                seed.stream_at(Purpose::Evaluation, &[&[index], within].concat())
            }
        }
    }
}

pub(super) struct Backprop<D, O> {
    device: D,
    objective: O,
    seed: Seed,
}

impl<D: Kernels, O: Objective<D>> Backprop<D, O> {
    pub(super) fn new(device: &D, objective: O, seed: Seed) -> Self {
        Self {
            device: device.clone(),
            objective,
            seed,
        }
    }

    fn evaluated(&self, batch: Batch, index: u64) -> Result<O::Inputs> {
        let draw = Draw::Evaluation(index);
        self.objective
            .inputs(&self.device, batch, draw, &mut Stopwatch::start())
    }

    /// Adds loss and metrics of `samples` samples, and the pass's work.
    fn score(
        &self,
        mut pass: Pass<D>,
        output: &Var<D>,
        inputs: &O::Inputs,
        samples: usize,
        score: &mut Score,
    ) -> Result<()> {
        let loss = self.objective.loss(&mut pass, output, inputs)?;
        score.add_loss(loss.to_host(&self.device)?[0], samples);
        score.add_work(pass.work());
        self.objective.score(&self.device, output, inputs, score)
    }

    fn backpropagate(
        &self,
        mut pass: Pass<D>,
        inputs: &O::Inputs,
        loss_grad: Buffer<D>,
        watch: &mut Stopwatch<'_>,
    ) -> Result<MicroStepResult<D>> {
        let output = self.objective.forward(&mut pass, inputs)?;
        watch.mark(Phase::Forward);
        let loss = self.objective.loss(&mut pass, &output, inputs)?;
        MicroStepResult::of(pass, loss, loss_grad, Work::default(), watch)
    }
}

impl<D: Kernels, O: Objective<D>> Task<D> for Backprop<D, O> {
    fn module(&mut self) -> &mut dyn Module<D> {
        self.objective.module()
    }

    fn gradients(
        &mut self,
        batch: Batch,
        place: Place,
        loss_grad: Buffer<D>,
        sum: Option<Grads<D>>,
        watch: &mut Stopwatch<'_>,
    ) -> Result<MicroStepResult<D>> {
        let inputs = self
            .objective
            .inputs(&self.device, batch, Draw::Training(place), watch)?;
        let pass = Pass::training(&self.device, sum)?.with_profiler(watch.profiler());
        let at = [place.epoch, place.step];
        let pass = pass.with_dropout(self.seed.stream_at(Purpose::Dropout, &at));
        self.backpropagate(pass, &inputs, loss_grad, watch)
    }

    fn evaluate(&mut self, batch: Batch, index: u64, score: &mut Score) -> Result<()> {
        let (samples, inputs) = (batch.size, self.evaluated(batch, index)?);
        let mut pass = Pass::inference(&self.device);
        let output = self.objective.forward(&mut pass, &inputs)?;
        self.score(pass, &output, &inputs, samples, score)
    }

    fn outputs(&mut self, batch: Batch, index: u64, score: &mut Score) -> Result<Outputs> {
        let inputs = self.evaluated(batch, index)?;
        let mut pass = Pass::inference(&self.device);
        let output = self.objective.forward(&mut pass, &inputs)?;
        score.add_work(pass.work());
        Ok(Outputs {
            values: output.to_host(&self.device)?,
            shape: output.shape(),
            meaning: self.objective.meaning(),
        })
    }

    fn evaluate_outputs(
        &mut self,
        batch: Batch,
        index: u64,
        outputs: Outputs,
        score: &mut Score,
    ) -> Result<()> {
        let (samples, inputs) = (batch.size, self.evaluated(batch, index)?);
        let output = Var::constant(&self.device, outputs.values, outputs.shape)?;
        let pass = Pass::inference(&self.device);
        self.score(pass, &output, &inputs, samples, score)
    }

    fn assess(&mut self, assess: &Assess<'_>, found: &mut Assessment<'_>) -> Result<(), TaskError> {
        self.objective.assess(&self.device, assess, found)
    }

    fn draw(
        &mut self,
        wanted: &Drawing<'_>,
        told: AssessmentProgress<'_>,
    ) -> Result<Option<Vec<Image>>> {
        self.objective.draw_images(&self.device, wanted, told)
    }

    fn after_step(&mut self, is_taken: bool, control: Option<&D::Control>) -> Result<()> {
        let update = if is_taken {
            StatisticsUpdate::Step(control)
        } else {
            StatisticsUpdate::Forget
        };
        self.objective.update_statistics(&self.device, &update)
    }

    fn recompute_statistics(&mut self, batches: &mut dyn Iterator<Item = Batch>) -> Result<()> {
        for (index, batch) in batches.enumerate() {
            let inputs = self.evaluated(batch, index as u64)?;
            let mut pass = Pass::recording(&self.device);
            self.objective.forward(&mut pass, &inputs)?;
            let update = StatisticsUpdate::Mean(1.0 / (index + 1) as f32);
            self.objective.update_statistics(&self.device, &update)?;
        }
        Ok(())
    }

    fn reference_evaluation(&mut self, inputs: &mut ReferenceInputs) -> Result<Option<f64>> {
        let drawn = self.objective.reference(inputs)?;
        let inputs = self.objective.upload(&self.device, drawn)?;
        let mut pass = Pass::inference(&self.device);
        let output = self.objective.forward(&mut pass, &inputs)?;
        let loss = self.objective.loss(&mut pass, &output, &inputs)?;
        Ok(Some(f64::from(loss.to_host(&self.device)?[0])))
    }

    fn reference(&mut self, inputs: &mut ReferenceInputs) -> Result<MicroStepResult<D>> {
        let drawn = self.objective.reference(inputs)?;
        let inputs = self.objective.upload(&self.device, drawn)?;
        let pass = Pass::recording(&self.device);
        let one = self.device.full_buffer(1, 1.0)?;
        self.backpropagate(pass, &inputs, one, &mut Stopwatch::start())
    }
}
