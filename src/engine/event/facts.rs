//! Results of a run: facts, which are the same on every rerun, and times, which are not.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use crate::measure::gpu::GpuUsage;

/// Metrics of a trained model by name; `None` for a value that is not finite. Unit and direction of each metric are
/// listed with the columns of the results.
pub type Metrics = BTreeMap<String, Option<f64>>;

/// Results of one epoch, a row of `epochs.csv`. All are facts except the times in `steps`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct EpochRow {
    /// Number of the epoch, from 0.
    pub epoch: usize,
    /// Mean training loss over the epoch's samples; `None` when it is not a finite number.
    pub train_loss: Option<f64>,
    /// Validation metrics by name (`val_loss`, `val_r2`, `val_accuracy`, …).
    pub validation: Metrics,
    /// Learning rate in the first step of the epoch; `None` if a command did not report one.
    pub lr: Option<f64>,
    /// Losses of the epoch's steps, in order; not part of `epochs.csv` (they go to `steps.csv`).
    #[serde(default)]
    pub steps: Vec<StepRow>,
}

impl EpochRow {
    /// Reduces the rows that a program printed for `epochs` epochs to one row per epoch. The rows are divided evenly
    /// among the epochs, and the last value in an epoch counts. If there are fewer than two rows per epoch, each row is
    /// one epoch, and surplus rows (an evaluation at the end) belong to the last epoch.
    pub fn one_per_epoch(rows: &[Self], epochs: usize) -> Vec<Self> {
        let (count, last) = (rows.len(), epochs.saturating_sub(1));
        let mut kept: Vec<Self> = Vec::new();
        for (place, row) in rows.iter().enumerate() {
            let epoch = if count < 2 * epochs {
                place.min(last)
            } else {
                place * epochs / count
            };
            let mut row = Self {
                epoch,
                ..row.clone()
            };
            if let Some(before) = kept.pop_if(|before| before.epoch == epoch) {
                row.train_loss = row.train_loss.or(before.train_loss);
                row.lr = row.lr.or(before.lr);
                let own = std::mem::replace(&mut row.validation, before.validation);
                row.validation.extend(own);
            }
            kept.push(row);
        }
        kept
    }
}

/// Loss and time of one optimizer step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StepRow {
    /// Training loss of the step; `None` when it is not a finite number.
    pub loss: Option<f64>,
    /// Time of the step in milliseconds; recorded for warm-up steps too.
    pub step_ms: f64,
}

/// Number of steps whose mean loss is [`RunFacts::first_steps_loss`].
pub const FIRST_STEPS: u64 = 10;

/// All results of a run that a rerun in the same numeric class repeats bit for bit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunFacts {
    /// Why the run diverged; `None` if it did not.
    pub diverged: Option<String>,
    /// Number of parameters (elements of all tensors).
    pub parameters: u64,
    /// FLOPs of a forward pass per sample, summed over its operations.
    pub flops_forward_per_sample: f64,
    /// FLOPs of a backward pass, per sample.
    pub flops_backward_per_sample: f64,
    /// Number of optimizer steps.
    pub steps: u64,
    /// Number of training samples, summed over the epochs.
    pub samples: u64,
    /// Number of trained epochs.
    pub epochs: usize,
    /// Epoch (from 0) with the lowest loss: the validation loss if there is one, else the training loss. `None` if no
    /// epoch has a loss.
    pub best_epoch: Option<usize>,
    /// Loss of the first step, for a command that of the first epoch; `None` if it is missing or not finite.
    pub first_loss: Option<f64>,
    /// Mean training loss of the last epoch; `None` if it is missing or not finite.
    pub final_loss: Option<f64>,
    /// Lowest loss of an epoch (validation loss if there is one, else training loss); `None` if no epoch has a loss.
    pub best_loss: Option<f64>,
    /// Loss on the fixed batch (same noise, raw weights) before training; `None` if it was not computed or is not
    /// finite.
    pub eval_loss_before: Option<f64>,
    /// Loss on the fixed batch after training; `None` if it was not computed or is not finite.
    pub eval_loss_after: Option<f64>,
    /// Metrics at the end of the run, by name (`val_mse`, `test_r2`, `fresh_mse`, …). A costly evaluation adds its
    /// metrics in the first block only.
    pub metrics: Metrics,
    /// blake3 digest over names and bytes of the final weights; empty for a command.
    pub weight_checksum: String,
    /// Mean training loss of the first [`FIRST_STEPS`] steps (of all steps if there are fewer); `None` if there is no
    /// step or a loss is not finite.
    #[serde(default)]
    pub first_steps_loss: Option<f64>,
    /// Operations of the run whose results may differ in some bits on every rerun, because a GPU library has no
    /// deterministic algorithm for them; empty if all results are reproducible.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub nondeterministic: String,
    /// Work of one training step, a row per layer and operation, and the row [`SAMPLES_ROW`]; empty for a command.
    #[serde(default, skip_serializing_if = "has_no_rows")]
    pub work: Shared<Vec<OpWork>>,
    /// Confusion matrix of the samples of the test split; empty if the targets are not classes.
    #[serde(default, skip_serializing_if = "has_no_rows")]
    pub confusion: Shared<Vec<Confusion>>,
}

fn has_no_rows<R>(rows: &Shared<Vec<R>>) -> bool {
    rows.is_empty()
}

/// An entry of a confusion matrix: the number of samples of one true class for which the model predicts one class.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Confusion {
    /// True class of the samples.
    pub class: String,
    /// Predicted class.
    pub predicted: String,
    /// Number of samples.
    pub samples: u64,
}

/// Name of the row of [`RunFacts::work`] whose number of calls is the number of training samples in the first epoch.
pub const SAMPLES_ROW: &str = "samples";

/// Work of one operation of one layer in one training step: counted, not timed, and independent of the number of
/// threads.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OpWork {
    /// Path of the layer that called the operation; empty if no layer did.
    pub layer: String,
    /// Name of the operation, or of a phase (for its work outside of all operations), or [`SAMPLES_ROW`].
    pub op: String,
    /// Number of calls per step; in the row [`SAMPLES_ROW`] the number of samples.
    pub calls: u64,
    /// Number of calls of the operation's backward pass.
    pub backward_calls: u64,
    /// FLOPs of the forward pass, by the operation's formula.
    pub flops_forward: u64,
    /// FLOPs of the backward pass, by the operation's formula.
    pub flops_backward: u64,
    /// Number of tensors whose memory was requested in the forward and backward pass.
    pub tensors: u64,
    /// Size of these tensors in bytes.
    pub tensor_bytes: u64,
    /// Number of kernels queued on the GPU; `None` on the CPU.
    pub launches: Option<u64>,
    /// Number of copies between host and GPU and within GPU memory; `None` on the CPU.
    pub copies: Option<u64>,
}

/// Milliseconds of a step by phase, as means over steps (a worker does not report them step by step). The phases do not
/// overlap; together with `other_ms` they sum to the time of the step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PhaseTimes {
    /// Waiting for the batch.
    pub data_wait_ms: f64,
    /// Copy from host to device.
    pub transfer_ms: f64,
    /// Forward pass.
    pub forward_ms: f64,
    /// Loss function.
    pub loss_ms: f64,
    /// Backward pass.
    pub backward_ms: f64,
    /// Gradient clipping, optimizer step, moving average of the weights.
    pub optimizer_ms: f64,
    /// Time of the step outside of the phases above.
    pub other_ms: f64,
}

/// Times of the data loader; seconds are summed over the run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LoaderTimes {
    /// Seconds that training waited for batches.
    pub wait_s: f64,
    /// Seconds spent on preparing batches, summed over the worker threads (for 0 workers, in the training thread).
    pub work_s: f64,
    /// Milliseconds to start the workers: mean over all starts, for an observed program the median over epochs.
    pub start_ms: f64,
    /// Milliseconds to stop and join the workers, mean over all stops.
    pub stop_ms: f64,
}

/// Memory of a run's tensors in bytes, by purpose; computed, not measured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MemoryParts {
    /// Parameters.
    pub parameter_bytes: u64,
    /// Gradients.
    pub gradient_bytes: u64,
    /// Optimizer state and weight average.
    pub optimizer_bytes: u64,
    /// Activations held for backward at the end of a forward pass.
    pub activation_bytes: u64,
}

/// A value that runs share if it is equal, to save memory (a plan can have a hundred thousand runs); copied on write.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Shared<T>(Arc<T>);

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}

impl<T> From<T> for Shared<T> {
    fn from(value: T) -> Self {
        Self(Arc::new(value))
    }
}

/// GPU memory of a run; every value is `None` on the CPU, or if it was not reported.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DeviceMemoryUsage {
    /// Peak memory that the allocator handed out in training, in bytes.
    pub peak_train_bytes: Option<u64>,
    /// Peak memory that the allocator handed out in validation, in bytes.
    pub peak_validation_bytes: Option<u64>,
    /// Memory in use by all processes at the end of the run, in bytes, as the driver reports it: including libraries,
    /// kernels and memory that the allocator holds in reserve.
    pub used_bytes: Option<u64>,
    /// How these numbers were measured; empty if they were not.
    pub source: String,
}

/// All results of a run that are measured with clocks and counters: times, memory, energy.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunTimes {
    /// Number of warm-up steps, which are left out of the figures below.
    pub warmup_steps: u64,
    /// Number of steps from which the times below are computed; `None` for a command that reports only its own times.
    pub measured_steps: Option<u64>,
    /// Median time of a step in milliseconds.
    pub step_ms: f64,
    /// Mean time of a step by phase. On the CPU, over the measured steps: the phases sum to `step_mean_ms`. On a device
    /// that runs asynchronously, over extra steps that synchronise after every phase: they sum to `phase_step_ms`;
    /// without such steps all time is in `other_ms`.
    pub phases: PhaseTimes,
    /// Mean time of a step in milliseconds.
    pub step_mean_ms: f64,
    /// Samples per second over the measured steps (wall time, waiting included).
    pub samples_per_s: f64,
    /// Mean time of the synchronised extra steps divided by that of ordinary steps; `None` if the phases were measured
    /// in ordinary steps.
    pub observer_ratio: Option<f64>,
    /// Median seconds of an epoch, validation excluded; `None` if no epoch was complete.
    pub epoch_s: Option<f64>,
    /// Seconds of training, validation excluded.
    pub train_s: f64,
    /// Seconds of validation and of the evaluations before and after training.
    pub validation_s: f64,
    /// Seconds from the start of training to the end of the best epoch, validation excluded; `None` without a best
    /// epoch.
    pub best_epoch_s: Option<f64>,
    /// Seconds from the worker's first instruction to the first step (data, model, weights).
    pub startup_s: f64,
    /// Seconds from the worker's first instruction to the end, costly evaluation excluded.
    pub total_s: f64,
    /// For a run that was interrupted and resumed, the seconds of its earlier processes, else `None`. If it is set,
    /// `train_s`, `validation_s` and `total_s` are sums over all processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_after_s: Option<f64>,
    /// Times of the data loader.
    pub loader: LoaderTimes,
    /// Peak resident memory in training, in bytes; where the peak cannot be reset (see `memory_source`), that before
    /// the first validation; for a command, that of all its processes until its end.
    pub peak_train_bytes: Option<u64>,
    /// Peak resident memory in validation, in bytes; it includes training where the peak cannot be reset. `None` for a
    /// command.
    pub peak_validation_bytes: Option<u64>,
    /// How both peaks of resident memory were measured (`VmHWM`, `ru_maxrss`, …).
    pub memory_source: String,
    /// Memory of parameters, gradients, optimizer and activations; computed, not measured.
    pub memory: MemoryParts,
    /// Number of threads that computed.
    pub threads: usize,
    /// The numeric class: architecture, vector level, device.
    pub numeric_class: String,
    /// Seconds of the costly evaluation; `None` if there was none.
    #[serde(default)]
    pub assessment_s: Option<f64>,
    /// Mean decrease of the loss per second: `(first_loss − best_loss) / best_epoch_s`; `None` if one of them is
    /// missing.
    #[serde(default)]
    pub improvement_per_s: Option<f64>,
    /// Size in bytes of the checkpoint files that the run wrote; `None` if it wrote none.
    #[serde(default)]
    pub checkpoint_bytes: Option<u64>,
    /// Growth of resident memory in training, in bytes. Left out are the first steps (the warm-up, at least two) and
    /// changes between epochs. Negative if memory was released; `None` if the system does not report it or there were
    /// too few steps. Growth per step: divide by the steps of the run less the greater of `warmup_steps` and 2.
    #[serde(default)]
    pub memory_growth_bytes: Option<i64>,
    /// GPU memory of the run.
    #[serde(default)]
    pub device_memory: Shared<DeviceMemoryUsage>,
    /// Readings of the GPU's counters in training: clocks, power, energy, temperature.
    #[serde(default)]
    pub gpu: Shared<GpuUsage>,
    /// How the GPU computed the convolutions, by size, if a library chose the algorithms (else empty): see
    /// [`Backend::convolutions`].
    ///
    /// [`Backend::convolutions`]: crate::device::Backend::convolutions
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub convolutions: String,
    /// Total size in bytes of the events that the run sent; counted by the parent, `None` in the worker.
    #[serde(default)]
    pub log_bytes: Option<u64>,
    /// Whether these are the times of a command that reported its steps; a time of 0 was then not reported.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_observed: bool,
    /// Number of processes that trained together; `None` if there was only one. One process was observed, and the
    /// numbers of samples are its own multiplied by this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u64>,
    /// Times that a command reported as metrics, by name of the metric.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own: BTreeMap<String, f64>,
}

impl RunTimes {
    /// Whether the run has usable times: it measured a step, or is a command's run, and was not interrupted.
    pub fn are_measured(&self) -> bool {
        self.measured_steps != Some(0) && self.resumed_after_s.is_none()
    }

    /// Whether these are the times of a command that reported no steps; a time of 0 was then not reported.
    pub fn is_of_command(&self) -> bool {
        self.measured_steps.is_none()
    }

    /// Whether the times come from a program, which may have reported only some of them.
    pub fn are_reported_by_program(&self) -> bool {
        self.is_of_command() || self.is_observed
    }

    /// Mean milliseconds of the steps in which phases were measured: the phases sum to it.
    pub fn phase_step_ms(&self) -> f64 {
        self.step_mean_ms * self.observer_ratio.unwrap_or(1.0)
    }
}
