//! The columns of the CSV files as data: name, unit, direction, meaning, and the value that each column holds.
//!
//! A fixed column is only ever added at the end of its table. Metrics follow the fixed columns of `runs.csv` and
//! `epochs.csv` by name; [`metric_column`] describes them.

use std::sync::LazyLock;

use crate::base::text::snake_case;
use crate::event::{EpochRow, RunFacts, RunTimes};
use crate::plan::AxisInfo;

use super::command_columns::show_fact;
use super::field::{Expected, Field};
use super::{BlockRow, ColumnInfo, Direction, OpRecord, PlanFile};

/// A fixed column over values of `R`.
pub(crate) struct Column<R: 'static> {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) direction: Direction,
    pub(crate) meaning: &'static str,
    pub(crate) show: fn(&R) -> String,
    pub(crate) read: fn(&mut R, &str) -> Result<(), Expected>,
}

/// One line of a table: `name, unit, direction, meaning => field;`.
macro_rules! columns {
    ($show:ident; $($name:literal $unit:literal $direction:ident $meaning:literal => $($field:ident).+;)*) => {
        &[$(Column {
            name: $name,
            unit: $unit,
            direction: Direction::$direction,
            meaning: $meaning,
            show: |row| row.$($field).+.$show(),
            read: |row, text| {
                row.$($field).+ = Field::read(text)?;
                Ok(())
            },
        }),*]
    };
}

/// `runs.csv`, after status and reason.
pub(crate) const FACTS: &[Column<RunFacts>] = columns![show_fact;
    "parameters" "1" None "Values of all parameters" => parameters;
    "flops_forward_per_sample" "FLOP" None "FLOPs of a forward pass, per sample, as the operations counted them" => flops_forward_per_sample;
    "flops_backward_per_sample" "FLOP" None "FLOPs of a backward pass, per sample" => flops_backward_per_sample;
    "steps" "1" None "Optimizer steps done" => steps;
    "samples" "1" None "Samples trained on" => samples;
    "epochs" "1" None "Epochs done" => epochs;
    "best_epoch" "1" None "Epoch with the best loss, from 0" => best_epoch;
    "first_loss" "1" Lower "Loss of the first step" => first_loss;
    "final_loss" "1" Lower "Mean training loss of the last epoch" => final_loss;
    "best_loss" "1" Lower "Best loss over epochs: validation if there is one, else training" => best_loss;
    "eval_loss_before" "1" Lower "Loss on one fixed evaluation batch before training" => eval_loss_before;
    "eval_loss_after" "1" Lower "Loss on one fixed evaluation batch after training" => eval_loss_after;
    "weight_checksum" "" None "blake3 over names and bytes of the final weights" => weight_checksum;
    "first_steps_loss" "1" Lower "Mean training loss of the first ten steps" => first_steps_loss;
    "nondeterministic" "" None "What may give other bits at every run, because a library of the device has no deterministic algorithm" => nondeterministic;
];

/// `epochs.csv`, after key, seed and axes.
pub(crate) const EPOCHS: &[Column<EpochRow>] = columns![show_fact;
    "epoch" "1" None "Epoch, from 0" => epoch;
    "train_loss" "1" Lower "Mean training loss over the epoch's samples" => train_loss;
    "lr" "1" None "Learning rate of the epoch" => lr;
];

/// `blocks.csv`, after key, seed and axes: values that the parent process measured.
pub(crate) const RUN_ENDS: &[Column<BlockRow>] = columns![show_measured;
    "block" "1" None "Block, from 0" => block;
    "status" "" None "How this run ended" => status;
    "reason" "" None "Why, in one line, for all but done" => reason;
    "env_id" "" None "The environment it ran in (env.toml)" => env_id;
    "exclusive" "" None "Whether it ran alone on the machine" => exclusive;
    "peak_rss_bytes" "bytes" Lower "The process's high-water mark as its parent saw it" => peak_rss_bytes;
    "cpu_s" "s" Lower "CPU seconds of the process, user and system" => cpu_s;
];

/// `blocks.csv`, after those: values that the worker measured.
pub(crate) const TIMES: &[Column<RunTimes>] = columns![show_measured;
    "warmup_steps" "1" None "First steps, left out of the times" => warmup_steps;
    "measured_steps" "1" None "Steps from which the times are taken" => measured_steps;
    "step_ms" "ms" Lower "Median of a step" => step_ms;
    "step_mean_ms" "ms" Lower "Mean of a step; the phases sum to it, or to observer_ratio times it" => step_mean_ms;
    "samples_per_s" "samples/s" Higher "Samples per second over the measured steps, waiting included" => samples_per_s;
    "data_wait_ms" "ms" Lower "Training waited for its batch" => phases.data_wait_ms;
    "transfer_ms" "ms" Lower "Host to device" => phases.transfer_ms;
    "forward_ms" "ms" Lower "Forward pass" => phases.forward_ms;
    "loss_ms" "ms" Lower "Loss" => phases.loss_ms;
    "backward_ms" "ms" Lower "Backward pass" => phases.backward_ms;
    "optimizer_ms" "ms" Lower "Clipping, optimizer, weight average" => phases.optimizer_ms;
    "other_ms" "ms" Lower "The step less all other phases" => phases.other_ms;
    "observer_ratio" "1" None "Synchronised over ordinary step time" => observer_ratio;
    "epoch_s" "s" Lower "Median of an epoch, validation excluded" => epoch_s;
    "train_s" "s" Lower "Training, validation excluded" => train_s;
    "validation_s" "s" Lower "Validation and evaluation" => validation_s;
    "best_epoch_s" "s" Lower "Start of training to the end of the best epoch, validation excluded" => best_epoch_s;
    "startup_s" "s" Lower "First instruction of the worker to the first step" => startup_s;
    "total_s" "s" Lower "First instruction of the worker to its end, costly evaluation excluded" => total_s;
    "loader_wait_s" "s" Lower "Training waited for batches, summed over the run" => loader.wait_s;
    "loader_work_s" "s" Lower "Loading worked, summed over the run and its workers" => loader.work_s;
    "loader_start_ms" "ms" Lower "Starting the loader's workers" => loader.start_ms;
    "loader_stop_ms" "ms" Lower "Stopping and joining the loader's workers" => loader.stop_ms;
    "peak_train_bytes" "bytes" Lower "High-water mark of memory before the first validation" => peak_train_bytes;
    "peak_validation_bytes" "bytes" Lower "High-water mark of memory after validation" => peak_validation_bytes;
    "memory_source" "" None "Where the high-water marks come from" => memory_source;
    "parameter_bytes" "bytes" None "Parameters, computed" => memory.parameter_bytes;
    "gradient_bytes" "bytes" None "Gradients, computed" => memory.gradient_bytes;
    "optimizer_bytes" "bytes" None "Optimizer state and weight average, computed" => memory.optimizer_bytes;
    "activation_bytes" "bytes" None "Activations held for the backward pass, computed" => memory.activation_bytes;
    "threads" "1" None "Threads that computed" => threads;
    "numeric_class" "" None "Architecture, vector level, device" => numeric_class;
    "assessment_s" "s" Lower "Costly evaluation: samples, verification, selection" => assessment_s;
    "improvement_per_s" "1/s" Higher "First less best loss, by the seconds to the end of the best epoch" => improvement_per_s;
    "checkpoint_bytes" "bytes" Lower "Checkpoint files that the run wrote" => checkpoint_bytes;
    "log_bytes" "bytes" Lower "Events that the run sent to its parent" => log_bytes;
    "memory_growth_bytes" "bytes" Lower "Resident memory (/proc/self/statm) gained by training steps after the warm-up, at least two" => memory_growth_bytes;
    "peak_device_bytes" "bytes" Lower "High-water mark of the device's own memory in training, by its allocator" => device_memory.peak_train_bytes;
    "peak_device_validation_bytes" "bytes" Lower "High-water mark of the device's own memory in validation, by its allocator" => device_memory.peak_validation_bytes;
    "device_used_bytes" "bytes" Lower "The device's memory in use at the end, whoever's, by its driver: with libraries, kernels and the allocator's reserve" => device_memory.used_bytes;
    "device_memory_source" "" None "Where the memory of the device comes from" => device_memory.source;
    "gpu_busy_share" "%" Higher "Share of training in which a kernel ran on the GPU, whoever's (NVML), from the second second on" => gpu.busy_share;
    "gpu_clock_mhz" "MHz" Higher "Mean clock of the GPU's multiprocessors in training" => gpu.clock_mhz;
    "gpu_memory_clock_mhz" "MHz" Higher "Mean clock of the GPU's memory in training" => gpu.memory_clock_mhz;
    "gpu_temperature_c" "°C" Lower "Highest temperature of the GPU in training" => gpu.temperature_c;
    "gpu_power_w" "W" Lower "Mean power of the GPU's board in training, from the second second on" => gpu.power_w;
    "energy_j" "J" Lower "Energy of the GPU's board in training, by its counter, else mean power × seconds" => gpu.energy_j;
    "energy_j_per_epoch" "J" Lower "Energy of the GPU's board in an epoch, where every epoch was whole" => gpu.energy_j_per_epoch;
    "throttled_share" "%" Lower "Share of readings at which the GPU's clocks were held down" => gpu.throttled_share;
    "throttle_reasons" "" None "Reasons for clocks held down, by the driver" => gpu.throttle_reasons;
    "gpu_readings" "1" None "Readings of the GPU's counters" => gpu.samples;
    "gpu_reading_ms" "ms" Lower "Mean time of a reading, by a thread of its own" => gpu.sample_ms;
    "convolutions" "" None "What computed each convolution on the GPU (result/gradient of the input/of the filter), by size" => convolutions;
];

/// `blocks.csv`, after those: expected and actual duration.
pub(crate) const RUN_COSTS: &[Column<BlockRow>] = columns![show_measured;
    "wall_s" "s" Lower "Start to end of the process, as its parent saw it" => wall_s;
    "estimated_s" "s" None "What the run was expected to take before it began" => estimated_s;
];

/// `blocks.csv`, after those: session and start time.
pub(crate) const SESSIONS: &[Column<BlockRow>] = columns![show;
    "session" "" None "The invocation in which it ran, by its UTC start" => session;
    "start_s" "s" None "From the start of that invocation to the run's" => start_s;
];

/// `ops.csv`, after key, seed and axes.
pub(crate) const OPS: &[Column<OpRecord>] = columns![show;
    "block" "1" None "Block, from 0" => block;
    "code_hash" "" None "Code under which it was measured" => code_hash;
    "profiled_steps" "1" None "Steps from which the times are taken" => profiled_steps;
    "samples_per_step" "1" None "Samples of a profiled step" => samples_per_step;
    "layer" "" None "Path of the layer that called it; empty for none" => row.layer;
    "op" "" None "Operation; `residual` is a phase less its operations" => row.op;
    "phase" "" None "Phase that the forward time belongs to; for a residual, its phase" => row.phase;
    "calls" "1" None "Calls in all profiled steps" => row.calls;
    "forward_ms" "ms" Lower "Forward, or in its phase, a step" => row.forward_ms;
    "backward_ms" "ms" Lower "In the backward pass, a step" => row.backward_ms;
    "share" "1" None "Both, as a share of the profiled step; the rows of a run sum to 1" => share;
    "flops_forward" "FLOP" None "Forward, a step, by the operation's rule" => row.flops_forward;
    "flops_backward" "FLOP" None "Backward, a step, by the operation's rule" => row.flops_backward;
    "allocated_bytes" "bytes" Lower "Results of the operation, a step" => row.allocated_bytes;
    "retained_bytes" "bytes" Lower "Of these, held when the forward pass ended" => row.retained_bytes;
];

/// Files of earlier versions lack the fixed columns from these on, each in its own table; they are read as missing values.
const ADDED_FROM: [&str; 4] = ["first_steps_loss", "assessment_s", "wall_s", "session"];

/// Columns of `blocks.csv` whose medians and intervals are in `timings.csv`, in its order.
pub const TIMED: [&str; 21] = [
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

/// Number of columns of [`TIMED`], from its first on, that need measured steps; without such a step they have no value.
pub(crate) const OF_STEPS: usize = 10;

/// Whether files of earlier versions may lack this fixed column.
pub fn is_added_column(name: &str) -> bool {
    let is_in = |table: &Vec<ColumnInfo>| {
        let first_added = |column: &&ColumnInfo| !ADDED_FROM.contains(&&*column.name);
        let mut added = table.iter().skip_while(first_added);
        added.any(|column| column.name == name)
    };
    FIXED.iter().any(is_in)
}

/// The fixed columns of all CSV files, table by table.
static FIXED: LazyLock<[Vec<ColumnInfo>; 7]> = LazyLock::new(|| {
    [
        infos(FACTS),
        infos(EPOCHS),
        infos(RUN_ENDS),
        infos(TIMES),
        infos(RUN_COSTS),
        infos(SESSIONS),
        infos(OPS),
    ]
});

fn infos<R>(table: &[Column<R>]) -> Vec<ColumnInfo> {
    let info = |column: &Column<R>| ColumnInfo {
        name: column.name.to_owned(),
        unit: column.unit.to_owned(),
        direction: column.direction,
        meaning: column.meaning.to_owned(),
        is_time: false,
    };
    table.iter().map(info).collect()
}

/// The facts of a run by column, as `runs.csv` shows them: first the fixed columns, then the metrics by name.
pub fn fact_texts(facts: &RunFacts) -> Vec<(String, String)> {
    let fixed = FACTS.iter();
    let fixed = fixed.map(|column| (column.name.to_owned(), show_fact(column, facts)));
    let metrics = facts.metrics.iter();
    let metrics = metrics.map(|(name, value)| (name.clone(), value.show_fact()));
    fixed.chain(metrics).collect()
}

/// Returns the description of a fixed column of any CSV file.
pub fn fixed_column(name: &str) -> Option<&'static ColumnInfo> {
    let mut columns = FIXED.iter().flatten();
    columns.find(|column| column.name == name)
}

/// Unit of a fixed column of any CSV file; empty for any other name.
pub fn fixed_unit(name: &str) -> &'static str {
    fixed_column(name).map_or("", |column| &column.unit)
}

/// Describes a metric by its name, for `plan.json`: for accuracies and R² higher is better, for errors, losses and epochs
/// lower is better.
///
/// `SPLIT_METRIC` is the value of the last weights, `best_SPLIT_METRIC` that of the best epoch, and `SPLIT_METRIC_90_epoch`
/// the first epoch that came near it.
pub fn metric_column(name: &str) -> ColumnInfo {
    let (plain, over_epochs) = match name.strip_prefix("best_") {
        Some(plain) => (plain, ", the best over epochs"),
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
    ColumnInfo {
        name: name.to_owned(),
        unit: "1".to_owned(),
        direction,
        meaning: format!("{what}{split}{over_epochs}"),
        is_time: false,
    }
}

/// Metrics by the last part of their name, with their meaning, by direction; none has a unit.
pub(crate) const METRICS: [(Direction, &[(&str, &str)]); 3] = [
    (
        Direction::Higher,
        &[
            ("r2", "R²"),
            ("accuracy", "share of right classes"),
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
    let last = name.rsplit('_').next().unwrap_or(name);
    let found = METRICS.iter().find_map(|(direction, metrics)| {
        let (_, what) = metrics.iter().find(|(metric, _)| *metric == last)?;
        Some((*direction, *what))
    });
    found.unwrap_or((Direction::None, "metric of the task"))
}

/// Returns the columns of the axes: their names in snake case, or their long paths in snake case where a fixed column
/// already has that name (an axis `epochs` becomes `train_epochs`).
pub fn axis_columns(plan: &PlanFile) -> Vec<String> {
    let reserved = |name: &str| {
        ["key", "seed", "n", "interval", "outliers"].contains(&name) || fixed_column(name).is_some()
    };
    let column = |axis: &AxisInfo| match snake_case(&axis.name) {
        short if reserved(&short) => snake_case(&axis.path),
        short => short,
    };
    plan.axes.iter().map(column).collect()
}
