//! Results of a run: facts, which are the same on every rerun, and times, which are not.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use crate::measure::gpu::GpuUsage;

/// Metrics of the trained model by name; `None` for a value that is not finite. Unit and direction are in the results'
/// columns.
pub type Metric = BTreeMap<String, Option<f64>>;

/// One epoch; only deterministic values.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct EpochRow {
    /// Epoch, from 0.
    pub epoch: usize,
    /// Mean training loss over the epoch's samples; `None` when it is not a finite number.
    pub train_loss: Option<f64>,
    /// Validation metrics by name (`val_loss`, `val_r2`, `val_accuracy`, …).
    pub validation: Metric,
    /// Learning rate of the epoch, that of its first step if it changes during the epoch; `None` where a command
    /// reports none.
    pub lr: Option<f64>,
    /// Losses of the epoch's steps, in order; not part of `epochs.csv` (they go to `steps.csv`).
    #[serde(default)]
    pub steps: Vec<StepRow>,
}

impl EpochRow {
    /// The rows of `epochs` epochs from those of a program that printed more: the last values of each epoch. Less than
    /// two rows an epoch are one each, and then further ones of the last epoch (an evaluation at the end).
    pub fn of_epochs(rows: &[Self], epochs: usize) -> Vec<Self> {
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

/// One step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StepRow {
    /// Loss; `None` when it is not a finite number.
    pub loss: Option<f64>,
    /// Milliseconds, warm-up included.
    pub step_ms: f64,
}

/// Number of steps in the mean [`RunFacts::first_steps_loss`].
pub const FIRST_STEPS: u64 = 10;

/// All results of a run that a rerun on the same numeric class repeats to the bit.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunFacts {
    /// `Some(reason)` when the run diverged.
    pub diverged: Option<String>,
    /// Number of parameters (elements of all tensors).
    pub parameters: u64,
    /// FLOPs of a forward pass, per sample, as the operations counted them.
    pub flops_forward_per_sample: f64,
    /// FLOPs of a backward pass, per sample.
    pub flops_backward_per_sample: f64,
    /// Optimizer steps done.
    pub steps: u64,
    /// Samples trained on.
    pub samples: u64,
    /// Epochs done.
    pub epochs: usize,
    /// Epoch with the best loss (validation if there is one, else training), from 0.
    pub best_epoch: Option<usize>,
    /// Loss of the first step.
    pub first_loss: Option<f64>,
    /// Mean training loss of the last epoch.
    pub final_loss: Option<f64>,
    /// Best loss over epochs (validation if there is one, else training).
    pub best_loss: Option<f64>,
    /// Loss on one fixed evaluation batch (fixed noise, raw weights) before training.
    pub eval_loss_before: Option<f64>,
    /// Evaluation loss after training.
    pub eval_loss_after: Option<f64>,
    /// Metrics at the end, by name (`val_mse`, `test_r2`, `fresh_mse`, …); those of a costly evaluation in the first
    /// block only.
    pub metrics: Metric,
    /// blake3 over names and bytes of the final weights.
    pub weight_checksum: String,
    /// Mean training loss of the first [`FIRST_STEPS`] steps (of all steps if there are fewer).
    #[serde(default)]
    pub first_steps_loss: Option<f64>,
    /// Operations of the run whose bits may differ every time, because a GPU library has no deterministic algorithm for
    /// them; empty if all results are reproducible.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub nondeterministic: String,
    /// Work of one training step by operation, and the samples of an epoch; empty for a command.
    #[serde(default, skip_serializing_if = "has_no_rows")]
    pub work: Shared<Vec<OpWork>>,
    /// Predictions for the test split's samples, by class; empty without classes.
    #[serde(default, skip_serializing_if = "has_no_rows")]
    pub confusion: Shared<Vec<Confusion>>,
}

fn has_no_rows<R>(rows: &Shared<Vec<R>>) -> bool {
    rows.is_empty()
}

/// An entry of a confusion matrix: how many samples of a class the trained model predicts to be of another, or of the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Confusion {
    /// True class of the samples.
    pub class: String,
    /// Predicted class.
    pub predicted: String,
    /// Number of samples.
    pub samples: u64,
}

/// Name of the row whose number of calls is the number of training samples in the first epoch.
pub const SAMPLES: &str = "samples";

/// Work of one operation of one layer in one training step: counted, not timed. It does not depend on the number of
/// threads.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OpWork {
    /// Layer; empty if there is none.
    pub layer: String,
    /// Operation; the name of a phase for work outside of all operations in it; [`SAMPLES`].
    pub op: String,
    /// Calls.
    pub calls: u64,
    /// Calls of the operation's backward pass.
    pub backward_calls: u64,
    /// FLOPs of the forward pass, by the operation's rule.
    pub flops_forward: u64,
    /// FLOPs of the backward pass.
    pub flops_backward: u64,
    /// Tensors whose memory was requested, in both passes.
    pub tensors: u64,
    /// Bytes of these tensors.
    pub tensor_bytes: u64,
    /// Kernels queued on the GPU; `None` on the CPU.
    pub launches: Option<u64>,
    /// Copies between host and GPU, and on it; `None` on the CPU.
    pub copies: Option<u64>,
}

/// Milliseconds of a step by phase; phases do not overlap and sum to the step together with `other`. The worker
/// averages over the measured steps and does not report per-step values.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PhaseTimes {
    /// Waiting for the batch.
    pub data_wait_ms: f64,
    /// Copy from host to device.
    pub transfer_ms: f64,
    /// Forward pass.
    pub forward_ms: f64,
    /// Loss.
    pub loss_ms: f64,
    /// Backward pass.
    pub backward_ms: f64,
    /// Clipping, optimizer, weight average.
    pub optimizer_ms: f64,
    /// The step less the phases above.
    pub other_ms: f64,
}

/// Loader times, summed over the run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LoaderTimes {
    /// Seconds that training waited.
    pub wait_s: f64,
    /// Seconds that loading worked (in worker threads, or in the training thread for 0 workers).
    pub work_s: f64,
    /// Milliseconds to start the workers, median over starts.
    pub start_ms: f64,
    /// Milliseconds to stop and join the workers, median over stops.
    pub stop_ms: f64,
}

/// Computed parts of memory, in bytes.
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

/// A value that equal runs share to save memory (a long plan has a hundred thousand runs); it is copied on write.
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

/// Device memory of a run, in bytes; empty on the CPU.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DeviceMemoryTimes {
    /// The allocator's high-water mark in training.
    pub peak_train_bytes: Option<u64>,
    /// The allocator's high-water mark in validation.
    pub peak_validation_bytes: Option<u64>,
    /// Memory in use at the end, by all processes, as the driver reports it: including libraries, kernels and the
    /// allocator's reserve.
    pub used_bytes: Option<u64>,
    /// Source of these numbers.
    pub source: String,
}

/// All results of a run from clocks and counters.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunTimes {
    /// Warm-up steps, dropped from the figures below.
    pub warmup_steps: u64,
    /// Number of steps from which the times below are computed; `None` for a command that reports only its own times.
    pub measured_steps: Option<u64>,
    /// Median milliseconds of a step.
    pub step_ms: f64,
    /// Means over the measured steps, so that they sum to `step_mean_ms`. On a device that runs asynchronously they are
    /// from extra steps that synchronise after every phase, and sum to `phase_step_ms`; without such steps all time is
    /// `other`.
    pub phases: PhaseTimes,
    /// Mean milliseconds of a step.
    pub step_mean_ms: f64,
    /// Samples per second over the measured steps (wall time, waiting included).
    pub samples_per_s: f64,
    /// Ratio of synchronised to ordinary step time, both means; `None` if phases were measured in ordinary steps.
    pub observer_ratio: Option<f64>,
    /// Median seconds of an epoch, validation excluded; `None` without a whole epoch.
    pub epoch_s: Option<f64>,
    /// Seconds of training, validation excluded.
    pub train_s: f64,
    /// Seconds of validation and evaluation.
    pub validation_s: f64,
    /// Seconds from the start of training to the end of the best epoch, validation excluded.
    pub best_epoch_s: Option<f64>,
    /// Seconds from the worker's first instruction to the first step (data, model, weights).
    pub startup_s: f64,
    /// Seconds from the worker's first instruction to the end, costly evaluation excluded.
    pub total_s: f64,
    /// Seconds of the processes before this one, if the run was interrupted and resumed; then `train_s`, `validation_s`
    /// and `total_s` are sums over all processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_after_s: Option<f64>,
    /// The loader.
    pub loader: LoaderTimes,
    /// The process's high-water mark when training (before the first validation) was measured, in bytes.
    pub peak_train_bytes: Option<u64>,
    /// The process's high-water mark after validation, in bytes.
    pub peak_validation_bytes: Option<u64>,
    /// Source of both peaks of resident memory (`VmHWM`, `ru_maxrss`, …).
    pub memory_source: String,
    /// Computed parts.
    pub memory: MemoryParts,
    /// Number of Rayon threads that computed.
    pub threads: usize,
    /// The numeric class: architecture, vector level, device.
    pub numeric_class: String,
    /// Seconds of costly evaluation; `None` without any.
    #[serde(default)]
    pub assessment_s: Option<f64>,
    /// Improvement rate: `(first_loss − best_loss) / best_epoch_s`.
    #[serde(default)]
    pub improvement_per_s: Option<f64>,
    /// Size in bytes of the checkpoint files that the run wrote; `None` without any.
    #[serde(default)]
    pub checkpoint_bytes: Option<u64>,
    /// Bytes of resident memory gained by training after the warm-up steps (at least two), excluding changes between
    /// epochs; negative if memory was released, `None` if the system does not report it or there were too few steps.
    /// Per step: divided by the steps of the run less the greater of `warmup_steps` and 2.
    #[serde(default)]
    pub memory_growth_bytes: Option<i64>,
    /// Memory of the device.
    #[serde(default)]
    pub device_memory: Shared<DeviceMemoryTimes>,
    /// The GPU's counters.
    #[serde(default)]
    pub gpu: Shared<GpuUsage>,
    /// Algorithms by which the GPU computed convolutions, by size, if a library chose them: see
    /// [`Backend::convolutions`].
    ///
    /// [`Backend::convolutions`]: crate::device::Backend::convolutions
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub convolutions: String,
    /// Total size in bytes of the run's events, counted by the parent.
    #[serde(default)]
    pub log_bytes: Option<u64>,
    /// Whether the times are of a command that reported its steps; then a time of 0 means that it was not reported.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_observed: bool,
    /// Number of processes that trained together, of which one was observed; the samples are its own times this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks: Option<u64>,
    /// Times that a command reported, by the name of their metric.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own: BTreeMap<String, f64>,
}

impl RunTimes {
    /// Whether the run has usable times: it measured a step, or is a command's run, and was not interrupted.
    pub fn are_measured(&self) -> bool {
        self.measured_steps != Some(0) && self.resumed_after_s.is_none()
    }

    /// Whether the times are of a command that reported no steps; then a time of 0 means that it was not reported.
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
