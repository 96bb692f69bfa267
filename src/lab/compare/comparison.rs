//! [`Comparison`]: matched cells of two sides, their differences, and the verdicts.

use std::collections::{BTreeSet, HashSet};

use serde::{Serialize, Serializer};

use crate::event::OpWork;
use crate::results::{CellInfo, Direction, NoiseRow, ResultSet};

use super::cost::{CostChange, CostOverCells};
use super::judgement::{
    Judgement, MatrixJudgement, NotComparableReason, QualityVerdict, Ratio, Verdict,
};

/// Two sides, compared cell by cell; its fields are those of `comparison.json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Name of the experiment.
    pub name: String,
    /// The reference side.
    pub before: Side,
    /// The compared side.
    pub after: Side,
    /// The axis that one result is compared along; `None` for two results.
    pub along: Option<String>,
    /// Differences between the machines and builds of both sides.
    pub environment: EnvironmentChange,
    /// Axes and values that exist on one side only.
    pub axes: Vec<AxisChange>,
    /// One test over all cells with comparable times; `None` if there are too few of them.
    pub matrix: Option<MatrixJudgement>,
    /// One test over all cells for each cost that was measured in some cell.
    pub costs: Vec<CostOverCells>,
    /// Runs per side that this number of cells and design needs before one cell can get the verdict faster or slower.
    pub needed_runs: usize,
    /// Cells that exist only in `after`.
    #[serde(serialize_with = "identified")]
    pub added: Vec<CellInfo>,
    /// Cells that exist only in `before`.
    #[serde(serialize_with = "identified")]
    pub removed: Vec<CellInfo>,
    /// Matched cells, in the plan order of `after`.
    #[serde(skip)]
    pub cells: Vec<CellPair>,
}

impl Comparison {
    /// Whether both sides are equal: the same axes, environments, cells and settings, and each cell has the same runs
    /// on both sides, or none. False without cells.
    pub fn is_without_difference(&self) -> bool {
        let is_one_sided = !self.added.is_empty() || !self.removed.is_empty();
        !self.cells.is_empty()
            && self.cells.iter().all(CellPair::is_untouched)
            && !is_one_sided
            && self.axes.is_empty()
            && self.environment.fields.is_empty()
    }

    /// Keys of the cells of `after` that a program of the user trains (`kind = "command"`). Equal settings of such
    /// cells do not show that both programs compute the same.
    pub fn command_cell_keys(&self) -> HashSet<&str> {
        let plan = &self.after.set.plan;
        let cells = plan
            .cells
            .iter()
            .filter(|cell| plan.is_trained_by_command(cell));
        cells.map(|cell| &*cell.key).collect()
    }
}

/// Serializes cells as key, hash and axis values.
fn identified<S: Serializer>(cells: &[CellInfo], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Identity<'a> {
        key: &'a str,
        cell_hash: &'a str,
        axes: &'a [String],
    }
    serializer.collect_seq(cells.iter().map(|cell| Identity {
        key: &cell.key,
        cell_hash: &cell.cell_hash,
        axes: &cell.axes,
    }))
}

/// One of the two compared sides: its results and where they come from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Side {
    /// Display name: a git ref, a folder, a value of an axis.
    pub name: String,
    /// Origin of the side's results.
    pub origin: Origin,
    /// The side's results; when comparing along an axis, both sides contain the whole result.
    #[serde(flatten, serialize_with = "titled")]
    pub set: ResultSet,
    /// Results of comparing a build with itself (A/A), from `noise.csv` beside the results.
    #[serde(skip)]
    pub noise: Vec<NoiseRow>,
    /// Results of the searches that `[report] searches` of the side's manifest names, in that order; searches without
    /// results are left out.
    #[serde(skip)]
    pub searches: Vec<ResultSet>,
    /// Sessions in which `ab` stopped running pairs of a cell at its first significant verdict; read from
    /// `sessions.json` beside the folder.
    #[serde(skip)]
    pub until_sure: BTreeSet<String>,
}

fn titled<S: Serializer>(set: &ResultSet, serializer: S) -> Result<S::Ok, S::Error> {
    let plan = &set.plan;
    serializer.collect_map([
        ("title", &plan.title),
        ("manifest_path", &plan.manifest_path),
    ])
}

/// Where a side's results come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A results folder, as given by the user.
    Folder {
        /// Path of the folder.
        path: String,
    },
    /// A commit.
    Git {
        /// The ref, as given by the user.
        reference: String,
        /// The commit's full hash.
        commit: String,
    },
    /// The cells of one result that have this value on an axis.
    Value {
        /// Name of the axis.
        axis: String,
        /// The value on that axis.
        value: String,
    },
}

/// Differences between the machines and builds of two sides.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct EnvironmentChange {
    /// Fields that differ, must-match fields first.
    pub fields: Vec<FieldChange>,
    /// Whether the user asked to compare times despite differing must-match fields.
    pub is_across: bool,
}

impl EnvironmentChange {
    /// Whether times are not compared, because must-match fields differ and the user did not ask for it.
    pub fn is_refused(&self) -> bool {
        let must_match = |field: &FieldChange| field.class == FieldClass::MustMatch;
        !self.is_across && self.fields.iter().any(must_match)
    }
}

/// A field of an environment that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    /// Name of the field (`cpu_model`).
    pub field: String,
    /// Consequence of a difference in this field for the comparison of times.
    pub class: FieldClass,
    /// Values of the side before, each once.
    pub before: Vec<String>,
    /// Values of the side after, each once.
    pub after: Vec<String>,
}

/// Consequence of a difference in an environment field for the comparison of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldClass {
    /// Times cannot be compared.
    MustMatch,
    /// A difference of the field may change times.
    Warn,
    /// A field for information only.
    Info,
}

/// An axis that exists on one side only, or whose values differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AxisChange {
    /// Name of the axis.
    pub axis: String,
    /// Whether the side before has the axis.
    pub in_before: bool,
    /// Whether the side after has the axis.
    pub in_after: bool,
    /// Values that exist only before.
    pub removed: Vec<String>,
    /// Values that exist only after.
    pub added: Vec<String>,
}

/// A pair of matched cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellPair {
    /// Key on the side before.
    pub before: String,
    /// Key on the side after.
    pub after: String,
    /// Label that distinguishes the pair from others: values of the axes that vary among them.
    pub label: String,
    /// Criterion by which the two cells were matched.
    pub matched: MatchedBy,
    /// All differences between the two specifications, sorted by path.
    pub changes: Vec<SpecChange>,
    /// Whether both cells do the same work, so that the ratio of their times is a speed-up.
    pub work: Work,
    /// Facts (reproducible results, such as losses) that differ, by seed and column; empty if all agree.
    pub facts: Vec<FactChange>,
    /// Number of compared rows of `runs.csv` (seeds that finished on both sides).
    pub compared_rows: usize,
    /// Whether the counts of `work.csv` were compared: calls, FLOPs and tensors of one training step.
    pub counts: CountsComparability,
    /// Operations whose counts differ, the largest change first.
    pub operations: Vec<WorkChange>,
    /// Whether the cell's row was measured with a code hash different from that of most cells of its side, for before
    /// and after. Such a cell gets no verdict, and its facts are not compared.
    pub other_code: (bool, bool),
    /// Median milliseconds per sample over the compared runs, before and after; `None` if nothing was measured.
    pub sample_ms: (Option<f64>, Option<f64>),
    /// Quality over seeds, one for each metric and loss with a direction.
    pub quality: Vec<QualityChange>,
    /// The ratio of every timing that both sides have; empty if times cannot be compared.
    pub timings: Vec<TimingChange>,
    /// Verdict on the time per sample.
    pub judgement: Judgement,
    /// Verdicts on each cost of the runs (CPU time, memory, energy) that a side has measured; empty without comparable times.
    pub costs: Vec<CostChange>,
    /// Wall time of the runs that their CPU time does not explain; `None` if the runs do not wait.
    pub waiting: Option<Waiting>,
}

impl CellPair {
    /// Whether the cell was not measured again, and does not differ between the sides.
    pub fn is_untouched(&self) -> bool {
        self.needs_no_verdict()
            && self.matched == MatchedBy::Key
            && self.facts.is_empty()
            && self.operations.is_empty()
            && self.changes.is_empty()
    }

    /// Whether the pair's times need no verdict: both sides have the same runs, or no runs (for example without the
    /// cell's device).
    pub fn needs_no_verdict(&self) -> bool {
        let Verdict::NotComparable(reasons) = &self.judgement.verdict else {
            return false;
        };
        matches!(
            **reasons,
            [NotComparableReason::SameRuns | NotComparableReason::NotMeasured(true, true)]
        )
    }
}

/// Criterion by which two cells were matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchedBy {
    /// Same key.
    Key,
    /// Same cell hash under another key.
    CellHash,
    /// Same values on all axes that both sides have; every other axis has a single value.
    SharedAxes,
    /// Same values on all axes except the one compared along.
    OtherAxes,
}

/// A setting that differs between two cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SpecChange {
    /// Dotted path (`train.optimizer.lr`).
    pub path: String,
    /// Value before; `None` if the setting did not exist.
    pub before: Option<String>,
    /// Value after; `None` if the setting does not exist.
    pub after: Option<String>,
}

/// Whether two cells do the same arithmetic per sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Equal work signatures: a ratio of times is a speed-up.
    Same,
    /// Declared as different treatments: a ratio of times is a ratio of treatments. Contains the differing settings.
    Treatments(Vec<String>),
    /// Different work: no ratio is computed. Contains the differing settings.
    Different(Vec<String>),
}

/// A fact (a result that reruns reproduce exactly, such as a loss) that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FactChange {
    /// Seed of the compared runs.
    pub seed: u64,
    /// Column of `runs.csv`.
    pub column: String,
    /// Direction: whether higher or lower is better.
    pub direction: Direction,
    /// Text of the value before, as in the file.
    pub before: String,
    /// Text of the value after.
    pub after: String,
    /// `(after − before) / |before|`; `None` if one is not a number or before is 0.
    pub relative: Option<f64>,
    /// Largest relative difference that counts as equal.
    pub tolerance: f64,
    /// Whether the difference lies within the tolerance.
    pub is_within: bool,
}

/// Whether the counts of `work.csv` of two cells were compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CountsComparability {
    /// The counts were compared.
    Compared,
    /// One side has no counts, or neither has; contains whether the counts are missing before, after.
    Missing(bool, bool),
    /// The counts were not compared: the cells ran on different devices or vector instructions, or were measured by
    /// different code than most cells of their side.
    Elsewhere,
}

/// An operation of a layer whose counts in one step differ; all are 0 where a side does not call it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WorkChange {
    /// Counts on the side before.
    pub before: OpWork,
    /// Counts on the side after.
    pub after: OpWork,
}

/// A metric over the seeds of both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QualityChange {
    /// Column of `runs.csv`.
    pub column: String,
    /// Direction: whether higher or lower is better.
    pub direction: Direction,
    /// Medians over seeds, before and after.
    pub medians: (f64, f64),
    /// Number of seeds that both sides have.
    pub pairs: usize,
    /// Whether the metric is better, worse or equal on the side after.
    pub verdict: QualityVerdict,
    /// Two-sided p-value of the paired sign-flip test over seeds; `None` if no test was made.
    pub p: Option<f64>,
    /// `p` adjusted for this metric's tests in all cells (Westfall and Young); the verdict depends on this p-value.
    pub p_adjusted: Option<f64>,
}

/// A timing that both sides have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimingChange {
    /// Column of `timings.csv`.
    pub column: String,
    /// Whether the values are step times divided by samples, because the step sizes of both sides differ.
    pub is_per_sample: bool,
    /// Direction: whether higher or lower is better.
    pub direction: Direction,
    /// Medians, before and after.
    pub medians: (f64, f64),
    /// `after / before`, with its interval.
    pub ratio: Ratio,
}

/// Ratio of wall seconds to CPU seconds of the runs, which on one side is far higher than computing alone explains.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Waiting {
    /// Wall seconds per CPU second, before and after: medians over the runs.
    pub wall_per_cpu: (f64, f64),
    /// Whether the ratio is too high for runs that only compute, before and after.
    pub is_far: (bool, bool),
}
