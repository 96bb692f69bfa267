//! Tasks: computation of gradients and loss from a batch, and of metrics from a split. One file per task.
//!
//! Owns [`Task`], which the training loop calls, and [`Workload`], which defines the data and the task of each family
//! of models. Most tasks are an `Objective` under `backprop`; an algorithm that computes gradients differently, or
//! needs several forward passes, implements [`Task`] itself. The training loop is in [`crate::train`].
//!
//! All random numbers of a step are drawn on the host from streams seeded by the step's [`Place`], so that they depend
//! neither on the order of batches nor on threads.

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
pub use assess::{Assess, Assessment, AssessmentProgress, Drawing, Image};
pub use class_score::class_metrics;
pub use detector::{SelectionSpec, VerificationSpec};
pub use error::TaskError;
pub use label_score::LABEL_METRICS;
pub use outputs::{Meaning, Outputs};
pub(crate) use outputs::{log_softmax, log_sum_exp, logistic_loss};
pub use reference::{ReferenceInputs, ReferenceTensor, ReferenceValues};
pub use sampling::{SamplerKind, SamplingSpec};
pub use score::Score;
pub use workload::{BuiltTask, ReferenceFiles, ReferenceForm, Workload};

use crate::base::Seed;
use crate::datasets::{Features, Target};
use crate::device::Buffer;
use crate::loader::Batch;
use crate::losses::LossSpec;
use crate::measure::{Phase, Stopwatch};
use crate::models::ModelSpec;
use crate::ops::{Convolution, Grads, Kernels, Module, Pass, Result, Var, Work};

/// A model with its loss and metrics, with the functions that the training loop calls.
pub trait Task<D: Kernels> {
    /// The parameters.
    fn module(&mut self) -> &mut dyn Module<D>;

    /// The gradients of one micro-step, added to `sum`: the gradients of earlier micro-steps of the same step, or empty
    /// gradients that record norms ([`Grads::for_norms`]).
    ///
    /// Marks the end of each phase on `watch`. `loss_grad` is the gradient of the batch's mean loss, one value: the batch's
    /// share of the step's samples, times the loss scale if there is one.
    ///
    /// # Errors
    /// Any error of an operation; the task remains usable.
    fn gradients(
        &mut self,
        batch: Batch,
        place: Place,
        loss_grad: Buffer<D>,
        sum: Option<Grads<D>>,
        watch: &mut Stopwatch<'_>,
    ) -> Result<MicroStepResult<D>>;

    /// Called after every optimizer step, with whether the step was taken: updates running statistics, which are not
    /// parameters, unless `control` skips the step.
    ///
    /// # Errors
    /// Any error of the device.
    fn after_step(&mut self, _is_taken: bool, _control: Option<&D::Control>) -> Result<()> {
        Ok(())
    }

    /// Recomputes running statistics from `batches`, for weights (such as averaged ones) that were never trained on
    /// batches directly.
    ///
    /// # Errors
    /// Any error of the device.
    fn recompute_statistics(&mut self, _batches: &mut dyn Iterator<Item = Batch>) -> Result<()> {
        Ok(())
    }

    /// Adds the loss and the metrics of batch `index` of its split to `score`; its noise is the same in every evaluation.
    fn evaluate(&mut self, batch: Batch, index: u64, score: &mut Score) -> Result<()>;

    /// The model's outputs for the batch, with the same noise as in [`Task::evaluate`]; only the work and the solver's
    /// iterations are added to `score`.
    fn outputs(&mut self, batch: Batch, index: u64, score: &mut Score) -> Result<Outputs>;

    /// As [`Task::evaluate`], with `outputs` in place of the model's.
    ///
    /// # Errors
    /// [`crate::ops::OpError::Shape`] when they do not fit the batch.
    fn evaluate_outputs(
        &mut self,
        batch: Batch,
        index: u64,
        outputs: Outputs,
        score: &mut Score,
    ) -> Result<()>;

    /// Expensive evaluation (samples, verification, selection) at the end of a run, once per cell and seed, with the weights
    /// that are saved. Does not change the weights.
    ///
    /// # Errors
    /// [`TaskError::Data`] when the data cannot be read, [`TaskError::Op`] when the device fails.
    fn assess(
        &mut self,
        _assess: &Assess<'_>,
        _found: &mut Assessment<'_>,
    ) -> Result<(), TaskError> {
        Ok(())
    }

    /// Draws images: equal requests give equal images; `None` for a model that generates none. `told` is called with
    /// the number of finished steps and the total.
    ///
    /// # Errors
    /// Any error of an operation.
    fn draw(
        &mut self,
        _wanted: &Drawing<'_>,
        _told: AssessmentProgress<'_>,
    ) -> Result<Option<Vec<Image>>> {
        Ok(None)
    }

    /// The loss of reference inputs in evaluation; `None` if it equals the loss in training.
    ///
    /// # Errors
    /// As [`Task::reference`].
    fn reference_evaluation(&mut self, _inputs: &mut ReferenceInputs) -> Result<Option<f64>> {
        Ok(None)
    }

    /// The gradients of a reference step (by PyTorch) on `inputs`; without dropout.
    ///
    /// # Errors
    /// [`crate::ops::OpError::Shape`] with all mismatches of `inputs`.
    fn reference(&mut self, inputs: &mut ReferenceInputs) -> Result<MicroStepResult<D>>;
}

/// Position of a micro-step in training, which seeds its random streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Epoch, from 0.
    pub epoch: u64,
    /// Micro-step in the epoch, from 0.
    pub step: u64,
}

/// Result of a micro-step.
pub struct MicroStepResult<D: Kernels> {
    /// Gradients, summed with those of earlier micro-steps.
    pub grads: Grads<D>,
    /// The batch's mean loss, one value.
    pub loss: Var<D>,
    /// FLOPs of the batch.
    pub work: Work,
    /// Bytes of activations held at the end of the forward pass.
    pub activation_bytes: u64,
}

impl<D: Kernels> MicroStepResult<D> {
    /// Backpropagates from a pass's loss; `earlier` is work of the same step outside the pass.
    fn of(
        pass: Pass<D>,
        loss: Var<D>,
        loss_grad: Buffer<D>,
        earlier: Work,
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
    /// The form of a sample's features.
    pub features: Features,
    /// The form of a sample's target.
    pub target: Target,
    /// How gradients are computed.
    pub algorithm: Algorithm,
    /// Strength β of the nudge of equilibrium propagation.
    pub beta: f64,
    /// How the CPU computes convolutions.
    pub convolution: Convolution,
    /// Features of all rows of the training split, `(rows, features)`, for losses that compare with the whole split
    /// ([`LossSpec::compares_paths`]), else empty.
    pub training: &'a [f32],
    /// Name of each class and its number of rows in the training split; empty if the target is not a class, or there is
    /// no training split.
    pub rows_by_class: &'a [(String, usize)],
    /// Seed of weights, noise and dropout.
    pub seed: Seed,
}

/// Builds the task for a model, a loss and a dataset; the model has initial weights.
///
/// # Errors
/// [`TaskError::Misfit`] if they do not fit together, [`TaskError::Op`] when the device fails.
pub fn build<D: Kernels>(device: &D, parts: TaskParts<'_>) -> BuiltTask<D> {
    Workload::build(parts.model, device, parts)
}
