//! [`Backprop`]: a task made of a forward pass, a loss and backpropagation. Most tasks are of this kind.

use rand_chacha::ChaCha8Rng;

use super::{
    Assessment, AssessmentInputs, AssessmentProgress, Image, ImageRequest, MicroStepResult,
    OutputKind, Outputs, ReferenceInputs, Score, Task, TaskError, TrainingPosition,
};
use crate::base::{Purpose, Seed};
use crate::device::Buffer;
use crate::loader::Batch;
use crate::measure::{Phase, Stopwatch};
use crate::models::StatisticsUpdate;
use crate::ops::{Flops, Grads, Kernels, Module, Pass, Result, Var};

/// Forward pass and loss of a family of models. [`Backprop`] makes a [`Task`] of it: gradients, phases and metrics.
pub(super) trait Objective<D: Kernels> {
    /// A batch with its random draws (noise, diffusion times), in host memory.
    type Drawn;
    /// [`Objective::Drawn`] in device memory.
    type Inputs;

    fn module(&mut self) -> &mut dyn Module<D>;

    /// Adds the random draws to a batch; `draw` is the key of their random streams.
    fn draw(&self, batch: Batch, draw: DrawKey) -> Self::Drawn;

    /// The batch of a reference step, with PyTorch's draws instead of random ones.
    fn reference(&self, inputs: &mut ReferenceInputs) -> Result<Self::Drawn>;

    fn upload(&self, device: &D, drawn: Self::Drawn) -> Result<Self::Inputs>;

    /// Adds the random draws to the batch, moves it to the device, and marks the end of [`Phase::Transfer`]. The time
    /// of drawing is not part of that phase, but of the step's residual.
    fn inputs(
        &self,
        device: &D,
        batch: Batch,
        draw: DrawKey,
        watch: &mut Stopwatch<'_>,
    ) -> Result<Self::Inputs> {
        let drawn = self.draw(batch, draw);
        watch.skip();
        let inputs = self.upload(device, drawn)?;
        watch.mark(Phase::Transfer);
        Ok(inputs)
    }

    fn meaning(&self) -> OutputKind;

    fn forward(&self, pass: &mut Pass<D>, inputs: &Self::Inputs) -> Result<Var<D>>;

    /// The mean loss of the batch, one value.
    fn loss(&self, pass: &mut Pass<D>, output: &Var<D>, inputs: &Self::Inputs) -> Result<Var<D>>;

    /// Adds the metrics of a batch, without the loss, to `score`.
    fn score(
        &self,
        _device: &D,
        _output: &Var<D>,
        _inputs: &Self::Inputs,
        _score: &mut Score,
    ) -> Result<()> {
        Ok(())
    }

    /// Updates the running statistics (of batch normalisation); does nothing for models without any.
    fn update_statistics(&mut self, _device: &D, _update: &StatisticsUpdate<'_, D>) -> Result<()> {
        Ok(())
    }

    /// Costly evaluation after training; see [`Task::assess`].
    fn assess(
        &mut self,
        _device: &D,
        _assess: &AssessmentInputs<'_>,
        _found: &mut Assessment<'_>,
    ) -> Result<(), TaskError> {
        Ok(())
    }

    /// Images that the model generates, `None` if it generates none; see [`Task::draw`].
    fn draw_images(
        &self,
        _device: &D,
        _wanted: &ImageRequest<'_>,
        _told: AssessmentProgress<'_>,
    ) -> Result<Option<Vec<Image>>> {
        Ok(None)
    }
}

/// Key of the random streams of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DrawKey {
    Training(TrainingPosition),
    /// Evaluation of the batch with this index in its split; the draws are the same in every evaluation.
    Evaluation(u64),
}

impl DrawKey {
    /// The random stream for the noise of the batch, or of a part of the batch with the key `within` (empty for the
    /// batch).
    pub(super) fn noise(self, seed: Seed, within: &[u64]) -> ChaCha8Rng {
        match self {
            Self::Training(TrainingPosition { epoch, step }) => {
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
        let draw = DrawKey::Evaluation(index);
        self.objective
            .inputs(&self.device, batch, draw, &mut Stopwatch::start())
    }

    /// Adds the loss and metrics of a batch of `samples` samples, and the work of `pass`, to `score`.
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
        MicroStepResult::of(pass, loss, loss_grad, Flops::default(), watch)
    }
}

impl<D: Kernels, O: Objective<D>> Task<D> for Backprop<D, O> {
    fn module(&mut self) -> &mut dyn Module<D> {
        self.objective.module()
    }

    fn gradients(
        &mut self,
        batch: Batch,
        place: TrainingPosition,
        loss_grad: Buffer<D>,
        sum: Option<Grads<D>>,
        watch: &mut Stopwatch<'_>,
    ) -> Result<MicroStepResult<D>> {
        let inputs = self
            .objective
            .inputs(&self.device, batch, DrawKey::Training(place), watch)?;
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

    fn assess(
        &mut self,
        assess: &AssessmentInputs<'_>,
        found: &mut Assessment<'_>,
    ) -> Result<(), TaskError> {
        self.objective.assess(&self.device, assess, found)
    }

    fn draw(
        &mut self,
        wanted: &ImageRequest<'_>,
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
