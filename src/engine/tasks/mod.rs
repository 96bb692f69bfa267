//! Tasks: computation of gradients and loss from a batch, and of metrics from a split. One file per task.
//!
//! Owns [`Task`], which the training loop calls, and [`Workload`], which says for each family of models what data it
//! takes and builds its task. Most tasks are an `Objective` under `backprop`; an algorithm that computes gradients
//! differently, or needs several forward passes, implements [`Task`] itself. The training loop is in [`crate::train`].
//!
//! All random numbers of a micro-step are drawn on the host from streams seeded by its [`TrainingPosition`], so that
//! they depend neither on the order of batches nor on threads.

mod algorithm;
mod assess;
mod backprop;
mod class_score;
mod classification;
mod command;
mod declared;
mod detector;
mod diffusion;
mod diffusion_samples;
mod equilibrium;
mod error;
mod goal;
mod label_score;
mod labels;
mod noise_ahead;
mod noise_schedule;
mod outputs;
mod paths;
mod reference;
mod regression;
mod sampling;
mod score;
mod supervised;
mod tokens;
mod workload;

pub use algorithm::Algorithm;
pub use assess::{Assessment, AssessmentInputs, AssessmentProgress, Image, ImageRequest};
pub use class_score::class_metrics;
pub use detector::{SelectionSpec, VerificationSpec};
pub use error::TaskError;
pub use label_score::LABEL_METRICS;
pub use outputs::{OutputKind, Outputs};
pub(crate) use outputs::{log_softmax, log_sum_exp, logistic_loss};
pub use reference::{ReferenceInputs, ReferenceTensor, ReferenceValues};
pub use sampling::{SamplerKind, SamplingSpec};
pub use score::Score;
pub use workload::{BuiltTask, ReferenceDataKind, ReferenceFiles, Workload};

use crate::base::Seed;
use crate::datasets::{Features, Target};
use crate::device::Buffer;
use crate::loader::Batch;
use crate::losses::LossSpec;
use crate::measure::{Phase, Stopwatch};
use crate::models::ModelSpec;
use crate::ops::{ConvAlgorithm, Flops, Grads, Kernels, Module, Pass, Result, Var};

/// A model with its loss and metrics, as the training loop uses it.
pub trait Task<D: Kernels> {
    /// The model, for access to its parameters.
    fn module(&mut self) -> &mut dyn Module<D>;

    /// Gradients and loss of one micro-step. `sum` has the gradients of earlier micro-steps of the same step, to which
    /// the new ones are added, or empty gradients that record norms ([`Grads::recording_squares`]).
    ///
    /// Marks the end of each phase on `watch`. `loss_grad` is the gradient of the batch's mean loss, one value: the
    /// batch's share of the step's samples, times the loss scale if there is one.
    ///
    /// # Errors
    /// Any error of an operation; the task remains usable.
    fn gradients(
        &mut self,
        batch: Batch,
        place: TrainingPosition,
        loss_grad: Buffer<D>,
        sum: Option<Grads<D>>,
        watch: &mut Stopwatch<'_>,
    ) -> Result<MicroStepResult<D>>;

    /// Called after every optimizer step; `_is_taken` is false if the host left the step out because its loss diverged.
    /// Updates running statistics (of batch normalisation), unless `_control` skips the step.
    ///
    /// # Errors
    /// Any error of the device.
    fn after_step(&mut self, _is_taken: bool, _control: Option<&D::Control>) -> Result<()> {
        Ok(())
    }

    /// Recomputes running statistics from `batches`, for weights that were not trained themselves, such as averaged
    /// ones.
    ///
    /// # Errors
    /// Any error of the device.
    fn recompute_statistics(&mut self, _batches: &mut dyn Iterator<Item = Batch>) -> Result<()> {
        Ok(())
    }

    /// Adds the loss and the metrics of a batch to `score`. `index` is the batch's index in its split and seeds its
    /// noise, so the noise is the same in every evaluation.
    fn evaluate(&mut self, batch: Batch, index: u64, score: &mut Score) -> Result<()>;

    /// The model's outputs for a batch, with the same noise as in [`Task::evaluate`]. Adds only work and solver
    /// iterations to `score`.
    fn outputs(&mut self, batch: Batch, index: u64, score: &mut Score) -> Result<Outputs>;

    /// As [`Task::evaluate`], with `outputs` in place of the model's own.
    ///
    /// # Errors
    /// [`crate::ops::OpError::Shape`] when `outputs` does not fit the batch.
    fn evaluate_outputs(
        &mut self,
        batch: Batch,
        index: u64,
        outputs: Outputs,
        score: &mut Score,
    ) -> Result<()>;

    /// Costly evaluation (samples, verification, selection) after training, once per cell and seed, with the weights
    /// that are saved. Does not change the weights.
    ///
    /// # Errors
    /// [`TaskError::Data`] when the data cannot be read, [`TaskError::Op`] when the device fails.
    fn assess(
        &mut self,
        _assess: &AssessmentInputs<'_>,
        _found: &mut Assessment<'_>,
    ) -> Result<(), TaskError> {
        Ok(())
    }

    /// Generates images; equal requests give equal images. `None` if the model generates no images. `_told` gets the
    /// number of finished steps and of all steps.
    ///
    /// # Errors
    /// Any error of an operation.
    fn draw(
        &mut self,
        _wanted: &ImageRequest<'_>,
        _told: AssessmentProgress<'_>,
    ) -> Result<Option<Vec<Image>>> {
        Ok(None)
    }

    /// The evaluation loss of reference inputs; `None` if the task computes no loss of its own in evaluation.
    ///
    /// # Errors
    /// As [`Task::reference`].
    fn reference_evaluation(&mut self, _inputs: &mut ReferenceInputs) -> Result<Option<f64>> {
        Ok(None)
    }

    /// Loss and gradients of a reference step (computed by PyTorch too) on `inputs`, without dropout.
    ///
    /// # Errors
    /// [`crate::ops::OpError::Shape`] with all mismatches of `inputs`.
    fn reference(&mut self, inputs: &mut ReferenceInputs) -> Result<MicroStepResult<D>>;
}

/// Position of a micro-step in training, which seeds its random streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrainingPosition {
    /// Epoch, from 0.
    pub epoch: u64,
    /// Index of the micro-step in its epoch, from 0.
    pub step: u64,
}

/// Result of a micro-step.
pub struct MicroStepResult<D: Kernels> {
    /// Gradients, summed with those of earlier micro-steps.
    pub grads: Grads<D>,
    /// The batch's mean loss, one value.
    pub loss: Var<D>,
    /// FLOPs of the batch's forward and backward pass.
    pub work: Flops,
    /// Bytes of activations that are kept for the backward pass.
    pub activation_bytes: u64,
}

impl<D: Kernels> MicroStepResult<D> {
    /// Runs the backward pass from `loss`; `earlier` is work of the same step that was done outside `pass`.
    fn of(
        pass: Pass<D>,
        loss: Var<D>,
        loss_grad: Buffer<D>,
        earlier: Flops,
        watch: &mut Stopwatch<'_>,
    ) -> Result<Self> {
        watch.mark(Phase::Loss);
        let (mut work, activation_bytes) = (earlier, pass.held_bytes());
        work += pass.work();
        let grads = pass.backward_from(&loss, loss_grad)?;
        watch.mark(Phase::Backward);
        Ok(Self {
            grads,
            loss,
            work,
            activation_bytes,
        })
    }
}

/// Arguments of [`build`].
#[derive(Debug, Clone, Copy)]
pub struct TaskParts<'a> {
    /// The model.
    pub model: &'a ModelSpec,
    /// The loss.
    pub loss: &'a LossSpec,
    /// Kind and size of a sample's features.
    pub features: Features,
    /// Kind and size of a sample's target.
    pub target: Target,
    /// How gradients are computed (`train.algorithm`).
    pub algorithm: Algorithm,
    /// Strength β of the nudge; used by equilibrium propagation only.
    pub beta: f64,
    /// How the CPU computes convolutions.
    pub convolution: ConvAlgorithm,
    /// Features of all rows of the training split, `(rows, features)`, if the loss compares with the whole split
    /// ([`LossSpec::compares_paths`]); else empty.
    pub training: &'a [f32],
    /// Name of each class and its number of rows in the training split; empty if the target is not a class, or there is
    /// no training split.
    pub rows_by_class: &'a [(String, usize)],
    /// Seed of weights, noise and dropout.
    pub seed: Seed,
}

/// Builds the task for a model, a loss and a dataset; the model gets new initial weights.
///
/// # Errors
/// [`TaskError::Misfit`] if model, loss and dataset do not fit together, [`TaskError::Op`] when the device fails.
pub fn build<D: Kernels>(device: &D, parts: TaskParts<'_>) -> BuiltTask<D> {
    Workload::build(parts.model, device, parts)
}
