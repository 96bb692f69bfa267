//! The rows of the results files, as values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use crate::event::Status;
use crate::event::{EpochRow, OpRow, RunFacts, RunTimes};
use crate::plan::AxisInfo;
use crate::plan::search::{SearchSpec, TrialInfo};

/// Everything that one results folder says.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultSet {
    /// `plan.json`.
    pub plan: PlanFile,
    /// `runs.csv`: one row per cell and seed.
    pub runs: Vec<RunRow>,
    /// `epochs.csv`.
    pub epochs: Vec<EpochRecord>,
    /// `blocks.csv`: one row per run.
    pub blocks: Vec<BlockRow>,
    /// `timings.csv`: one row per cell.
    pub timings: Vec<TimingRow>,
    /// `ops.csv`; empty where there is none.
    pub ops: Vec<OpRecord>,
    /// `env.toml`, by `env_id`.
    pub environments: BTreeMap<String, Environment>,
}

/// `plan.json`: what the CSV files leave out.
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
    /// `follows` of the manifest: the results whose recommendations these test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// File name of the manifest, relative to the folder that holds `reports/`.
    pub manifest_path: String,
    /// The manifest's text as run, overrides of the command line noted above it as comments.
    pub manifest: String,
    /// The axes in matrix order.
    pub axes: Vec<AxisInfo>,
    /// What each named variant sets, by long path.
    #[serde(default)]
    pub variants: BTreeMap<String, BTreeMap<String, serde_json::Value>>,
    /// `[search]`, resolved; left out where the manifest has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<SearchSpec>,
    /// The columns of the CSV files that are not fixed: metrics, with unit and direction.
    pub columns: Vec<ColumnInfo>,
    /// Every cell, in row order.
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

/// A column with its meaning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnInfo {
    /// Name in the CSV file.
    pub name: String,
    /// Unit (`ms`, `bytes`, `samples/s`, `1`).
    pub unit: String,
    /// Which way is better.
    pub direction: Direction,
    /// One sentence.
    pub meaning: String,
}

/// Which way is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Smaller is better.
    Lower,
    /// Larger is better.
    Higher,
    /// Neither.
    None,
}

/// A cell as `plan.json` keeps it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CellInfo {
    /// Readable key.
    pub key: String,
    /// Axis values as keys show them, in axis order.
    pub axes: Vec<String>,
    /// Digest over the resolved cell and its data.
    pub cell_hash: String,
    /// The same job: dataset content, samples, target, quality metric.
    pub task_signature: String,
    /// The same arithmetic per sample: task, loss, model shape.
    pub work_signature: String,
    /// Code hash under which the row was measured; `None` while it was not.
    pub code_hash: Option<String>,
    /// Numeric class under which the row was measured.
    pub numeric_class: Option<String>,
    /// Images that its costly evaluation made, in `samples/`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<SampleInfo>,
    /// What it is in a search; left out for cells of a matrix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<TrialInfo>,
    /// The resolved specification; for all but the first cell only the top-level sections that differ from it.
    pub spec: serde_json::Value,
}

/// An image in `samples/`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleInfo {
    /// Seed of the run that made it.
    pub seed: u64,
    /// What it is, unique in its run: `ddim`.
    pub name: String,
    /// What it shows, in one sentence.
    pub caption: String,
    /// Name of the file in `samples/`.
    pub file: String,
    /// Digest over the file's bytes.
    pub digest: String,
}

/// A row of `runs.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRow {
    /// Readable key of the cell.
    pub key: String,
    /// Seed.
    pub seed: u64,
    /// Axis values, in axis order.
    pub axes: Vec<String>,
    /// How it ended.
    pub status: Status,
    /// One line, for all but `done`.
    pub reason: String,
    /// The facts; `None` where nothing was trained.
    pub facts: Option<RunFacts>,
}

/// A row of `epochs.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct EpochRecord {
    /// Readable key of the cell.
    pub key: String,
    /// Seed.
    pub seed: u64,
    /// The values (without per-step rows).
    pub epoch: EpochRow,
}

/// A row of `blocks.csv`: one run.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockRow {
    /// Readable key of the cell.
    pub key: String,
    /// Seed.
    pub seed: u64,
    /// Block, from 0.
    pub block: usize,
    /// How this run ended.
    pub status: Status,
    /// One line, for all but `done`.
    pub reason: String,
    /// The environment it ran in.
    pub env_id: String,
    /// Whether it ran alone.
    pub exclusive: bool,
    /// The times; `None` where none were measured.
    pub times: Option<RunTimes>,
    /// The process's own high-water mark as the parent saw it (`wait4`), in bytes.
    pub peak_rss_bytes: Option<u64>,
    /// CPU seconds of the process (user + system), from `wait4`.
    pub cpu_s: Option<f64>,
    /// Seconds from start to end, as the parent saw it.
    pub wall_s: Option<f64>,
    /// Seconds that it was expected to take before it began.
    pub estimated_s: Option<f64>,
    /// The invocation in which it ran, by its UTC start ([`super::Session`]).
    pub session: Option<String>,
    /// Seconds from the start of that invocation to its own.
    pub start_s: Option<f64>,
}

/// A row of `ops.csv`: an operation of a layer in the profiled steps of a run, or what is left of a phase.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OpRecord {
    /// Readable key of the cell.
    pub key: String,
    /// Seed.
    pub seed: u64,
    /// Block, from 0.
    pub block: usize,
    /// Code hash under which it was measured: the file is in no git, so that it may be of another branch.
    pub code_hash: String,
    /// Profiled steps.
    pub profiled_steps: usize,
    /// Samples of one of them.
    pub samples_per_step: usize,
    /// The operation, with what it took a step.
    pub row: OpRow,
    /// Share of the profiled step that it took in both directions.
    pub share: f64,
}

/// A row of `timings.csv`: one cell, over its runs.
#[derive(Debug, Clone, PartialEq)]
pub struct TimingRow {
    /// Readable key of the cell.
    pub key: String,
    /// Runs that count.
    pub n: usize,
    /// Environment of the runs.
    pub env_id: String,
    /// Medians with intervals over runs, by column (`step_ms`, `samples_per_s`, `forward_ms`, …).
    pub values: BTreeMap<String, Interval>,
    /// Runs whose step time is an outlier (1.5 interquartile ranges), flagged and kept.
    pub outliers: usize,
}

/// A median with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Median over runs.
    pub median: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// What the ends are.
    pub kind: IntervalKind,
}

/// What the ends of an interval are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalKind {
    /// 95 % bootstrap interval of the median (6 runs or more).
    Bootstrap95,
    /// Smallest and largest of the runs (2 to 5).
    Range,
    /// There was one run.
    Single,
}

impl IntervalKind {
    /// As `timings.csv` writes it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Bootstrap95 => "bootstrap95",
            Self::Range => "range",
            Self::Single => "single",
        }
    }
}

/// A machine and build, as `env.toml` keeps it: fields by class.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Fields that must match for timings to be compared (`cpu_model`, `cores`, `build`, …).
    pub must_match: BTreeMap<String, String>,
    /// Fields whose difference is worth a warning (`kernel`, `clock_mhz`, …).
    pub warn: BTreeMap<String, String>,
    /// The rest (`commit`, `dirty`, …).
    pub info: BTreeMap<String, String>,
}
