//! [`Judgement`]: the verdict on the times of a cell, and [`MatrixJudgement`]: that on all cells together.

use serde::Serialize;

use crate::results::IntervalKind;

use super::UnclearReason;

/// A ratio of medians, `after / before`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratio {
    /// Median after divided by median before.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Kind of the interval: bootstrap, anytime-valid, range of the runs, or a single run.
    pub kind: IntervalKind,
}

impl Ratio {
    /// Lower and upper end of the interval; `None` if the ratio is of a single run.
    pub fn ends(&self) -> Option<(f64, f64)> {
        (self.kind != IntervalKind::Single).then_some((self.low, self.high))
    }
}

/// How the runs of two cells are arranged in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// In one session, in pairs of equal seed and block: drift affects both sides alike.
    Interleaved,
    /// As `Interleaved`, in random order within pairs; no further pairs of a cell run once its verdict is significant.
    UntilSure,
    /// In different sessions: differences between sessions look like an effect.
    Sessions,
}

/// Verdict on a cell's time per sample, or on a cost of its runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// The verdict: faster, slower, the same, unclear …
    pub verdict: Verdict,
    /// Ratio of medians, `after / before`; `None` without comparable runs on both sides.
    pub ratio: Option<Ratio>,
    /// How the runs of both sides are arranged in time.
    pub design: Design,
    /// Number of counted runs, before and after; for pairs both are the number of pairs.
    pub runs: (usize, usize),
    /// Test that gave the p-value; `None` if there are too few runs for a test.
    pub test: Option<Test>,
    /// Two-sided p-value of the cell's own test.
    pub p: Option<f64>,
    /// The p-value after Holm's correction over the tests of all cells and the test of all cells together.
    pub p_holm: Option<f64>,
    /// Smallest relative effect (0.03 is 3 %) that this number of runs with this spread would have detected with 80 % power.
    pub detectable: Option<f64>,
    /// Effect size that must be exceeded to matter.
    pub threshold: Threshold,
}

/// The statistical test that gave the p-value of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Mann–Whitney: ranks of all runs, exact without ties.
    MannWhitney,
    /// Paired sign-flip test: signed ranks of the pairs' differences, over all sign patterns.
    SignFlip,
    /// Bets on the signs of the pairs' differences, valid at every look, after any number of pairs (an anytime-valid
    /// test).
    SignBets,
}

/// Effect size that must be exceeded to matter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Threshold {
    /// Relative effect (0.02 is 2 %).
    pub value: f64,
    /// Origin of the threshold.
    pub source: ThresholdSource,
}

/// Origin of a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThresholdSource {
    /// Set by the manifest, in `[compare] threshold`.
    Manifest,
    /// The noise floor of A/A runs on this machine, within one session.
    MeasuredWithin,
    /// The noise floor of A/A runs on this machine, between sessions.
    MeasuredBetween,
    /// The default of 2 %, because nothing was measured.
    Default,
}

/// Verdict on a time or a cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The side after is faster.
    Faster,
    /// The side after is slower.
    Slower,
    /// The cost is lower after the change (of a time: [`Self::Faster`]).
    Less,
    /// The cost is higher after the change (of a time: [`Self::Slower`]).
    More,
    /// No relevant effect: the interval lies within the threshold, or within the detectable effect if that
    /// is at most 10 %.
    Same,
    /// Fewer runs than any test needs; contains the number needed per side.
    TooFewRuns(usize),
    /// Neither an effect nor its absence is shown; contains the reason.
    Unclear(UnclearReason),
    /// Times cannot be compared; contains the reasons.
    NotComparable(Vec<NotComparableReason>),
}

/// Why times of two cells cannot be compared. Its text is English; reports in other languages have their own texts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum NotComparableReason {
    /// No finished run with measured steps; whether this holds for before, after.
    #[error("not measured {}", sides(*.0, *.1))]
    NotMeasured(bool, bool),
    /// Both sides contain the same runs: nothing was measured between them.
    #[error("the same runs on both sides: nothing was measured since")]
    SameRuns,
    /// The row was measured with a code hash different from that of most cells of its side; whether this holds for
    /// before, after.
    #[error("measured with other code than the rest {}", sides(*.0, *.1))]
    OtherCode(bool, bool),
    /// Names of the must-match environment fields that differ.
    #[error("other environment ({})", .0.join(", "))]
    Environment(Vec<String>),
    /// Different work per sample, or another precision; the settings that differ, as in [`super::Work::Different`].
    #[error("other work per sample ({})", .0.join(", "))]
    Work(Vec<String>),
    /// Runs computed with different numbers of threads, before and after.
    #[error("{0} threads before, {1} after")]
    Threads(String, String),
    /// Runs were alone on the machine on one side only; whether this holds for before, after.
    #[error("runs had the machine for themselves only {}", sides(*.0, *.1))]
    Exclusive(bool, bool),
    /// Only the programs of one side reported their steps; the other side has only times of whole runs. Contains
    /// whether before, after reported them.
    #[error("steps are known only {}", sides(*.0, *.1))]
    Steps(bool, bool),
}

fn sides(before: bool, after: bool) -> &'static str {
    match (before, after) {
        (true, true) => "before and after",
        (true, false) => "before",
        _ => "after",
    }
}

/// The result of one test over all cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MatrixJudgement {
    /// Number of cells in the test.
    pub cells: usize,
    /// Geometric mean of the cells' ratios, `after / before`, with its interval.
    pub ratio: Ratio,
    /// Two-sided p-value, by permutation of labels within each cell (within each pair when interleaved).
    pub p: f64,
    /// `p` after Holm's correction over this test and the tests of single cells.
    pub p_holm: f64,
    /// Number of permutations evaluated, and whether these are all possible ones.
    pub permutations: (u64, bool),
    /// Smallest relative change of the mean that these runs would have detected with 80 % power; `None` below 6 runs.
    pub detectable: Option<f64>,
    /// The verdict on all cells together.
    pub verdict: Verdict,
    /// Change of the mean that must be exceeded to matter.
    pub threshold: Threshold,
}

/// Verdict on a metric.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum QualityVerdict {
    /// Equal in every seed, or within the tolerance.
    Equal,
    /// Significantly better on the side after, tested over seeds.
    Better,
    /// Significantly worse on the side after, tested over seeds.
    Worse,
    /// Values differ, but the test is not significant.
    NotTold,
    /// Values differ, but there are too few seeds for a test; contains the number needed.
    TooFewSeeds(usize),
}
