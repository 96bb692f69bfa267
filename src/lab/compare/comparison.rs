//! [`Comparison`]: what two sides have in common, what differs, and what may be said of it.

use serde::Serialize;

use crate::results::{CellInfo, Direction, NoiseRow, ResultSet};

use super::judgement::{Judgement, MatrixJudgement, Obstacle, Ratio, Verdict};

/// Two sides, cell by cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Name of the experiment.
    pub name: String,
    /// What is compared with.
    pub before: Side,
    /// What is compared.
    pub after: Side,
    /// The axis of one result along which it is compared; `None` for two results.
    pub along: Option<String>,
    /// What differs between the machines and builds of both sides.
    pub environment: EnvironmentChange,
    /// Axes and values that only one side has.
    pub axes: Vec<AxisChange>,
    /// Cells of both sides, in the plan order of `after`.
    pub cells: Vec<CellPair>,
    /// Cells that only `after` has.
    pub added: Vec<CellInfo>,
    /// Cells that only `before` has.
    pub removed: Vec<CellInfo>,
    /// Cells among the added and removed ones that may belong together in several ways; none of them is paired.
    pub ambiguous: Vec<Ambiguity>,
    /// One test over all cells whose times can be compared; `None` where there is none.
    pub matrix: Option<MatrixJudgement>,
    /// Runs a side that a matrix of this size and design needs before a single cell can be called.
    pub needed_runs: usize,
}

impl Comparison {
    /// Whether the two sides show the same: the same cells, each with the same runs or with none, and nothing else that
    /// differs.
    pub fn is_without_difference(&self) -> bool {
        let is_one_sided = !self.added.is_empty() || !self.removed.is_empty();
        !self.cells.is_empty()
            && self.cells.iter().all(CellPair::is_untouched)
            && !is_one_sided
            && self.axes.is_empty()
            && self.environment.fields.is_empty()
    }
}

/// One of two sides.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// What it is called: a git ref, a folder, a value of an axis.
    pub name: String,
    /// Where it comes from.
    pub origin: Origin,
    /// Its results; of one result along an axis, the whole of it on both sides.
    pub set: ResultSet,
    /// What comparing a build with itself showed: `noise.csv` beside the results.
    pub noise: Vec<NoiseRow>,
}

/// Where a side's results come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// A results folder, as it was named.
    Folder {
        /// The folder.
        path: String,
    },
    /// A commit.
    Git {
        /// The ref as it was named.
        reference: String,
        /// The commit's full hash.
        commit: String,
    },
    /// A value of an axis.
    Value {
        /// Name of the axis.
        axis: String,
        /// The value, as keys show it.
        value: String,
    },
}

/// What differs between the machines and builds of two sides.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct EnvironmentChange {
    /// Fields that differ, must-match first.
    pub fields: Vec<FieldChange>,
    /// Whether the user asked to compare times although fields differ that must match.
    pub is_across: bool,
}

impl EnvironmentChange {
    /// Whether times are not compared, since fields differ that must match and nobody asked to compare all the same.
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
    /// What a difference in it means.
    pub class: FieldClass,
    /// Values of the side before, each once.
    pub before: Vec<String>,
    /// Values of the side after, each once.
    pub after: Vec<String>,
}

/// What a difference in a field of an environment means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldClass {
    /// Times cannot be compared.
    MustMatch,
    /// Times may differ for it.
    Warn,
    /// It is told.
    Info,
}

/// An axis that only one side has, or whose values differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AxisChange {
    /// Name of the axis.
    pub axis: String,
    /// Whether the side before has it.
    pub in_before: bool,
    /// Whether the side after has it.
    pub in_after: bool,
    /// Values that only the side before has.
    pub removed: Vec<String>,
    /// Values that only the side after has.
    pub added: Vec<String>,
}

/// A cell of both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellPair {
    /// Key on the side before.
    pub before: String,
    /// Key on the side after.
    pub after: String,
    /// What tells it from the other pairs: values of the axes that vary among them.
    pub label: String,
    /// How the two were found to belong together.
    pub matched: MatchedBy,
    /// Everything in the two specifications that differs, sorted by path.
    pub changes: Vec<SpecChange>,
    /// Whether a ratio of their times is a speed-up.
    pub work: Work,
    /// Facts that differ, by seed and column; empty where all agree.
    pub facts: Vec<FactChange>,
    /// Rows of facts that were compared (seeds that both sides have, finished).
    pub compared_rows: usize,
    /// Whether the cell's row was measured with other code than the rest of its side, before and after: then it draws no
    /// verdict, and its facts are not compared.
    pub other_code: (bool, bool),
    /// Median milliseconds of a sample over the counted runs, before and after; `None` where nothing was measured.
    pub sample_ms: (Option<f64>, Option<f64>),
    /// Quality over seeds, one for each metric and loss with a direction.
    pub quality: Vec<QualityChange>,
    /// Every timing that both sides have, as a ratio; empty where times cannot be compared.
    pub timings: Vec<TimingChange>,
    /// What may be said of the time per sample.
    pub judgement: Judgement,
}

impl CellPair {
    /// Whether nothing was measured since, and nothing about it differs.
    pub fn is_untouched(&self) -> bool {
        self.asks_nothing()
            && self.matched == MatchedBy::Key
            && self.facts.is_empty()
            && self.changes.is_empty()
    }

    /// Whether its times raise no question: both sides show the same runs, or neither has measured it (its device is
    /// absent, perhaps).
    pub fn asks_nothing(&self) -> bool {
        let Verdict::NotComparable(obstacles) = &self.judgement.verdict else {
            return false;
        };
        matches!(
            **obstacles,
            [Obstacle::SameRuns | Obstacle::NotMeasured(true, true)]
        )
    }
}

/// How two cells were found to belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MatchedBy {
    /// Same key.
    Key,
    /// Same cell hash under another key.
    CellHash,
    /// Same values on the axes that both have, the others having one value only.
    SharedAxes,
    /// Same values on all axes but the one that is compared along.
    OtherAxes,
}

/// Cells that have the same hash, or the same values on all shared axes, several times over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ambiguity {
    /// What they have in common.
    pub by: MatchedBy,
    /// Keys on the side before.
    pub before: Vec<String>,
    /// Keys on the side after.
    pub after: Vec<String>,
}

/// A setting that differs between two cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SpecChange {
    /// Dotted path (`train.optimizer.lr`).
    pub path: String,
    /// Value before; `None` where it has none.
    pub before: Option<String>,
    /// Value after; `None` where it has none.
    pub after: Option<String>,
}

/// Whether two cells do the same arithmetic per sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Equal work signatures: a ratio of times is a speed-up.
    Same,
    /// Declared as different treatments: a ratio of times is a ratio of treatments. What differs.
    Treatments(Vec<String>),
    /// Different work: no ratio is drawn. What differs.
    Different(Vec<String>),
}

/// A fact that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FactChange {
    /// Seed.
    pub seed: u64,
    /// Column of `runs.csv`.
    pub column: String,
    /// Which way is better.
    pub direction: Direction,
    /// Text before, as the file has it.
    pub before: String,
    /// Text after.
    pub after: String,
    /// `(after − before) / |before|`; `None` where one is no number or before is 0.
    pub relative: Option<f64>,
    /// Largest relative difference that counts as equal.
    pub tolerance: f64,
    /// Whether it lies within the tolerance.
    pub is_within: bool,
}

/// A metric over the seeds of both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct QualityChange {
    /// Column of `runs.csv`.
    pub column: String,
    /// Which way is better.
    pub direction: Direction,
    /// Medians over seeds, before and after.
    pub medians: (f64, f64),
    /// Seeds that both sides have.
    pub pairs: usize,
    /// What may be said.
    pub verdict: QualityVerdict,
    /// Two-sided p-value of the paired sign-flip test over seeds; `None` where no test was possible.
    pub p: Option<f64>,
}

/// What may be said of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum QualityVerdict {
    /// Equal in every seed, or within the tolerance.
    Equal,
    /// Better over seeds.
    Better,
    /// Worse over seeds.
    Worse,
    /// Values differ, no test finds a direction.
    NotTold,
    /// Values differ, and there are too few seeds to test; how many are needed.
    TooFewSeeds(usize),
}

/// A timing of both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimingChange {
    /// Column of `timings.csv`.
    pub column: String,
    /// Whether the values are those of a step divided by its samples, since the steps of both sides differ in size.
    pub is_per_sample: bool,
    /// Which way is better.
    pub direction: Direction,
    /// Medians, before and after.
    pub medians: (f64, f64),
    /// `after / before`, with its interval.
    pub ratio: Ratio,
}
