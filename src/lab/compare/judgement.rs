//! [`Judgement`]: what may be said of the times of a cell, and of the whole matrix.

use std::fmt;

use serde::Serialize;

use crate::results::IntervalKind;

use super::Doubt;

/// A ratio of medians, `after / before`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Ratio {
    /// The ratio.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// What the ends are.
    pub kind: IntervalKind,
}

/// How the runs of two cells lie to one another in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// In one session, in pairs of equal seed and block: what drifts hits both.
    Interleaved,
    /// In different sessions: what differs between sessions looks like an effect.
    Sessions,
}

/// What may be said of a cell's time per sample.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Ratio of times per sample, `after / before`; `None` where none may be drawn.
    pub ratio: Option<Ratio>,
    /// How the runs were made.
    pub design: Design,
    /// Runs that count, before and after (pairs twice, where they are paired).
    pub runs: (usize, usize),
    /// Test that the p-value is of; `None` where there are too few runs for any.
    pub test: Option<Test>,
    /// Two-sided p-value of the cell's own test.
    pub p: Option<f64>,
    /// The same after Holm's correction over all cells and the matrix.
    pub p_holm: Option<f64>,
    /// Smallest relative effect (0.03 is 3 %) that this many runs of this spread would have shown with 80 % power.
    pub detectable: Option<f64>,
    /// What an effect has to exceed to matter.
    pub threshold: Threshold,
}

/// A test of a cell's times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Ranks of all runs, exact without ties.
    MannWhitney,
    /// Signed ranks of the pairs' differences, over all patterns of signs.
    SignFlip,
}

/// What an effect has to exceed to matter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Threshold {
    /// Relative (0.02 is 2 %).
    pub value: f64,
    /// Where it comes from.
    pub source: ThresholdSource,
}

/// Where a threshold comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThresholdSource {
    /// `[compare] threshold`.
    Manifest,
    /// Measured A/A on this machine, within one session.
    MeasuredWithin,
    /// Measured A/A on this machine, between sessions.
    MeasuredBetween,
    /// 2 %, since nothing was measured.
    Default,
}

/// What may be said of a time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// After is faster.
    Faster,
    /// After is slower.
    Slower,
    /// No effect as large as `detectable`: the interval lies within the threshold, or within the detectable effect where
    /// that is at most 10 %.
    Same,
    /// Fewer runs than any test needs; how many a side are needed.
    TooFewRuns(usize),
    /// Neither an effect nor its absence is shown; why.
    Unclear(Doubt),
    /// Times cannot be compared; why.
    NotComparable(Vec<Obstacle>),
}

/// Why times of two cells cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Obstacle {
    /// A side has no finished run with measured steps; whether before, after.
    NotMeasured(bool, bool),
    /// Both sides show the same runs: nothing was measured since.
    SameRuns,
    /// A side's row is of other code than the rest of it; whether before, after.
    OtherCode(bool, bool),
    /// Fields of the environment that must match and differ.
    Environment(Vec<String>),
    /// Other work per sample, or another precision; the settings that differ, as [`super::Work::Different`] has them.
    Work(Vec<String>),
    /// Runs computed with different numbers of threads, before and after.
    Threads(String, String),
    /// Runs had the machine for themselves on one side only; whether before, after.
    Exclusive(bool, bool),
}

impl fmt::Display for Obstacle {
    /// In English; a report of another language has words of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sides = |before: bool, after: bool| match (before, after) {
            (true, true) => "before and after",
            (true, false) => "before",
            _ => "after",
        };
        match self {
            Self::NotMeasured(before, after) => {
                write!(f, "not measured {}", sides(*before, *after))
            }
            Self::SameRuns => write!(f, "the same runs on both sides: nothing was measured since"),
            Self::OtherCode(before, after) => {
                let sides = sides(*before, *after);
                write!(f, "measured with other code than the rest {sides}")
            }
            Self::Environment(fields) => {
                write!(f, "other environment ({})", fields.join(", "))
            }
            Self::Work(parts) => write!(f, "other work per sample ({})", parts.join(", ")),
            Self::Threads(before, after) => write!(f, "{before} threads before, {after} after"),
            Self::Exclusive(before, after) => {
                let alone = sides(*before, *after);
                write!(f, "runs had the machine for themselves only {alone}")
            }
        }
    }
}

/// One test over all cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MatrixJudgement {
    /// Cells in it.
    pub cells: usize,
    /// Geometric mean of the cells' ratios, `after / before`, with its interval.
    pub ratio: Ratio,
    /// Two-sided p-value, by permutation of labels within each cell (within each pair when interleaved).
    pub p: f64,
    /// The same after Holm's correction over all cells that could be tested and the matrix.
    pub p_holm: f64,
    /// Permutations that it rests on, and whether these are all there are.
    pub permutations: (u64, bool),
    /// Smallest relative change of the mean that these runs would have shown with 80 % power; `None` below 6 runs.
    pub detectable: Option<f64>,
    /// The verdict over the whole matrix.
    pub verdict: Verdict,
    /// What the mean has to exceed to matter.
    pub threshold: Threshold,
}
