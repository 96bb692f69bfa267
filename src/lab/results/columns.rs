//! The columns of the CSV files as data: name, unit, direction, meaning, and the value that each column holds.
//!
//! A fixed column is only ever added at the end of its table. Metrics follow the fixed columns of `runs.csv` and
//! `epochs.csv` by name; [`metric_column`] describes them.

use std::sync::LazyLock;

use crate::event::{EpochRow, RunFacts, RunTimes};

use super::datatype::Datatype;
use super::field::{Expected, Field, datatype_of};
use super::{BlockRow, ColumnInfo, ConfusionRecord, Direction, OpRecord, WorkRecord};

/// A fixed column of a table whose rows are values of type `R`.
pub(crate) struct Column<R: 'static> {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) direction: Direction,
    pub(crate) meaning: &'static str,
    pub(crate) datatype: Datatype,
    pub(crate) show: fn(&R) -> String,
    pub(crate) read: fn(&mut R, &str) -> Result<(), Expected>,
}

/// The columns of a table, one per line: `name, unit, direction, meaning => field;`.
macro_rules! columns {
    ($row:ty, $show:ident; $($name:literal $unit:literal $direction:ident $meaning:literal => $($field:ident).+;)*) => {
        &[$(Column {
            name: $name,
            unit: $unit,
            direction: Direction::$direction,
            meaning: $meaning,
            datatype: datatype_of(|row: &$row| &row.$($field).+),
            show: |row| row.$($field).+.$show(),
            read: |row, text| {
                row.$($field).+ = Field::read(text)?;
                Ok(())
            },
        }),*]
    };
}

/// Columns of `runs.csv` after status and reason.
pub(crate) const FACT_COLUMNS: &[Column<RunFacts>] = columns![RunFacts, show_fact;
    "parameters" "1" None "Number of parameters (trainable values)" => parameters;
    "flops_forward_per_sample" "FLOP" None "FLOPs of the forward pass per sample, summed over the operations that ran" => flops_forward_per_sample;
    "flops_backward_per_sample" "FLOP" None "FLOPs of the backward pass per sample, summed over the operations that ran" => flops_backward_per_sample;
    "steps" "1" None "Number of optimizer steps" => steps;
    "samples" "1" None "Number of samples trained on, repetitions included" => samples;
    "epochs" "1" None "Number of epochs" => epochs;
    "best_epoch" "1" None "Number of the epoch with the best loss, from 0" => best_epoch;
    "first_loss" "1" Lower "Loss of the first step" => first_loss;
    "final_loss" "1" Lower "Mean training loss of the last epoch" => final_loss;
    "best_loss" "1" Lower "Lowest loss of an epoch: validation loss if there is one, else a program's metric `loss`, else training loss" => best_loss;
    "eval_loss_before" "1" Lower "Loss on one fixed batch, before training" => eval_loss_before;
    "eval_loss_after" "1" Lower "Loss on the same batch, after training" => eval_loss_after;
    "weight_checksum" "" None "BLAKE3 hash of the names and bytes of the final weights: equal for equal weights" => weight_checksum;
    "first_steps_loss" "1" Lower "Mean training loss of the first ten steps" => first_steps_loss;
    "nondeterministic" "" None "Operations whose result may differ from run to run, because the GPU's library has no deterministic algorithm for them" => nondeterministic;
];

/// Columns of `epochs.csv` after key, seed and axes.
pub(crate) const EPOCH_COLUMNS: &[Column<EpochRow>] = columns![EpochRow, show_fact;
    "epoch" "1" None "Number of the epoch, from 0" => epoch;
    "train_loss" "1" Lower "Mean training loss of the epoch's samples" => train_loss;
    "lr" "1" None "Learning rate of the epoch, of its first step if it changes in it" => lr;
];

/// Columns of `blocks.csv` after key, seed and axes: values that the parent process measured.
pub(crate) const PARENT_COLUMNS: &[Column<BlockRow>] = columns![BlockRow, show_measured;
    "block" "1" None "Number of the repetition (block), from 0" => block;
    "status" "" None "Status in which the run ended" => status;
    "reason" "" None "Reason of every status but `done`, in one line" => reason;
    "env_id" "" None "Machine and build it ran on: a section of `env.toml`" => env_id;
    "exclusive" "" None "Whether no other run of the same command was on the machine at the same time" => exclusive;
    "peak_rss_bytes" "bytes" Lower "Highest resident memory of the process, from the system at its end" => peak_rss_bytes;
    "cpu_s" "s" Lower "CPU time of the process, user and system" => cpu_s;
];

/// Columns of `blocks.csv` after [`PARENT_COLUMNS`]: values that the worker measured.
pub(crate) const TIME_COLUMNS: &[Column<RunTimes>] = columns![RunTimes, show_measured;
    "warmup_steps" "1" None "Number of first steps that are left out of all times" => warmup_steps;
    "measured_steps" "1" None "Number of steps that the times are taken from" => measured_steps;
    "step_ms" "ms" Lower "Median time of a step" => step_ms;
    "step_mean_ms" "ms" Lower "Mean time of a step; the phases sum to it times `observer_ratio`" => step_mean_ms;
    "samples_per_s" "samples/s" Higher "Samples per second of the measured steps, waiting for data included" => samples_per_s;
    "data_wait_ms" "ms" Lower "Phase of a step: waiting for its batch" => phases.data_wait_ms;
    "transfer_ms" "ms" Lower "Phase of a step: copying the batch to the device" => phases.transfer_ms;
    "forward_ms" "ms" Lower "Phase of a step: forward pass" => phases.forward_ms;
    "loss_ms" "ms" Lower "Phase of a step: loss function" => phases.loss_ms;
    "backward_ms" "ms" Lower "Phase of a step: backward pass" => phases.backward_ms;
    "optimizer_ms" "ms" Lower "Phase of a step: gradient clipping, optimizer, weight average" => phases.optimizer_ms;
    "other_ms" "ms" Lower "Phase of a step: the rest" => phases.other_ms;
    "observer_ratio" "1" None "Mean time of steps whose phases were measured ÷ that of ordinary steps: above 1 where the device is synchronised for it" => observer_ratio;
    "epoch_s" "s" Lower "Median time of an epoch, without validation" => epoch_s;
    "train_s" "s" Lower "Time of all steps, without validation" => train_s;
    "validation_s" "s" Lower "Time of validation and of the evaluation before and after training" => validation_s;
    "best_epoch_s" "s" Lower "Time from the start of training to the end of the best epoch, without validation" => best_epoch_s;
    "startup_s" "s" Lower "Time from the start of the process to its first step" => startup_s;
    "total_s" "s" Lower "Time from the start of the process to its end, without costly evaluation (`assessment_s`)" => total_s;
    "loader_wait_s" "s" Lower "Time that training waited for batches, in the whole run" => loader.wait_s;
    "loader_work_s" "s" Lower "Time that loading worked, in the whole run, summed over the loader's workers" => loader.work_s;
    "loader_start_ms" "ms" Lower "Time to start the loader's workers" => loader.start_ms;
    "loader_stop_ms" "ms" Lower "Time to stop the loader's workers" => loader.stop_ms;
    "peak_train_bytes" "bytes" Lower "Highest resident memory before the first validation" => peak_train_bytes;
    "peak_validation_bytes" "bytes" Lower "Highest resident memory of the run, validation included" => peak_validation_bytes;
    "memory_source" "" None "How the two above were measured" => memory_source;
    "parameter_bytes" "bytes" None "Size of the parameters, computed" => memory.parameter_bytes;
    "gradient_bytes" "bytes" None "Size of the gradients, computed" => memory.gradient_bytes;
    "optimizer_bytes" "bytes" None "Size of optimizer state and weight average, computed" => memory.optimizer_bytes;
    "activation_bytes" "bytes" None "Size of the activations kept for the backward pass, computed" => memory.activation_bytes;
    "threads" "1" None "Number of threads that computed" => threads;
    "numeric_class" "" None "What decides rounding: processor architecture, vector instructions, device; runs of one class have equal bits" => numeric_class;
    "assessment_s" "s" Lower "Time of costly evaluation after training: samples, verification, selection" => assessment_s;
    "improvement_per_s" "1/s" Higher "(first loss − best loss) ÷ seconds to the end of the best epoch" => improvement_per_s;
    "checkpoint_bytes" "bytes" Lower "Size of the checkpoint files that the run wrote" => checkpoint_bytes;
    "log_bytes" "bytes" Lower "Size of the messages that the run sent to the program that started it" => log_bytes;
    "memory_growth_bytes" "bytes" Lower "Growth of resident memory in the steps after the first ones (at least two are left out)" => memory_growth_bytes;
    "peak_device_bytes" "bytes" Lower "Highest GPU memory in training, by our allocator" => device_memory.peak_train_bytes;
    "peak_device_validation_bytes" "bytes" Lower "Highest GPU memory in validation, by our allocator" => device_memory.peak_validation_bytes;
    "device_used_bytes" "bytes" Lower "GPU memory in use at the end, of all processes, by the driver: with libraries, kernels and what the allocator keeps" => device_memory.used_bytes;
    "device_memory_source" "" None "How GPU memory was measured" => device_memory.source;
    "gpu_busy_share" "%" Higher "Share of training in which a kernel ran on the GPU, of any process (NVML); the first second is left out" => gpu.busy_share;
    "gpu_clock_mhz" "MHz" Higher "Mean clock of the GPU's multiprocessors in training" => gpu.clock_mhz;
    "gpu_memory_clock_mhz" "MHz" Higher "Mean clock of the GPU's memory in training" => gpu.memory_clock_mhz;
    "gpu_temperature_c" "°C" Lower "Highest temperature of the GPU in training" => gpu.temperature_c;
    "gpu_power_w" "W" Lower "Mean power of the GPU's board in training; the first second is left out" => gpu.power_w;
    "energy_j" "J" Lower "Energy of the GPU's board in training, by its counter, else mean power × seconds" => gpu.energy_j;
    "energy_j_per_epoch" "J" Lower "Energy of the GPU's board per epoch, where no epoch was cut short" => gpu.energy_j_per_epoch;
    "throttled_share" "%" Lower "Share of the readings at which power, heat or the board limited the GPU's clocks" => gpu.throttled_share;
    "throttle_reasons" "" None "Why the clocks were limited, by the driver" => gpu.throttle_reasons;
    "gpu_readings" "1" None "Number of readings of the GPU's counters" => gpu.samples;
    "gpu_reading_ms" "ms" Lower "Mean time of one reading of the GPU's counters, in a thread of its own" => gpu.sample_ms;
    "convolutions" "" None "What computed each convolution on the GPU (forward/gradient of the input/gradient of the filter), by size" => convolutions;
    "resumed_after_s" "s" None "Time of the processes before the last one, where the run was interrupted and went on: then `train_s`, `validation_s` and `total_s` are of all of them, and no time of the run counts" => resumed_after_s;
    "ranks" "1" None "Number of processes that trained a PyTorch program together: times are those of rank 0, samples its own × this number" => ranks;
];

/// Columns of `blocks.csv` after [`TIME_COLUMNS`]: expected and actual duration.
pub(crate) const DURATION_COLUMNS: &[Column<BlockRow>] = columns![BlockRow, show_measured;
    "wall_s" "s" Lower "Time from the start of the process to its end, by the program that started it" => wall_s;
    "estimated_s" "s" None "Time of the run estimated before it began" => estimated_s;
];

/// Columns of `blocks.csv` after [`DURATION_COLUMNS`]: session and start time.
pub(crate) const SESSION_COLUMNS: &[Column<BlockRow>] = columns![BlockRow, show;
    "session" "" None "Call of the program in which it ran, named by its start in UTC" => session;
    "start_s" "s" None "Time from the start of that call to the start of the run" => start_s;
];

/// Columns of `ops.csv` after key, seed and axes.
pub(crate) const OP_COLUMNS: &[Column<OpRecord>] = columns![OpRecord, show;
    "block" "1" None "Number of the repetition (block), from 0" => block;
    "code_hash" "" None "Hash of the code that was measured" => code_hash;
    "profiled_steps" "1" None "Number of steps that the times are taken from" => profiled_steps;
    "samples_per_step" "1" None "Number of samples of a profiled step" => samples_per_step;
    "layer" "" None "Path of the layer that called the operation; empty for none" => row.layer;
    "op" "" None "Operation; `residual` is the rest of a phase" => row.op;
    "phase" "" None "Phase of the step that the operation's forward time is part of" => row.phase;
    "calls" "1" None "Number of calls in all profiled steps" => row.calls;
    "forward_ms" "ms" Lower "Time in the forward pass (or in its phase) per step" => row.forward_ms;
    "backward_ms" "ms" Lower "Time in the backward pass per step" => row.backward_ms;
    "share" "1" None "Sum of both ÷ time of the profiled step; the rows of a run sum to 1" => share;
    "flops_forward" "FLOP" None "FLOPs in the forward pass per step, by the operation's formula" => row.flops_forward;
    "flops_backward" "FLOP" None "FLOPs in the backward pass per step, by the operation's formula" => row.flops_backward;
    "allocated_bytes" "bytes" Lower "Size of the operation's results per step" => row.allocated_bytes;
    "retained_bytes" "bytes" Lower "Of these, what is still kept at the end of the forward pass" => row.retained_bytes;
];

/// Columns of `work.csv` after key and axes.
pub(crate) const WORK_COLUMNS: &[Column<WorkRecord>] = columns![WorkRecord, show;
    "layer" "" None "Path of the layer that called the operation; empty for none" => row.layer;
    "op" "" None "Operation, or a phase for its work outside of operations; `samples` for the samples of an epoch" => row.op;
    "calls" "1" None "Number of calls per step; of `samples`, their number in the first epoch" => row.calls;
    "backward_calls" "1" None "Number of calls of the operation's backward pass per step" => row.backward_calls;
    "flops_forward" "FLOP" None "FLOPs in the forward pass per step, by the operation's formula" => row.flops_forward;
    "flops_backward" "FLOP" None "FLOPs in the backward pass per step, by the operation's formula" => row.flops_backward;
    "tensors" "1" None "Number of tensors whose memory was requested per step: results, gradients, what the operation keeps or needs meanwhile" => row.tensors;
    "tensor_bytes" "bytes" None "Size of these tensors" => row.tensor_bytes;
    "launches" "1" None "Number of kernels queued on the GPU per step, those of its libraries by call" => row.launches;
    "copies" "1" None "Number of copies between host and GPU, and on it, per step" => row.copies;
];

/// Columns of `confusion.csv` after key, seed and axes.
pub(crate) const CONFUSION_COLUMNS: &[Column<ConfusionRecord>] = columns![ConfusionRecord, show;
    "class" "" None "Class of the samples" => row.class;
    "predicted" "" None "Class that is predicted" => row.predicted;
    "test_samples" "1" None "Number of samples of the test split; beyond 100 entries of a run the most frequent errors" => row.samples;
];

/// Per table, the first column that files of earlier versions may lack; this column and all after it are then read as
/// missing values.
const ADDED_FROM: [&str; 4] = ["first_steps_loss", "assessment_s", "wall_s", "session"];

/// Columns of `blocks.csv` whose medians and intervals are in `timings.csv`, in its order.
pub const TIMINGS_COLUMNS: [&str; 21] = [
    "step_ms",
    "step_mean_ms",
    "samples_per_s",
    "data_wait_ms",
    "transfer_ms",
    "forward_ms",
    "loss_ms",
    "backward_ms",
    "optimizer_ms",
    "other_ms",
    "observer_ratio",
    "epoch_s",
    "train_s",
    "best_epoch_s",
    "startup_s",
    "total_s",
    "loader_wait_s",
    "loader_work_s",
    "peak_train_bytes",
    "peak_rss_bytes",
    "improvement_per_s",
];

/// Number of leading columns of [`TIMINGS_COLUMNS`] that are computed from measured steps; they are empty if no step
/// was measured.
pub(crate) const STEP_TIME_COLUMN_COUNT: usize = 10;

/// Whether files of earlier versions may lack this fixed column.
pub fn is_added_column(name: &str) -> bool {
    let is_in = |table: &Vec<ColumnInfo>| {
        let mut added = table
            .iter()
            .map(|column| &*column.name)
            .skip_while(|own| !ADDED_FROM.contains(own));
        added.any(|own| own == name)
    };
    FIXED.iter().any(is_in)
}

/// The fixed columns of all CSV files, table by table.
static FIXED: LazyLock<[Vec<ColumnInfo>; 9]> = LazyLock::new(|| {
    [
        infos(FACT_COLUMNS),
        infos(EPOCH_COLUMNS),
        infos(PARENT_COLUMNS),
        infos(TIME_COLUMNS),
        infos(DURATION_COLUMNS),
        infos(SESSION_COLUMNS),
        infos(OP_COLUMNS),
        infos(WORK_COLUMNS),
        infos(CONFUSION_COLUMNS),
    ]
});

fn infos<R>(table: &[Column<R>]) -> Vec<ColumnInfo> {
    let info = |column: &Column<R>| ColumnInfo {
        direction: column.direction,
        ..ColumnInfo::plain(column.name, column.datatype, column.unit, column.meaning)
    };
    table.iter().map(info).collect()
}

/// Returns the description of a fixed column of any CSV file.
pub fn fixed_column(name: &str) -> Option<&'static ColumnInfo> {
    FIXED.iter().flatten().find(|column| column.name == name)
}

/// Unit of a fixed column of any CSV file; empty for any other name.
pub fn fixed_unit(name: &str) -> &'static str {
    fixed_column(name).map_or("", |column| &column.unit)
}

/// Text appended to the meaning of a metric that is computed after every epoch.
pub(crate) const LAST_EPOCH_SUFFIX: &str = ", after the last epoch";

/// Describes a metric by its name, for `plan.json`: for accuracies and R² higher is better, for errors, losses and
/// epochs lower is better.
///
/// `SPLIT_METRIC` is the value of the last weights, `best_SPLIT_METRIC` that of the best epoch, and
/// `SPLIT_METRIC_90_epoch` the first epoch that reached 90 % of the best.
pub fn metric_column(name: &str) -> ColumnInfo {
    let (plain, over_epochs) = match name.strip_prefix("best_") {
        Some(plain) => (plain, ", the best over epochs"),
        None if is_of_every_epoch(name) => (name, LAST_EPOCH_SUFFIX),
        None => (name, ""),
    };
    let (direction, what) = described(plain);
    let split = match plain.split_once('_').map_or("", |(split, _)| split) {
        "train" => " on the training split",
        "val" => " on the validation split",
        "test" => " on the test split",
        "fresh" => " on fresh data that nobody trained on",
        "ensemble" => " of the best epochs' mean weights on the validation split",
        _ => "",
    };
    let meaning = format!("{what}{split}{over_epochs}");
    ColumnInfo {
        direction,
        ..ColumnInfo::plain(name, Datatype::Number, "1", &meaning)
    }
}

/// Whether a metric is computed after every epoch, as those of training and validation are, except numbers of epochs.
fn is_of_every_epoch(name: &str) -> bool {
    let split = name.split_once('_').map(|(split, _)| split);
    matches!(split, Some("train" | "val")) && !name.ends_with("_epoch")
}

/// Suffixes of metric names with the metrics' meaning, grouped by direction; longer suffixes come first. None has a
/// unit.
pub(crate) const METRIC_SUFFIXES: [(Direction, &[(&str, &str)]); 3] = [
    (
        Direction::Higher,
        &[
            ("r2", "R²"),
            (
                "balanced_accuracy",
                "mean over classes of the share of right samples",
            ),
            (
                "top5_accuracy",
                "share of samples whose class is among the five likeliest",
            ),
            ("accuracy", "share of right classes"),
            ("exact_match", "share of samples whose labels are all right"),
            ("f1", "mean over classes of F1"),
            ("auc", "area under the ROC curve"),
            ("precision", "average precision of the second class"),
            ("fidelity", "likeness of generated and true signals"),
            ("consistency", "agreement of several draws of one event"),
            ("smoothness", "directness of the path between two events"),
            (
                "physics",
                "energy, multiplicity and spread of generated signals",
            ),
            ("overall", "weighted sum of the verification scores"),
            (
                "multiplicity",
                "share of generated signals that hit six voxels",
            ),
            (
                "rate",
                "share of held-out events that hit six chosen voxels",
            ),
            (
                "overlap",
                "share of the best voxels that are best by Shapley values too",
            ),
        ],
    ),
    (
        Direction::Lower,
        &[
            ("byte", "loss in bits per byte of text"),
            (
                "violation",
                "relative error of the energy of generated signals",
            ),
            ("loss", "loss"),
            ("mse", "mean squared error"),
            ("rmse", "root of the mean squared error"),
            ("mae", "mean absolute error"),
            ("iterations", "mean iterations of the solver"),
            ("calibration_error", "error of the predicted probability"),
            (
                "epoch",
                "first epoch, from 0, with at least 90 % of the best share of right classes",
            ),
        ],
    ),
    (
        Direction::None,
        &[
            (
                "limit",
                "share of held-out events that hit six voxels at all",
            ),
            (
                "steps",
                "optimizer steps left out because gradients were beyond 16-bit floats (`amp`)",
            ),
        ],
    ),
];

/// Direction and meaning of a metric.
fn described(name: &str) -> (Direction, &'static str) {
    let ends = |metric: &str| {
        let rest = name.strip_suffix(metric);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
    };
    let found = METRIC_SUFFIXES.iter().find_map(|(direction, metrics)| {
        let (_, what) = metrics.iter().find(|(metric, _)| ends(metric))?;
        Some((*direction, *what))
    });
    found.unwrap_or((Direction::None, "metric of the task"))
}
