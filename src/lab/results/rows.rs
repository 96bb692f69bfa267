//! The rows of the results files, as Rust values.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use crate::event::Status;
use crate::event::{Confusion, EpochRow, Metrics, OpRow, OpWork, RunFacts, RunTimes};
use crate::plan::search::{SearchSpec, TrialInfo};
use crate::plan::{AxisInfo, TitleAndQuestion};

use super::datatype::Datatype;

/// The content of one results folder.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultSet {
    /// `plan.json`.
    pub plan: PlanFile,
    /// `runs.csv`: one row per cell and seed.
    pub runs: Vec<RunRow>,
    /// `epochs.csv`.
    pub epochs: Vec<EpochRecord>,
    /// `work.csv`: one row per cell, layer and operation; empty if it does not exist.
    pub work: Vec<WorkRecord>,
    /// `confusion.csv`: the confusion matrices of classifiers; empty if it does not exist.
    pub confusions: Vec<ConfusionRecord>,
    /// `blocks.csv`: one row per run.
    pub blocks: Vec<BlockRow>,
    /// `timings.csv`: one row per cell.
    pub timings: Vec<TimingRow>,
    /// `ops.csv`; empty if it does not exist.
    pub ops: Vec<OpRecord>,
    /// `baselines.csv`; empty if it does not exist.
    pub baselines: Vec<BaselineRow>,
    /// `env.toml`: the machines and builds, by `env_id`.
    pub environments: BTreeMap<String, Environment>,
}

/// `plan.json`: everything that the CSV files do not contain.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PlanFile {
    /// [`super::FORMAT_VERSION`].
    pub format_version: u32,
    /// `name` of the manifest.
    pub name: String,
    /// `title` of the manifest.
    pub title: String,
    /// `question` of the manifest.
    pub question: Option<String>,
    /// Title and question in every language that the manifest has them in.
    #[serde(default, skip_serializing_if = "TitleAndQuestion::is_single_language")]
    pub translated: TitleAndQuestion,
    /// `follows` of the manifest: the results whose recommendations this experiment tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// Path of the manifest, relative to the folder that holds `reports/`.
    pub manifest_path: String,
    /// The manifest's text as run; overrides from the command line are listed above it as comments.
    pub manifest: String,
    /// The axes in matrix order.
    pub axes: Vec<AxisInfo>,
    /// The settings of each named variant, by long path.
    #[serde(default)]
    pub variants: BTreeMap<String, BTreeMap<String, serde_json::Value>>,
    /// `[search]`, resolved; left out if the manifest has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchSpec>,
    /// Warnings about the datasets for readers, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data_remarks: Vec<String>,
    /// The CSV columns that are not fixed: metrics, with unit and direction.
    pub columns: Vec<ColumnInfo>,
    /// All cells, in row order.
    pub cells: Vec<CellInfo>,
    /// The `[report]` section, resolved.
    #[serde(default)]
    pub report: serde_json::Value,
    /// The `[compare]` section, resolved.
    #[serde(default)]
    pub compare: serde_json::Value,
    /// The `[cost]` section, resolved.
    #[serde(default)]
    pub cost: serde_json::Value,
    /// Repeats, seeds, warm-up steps: the `[measure]` section, resolved.
    #[serde(default)]
    pub measure: serde_json::Value,
}

/// A column and its meaning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnInfo {
    /// Name in the CSV file.
    pub name: String,
    /// Unit (`ms`, `bytes`, `samples/s`, `1`).
    pub unit: String,
    /// Direction: whether higher or lower is better.
    pub direction: Direction,
    /// One sentence.
    pub meaning: String,
    /// Type of the fields; of columns in `plan.json` always a number.
    #[serde(skip)]
    pub datatype: Datatype,
    /// Whether the column is a time reported by a program of `kind = "command"`, in `blocks.csv` and `timings.csv`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_time: bool,
}

impl ColumnInfo {
    /// A column without a better direction.
    pub(crate) fn plain(name: &str, datatype: Datatype, unit: &str, meaning: &str) -> Self {
        Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
            direction: Direction::None,
            meaning: meaning.to_owned(),
            datatype,
            is_time: false,
        }
    }
}

/// Direction of a column: whether higher or lower is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Lower is better.
    Lower,
    /// Higher is better.
    Higher,
    /// Neither direction is better.
    None,
}

/// A cell as stored in `plan.json`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CellInfo {
    /// Readable key.
    pub key: String,
    /// Axis values, texts without the quotes of keys, in axis order.
    pub axes: Vec<String>,
    /// Digest of the resolved cell and its data.
    pub cell_hash: String,
    /// Task signature; equal for the same job: dataset content, samples, target, quality metric.
    pub task_signature: String,
    /// Work signature; equal for the same arithmetic per sample: task, loss, model shape.
    pub work_signature: String,
    /// Code hash of the measured row; `None` before it is measured.
    pub code_hash: Option<String>,
    /// Numeric class of the measured row.
    pub numeric_class: Option<String>,
    /// Optimizer steps of a whole epoch, where `train.steps-per-epoch` cuts it short.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole_epoch_steps: Option<u64>,
    /// Images in `samples/` from its costly evaluation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<SampleInfo>,
    /// The cell's trial in a search; left out for cells of a matrix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<TrialInfo>,
    /// The resolved specification; for all cells but the first, only the top-level sections that differ from the first
    /// cell's.
    pub spec: serde_json::Value,
}

/// An image in `samples/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleInfo {
    /// Seed of the run that made it.
    pub seed: u64,
    /// Name of the image, unique within its run: `ddim`.
    pub name: String,
    /// Caption, one sentence.
    pub caption: String,
    /// File name in `samples/`.
    pub file: String,
    /// Digest of the file's content.
    pub digest: String,
}

/// A row of `runs.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    /// Readable key of the cell.
    pub key: String,
    /// Seed of the run.
    pub seed: u64,
    /// Axis values as the columns have them, in axis order.
    pub axes: Vec<String>,
    /// How the run ended.
    pub status: Status,
    /// Why the run has this status, in one line; empty for `done`.
    pub reason: String,
    /// The facts; `None` if nothing was trained.
    pub facts: Option<RunFacts>,
}

/// A row of `epochs.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochRecord {
    /// Readable key of the cell.
    pub key: String,
    /// Seed of the run.
    pub seed: u64,
    /// The epoch's loss and metrics (without per-step rows).
    pub epoch: EpochRow,
}

/// A row of `blocks.csv`: one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BlockRow {
    /// Readable key of the cell.
    pub key: String,
    /// Seed of the run.
    pub seed: u64,
    /// Block, from 0.
    pub block: usize,
    /// How this run ended.
    pub status: Status,
    /// Why the run has this status, in one line; empty for `done`.
    pub reason: String,
    /// Environment of the run (`env_id`).
    pub env_id: String,
    /// Whether no other run ran at the same time.
    pub exclusive: bool,
    /// The times; `None` if none were measured.
    pub times: Option<Arc<RunTimes>>,
    /// Peak memory of the process as the parent measured it (`wait4`), in bytes.
    pub peak_rss_bytes: Option<u64>,
    /// CPU seconds of the process (user + system), from `wait4`.
    pub cpu_s: Option<f64>,
    /// Seconds from start to end, measured by the parent.
    pub wall_s: Option<f64>,
    /// Expected duration in seconds, estimated before the start.
    pub estimated_s: Option<f64>,
    /// The invocation that ran it, named by its UTC start ([`super::Session`]).
    pub session: Option<String>,
    /// Seconds from the start of the session to the start of the run.
    pub start_s: Option<f64>,
}

impl BlockRow {
    /// The times as a mutable reference (copy-on-write: the stored run is not changed).
    pub fn times_mut(&mut self) -> Option<&mut RunTimes> {
        self.times.as_mut().map(Arc::make_mut)
    }
}

/// A row of `work.csv`: the work of an operation of a layer in one step, with the cell's first seed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkRecord {
    /// Readable key of the cell.
    pub key: String,
    /// The operation with its counts.
    pub row: OpWork,
}

/// A row of `confusion.csv`: an entry of a run's confusion matrix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfusionRecord {
    /// Readable key of the cell.
    pub key: String,
    /// Seed of the run.
    pub seed: u64,
    /// The entry: true class, predicted class and number of samples.
    pub row: Confusion,
}

/// A row of `ops.csv`: an operation of a layer in the profiled steps of a run, or the residual of a phase.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OpRecord {
    /// Readable key of the cell.
    pub key: String,
    /// Seed of the run.
    pub seed: u64,
    /// Block, from 0.
    pub block: usize,
    /// Code hash of the measured run, which may be older than the current code.
    pub code_hash: String,
    /// Number of profiled steps.
    pub profiled_steps: usize,
    /// Samples per step.
    pub samples_per_step: usize,
    /// The operation and its cost per step.
    pub row: OpRow,
    /// Fraction of the profiled step's time, forward and backward together.
    pub share: f64,
}

/// A row of `timings.csv`: one cell, summarised over its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct TimingRow {
    /// Readable key of the cell.
    pub key: String,
    /// Number of runs that the medians are computed from.
    pub n: usize,
    /// Environment of the runs (`env_id`).
    pub env_id: String,
    /// Medians over runs with their intervals, by column (`step_ms`, `samples_per_s`, `forward_ms`, …).
    pub values: BTreeMap<String, Interval>,
    /// Number of runs whose step time is an outlier (1.5 interquartile ranges); flagged, but kept.
    pub outliers: usize,
}

/// A median with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Median over runs.
    pub median: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Kind of the interval.
    pub kind: IntervalKind,
}

impl Interval {
    /// Ends of the interval; `None` for the value of one run.
    pub fn ends(&self) -> Option<(f64, f64)> {
        (self.kind != IntervalKind::Single).then_some((self.low, self.high))
    }
}

/// Groups rows by the key of their cell; the rows of a cell keep their order.
pub fn by_key<'a, T>(
    rows: impl IntoIterator<Item = &'a T>,
    key: fn(&T) -> &str,
) -> BTreeMap<&'a str, Vec<&'a T>> {
    let mut cells: BTreeMap<&str, Vec<&T>> = BTreeMap::new();
    for row in rows {
        cells.entry(key(row)).or_default().push(row);
    }
    cells
}

/// Groups items by the value of `key`, in the order in which these values first appear.
pub fn grouped<T, K: Ord + Clone>(
    things: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
) -> Vec<Vec<T>> {
    let mut places: BTreeMap<K, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<T>> = Vec::new();
    for thing in things {
        let place = *places.entry(key(&thing)).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(thing);
    }
    groups
}

/// Kind of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalKind {
    /// 95 % bootstrap interval of the median (6 runs or more).
    Bootstrap95,
    /// 95 % anytime-valid interval over pairs of runs, which holds at any look after any number of pairs.
    Anytime95,
    /// Smallest and largest value of the runs (2 to 5 runs).
    Range,
    /// A single run.
    Single,
}

/// A machine and build, as `env.toml` stores it: fields by class.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Fields that must match for timings to be compared (`cpu_model`, `cores`, `build`, …).
    pub must_match: BTreeMap<String, String>,
    /// Fields whose difference gives a warning (`kernel`, `clock_mhz`, …).
    pub warn: BTreeMap<String, String>,
    /// Informational fields (`commit`, `dirty`, …).
    pub info: BTreeMap<String, String>,
}

/// A row of `baselines.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct BaselineRow {
    /// Name of the dataset in the manifest.
    pub dataset: String,
    /// Key of the first cell with these data; others have the same dataset settings and share for validation.
    pub cell: String,
    /// Digest over everything that the baseline's values depend on, apart from the seed.
    pub data: String,
    /// Seed of the split.
    pub seed: u64,
    /// `constant`, `linear` or `nearest`.
    pub baseline: String,
    /// The metrics, named as those of a model; empty if the data are too large for the baseline.
    pub metrics: Metrics,
}
