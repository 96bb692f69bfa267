//! [`Samples`]: the compared runs of a cell; and the levels, thresholds and numbers of runs that verdicts share.

use crate::compare::floor::CellNoiseFloor;
use crate::compare::statistics::{
    Draws, Sides, log_ratios, smallest_mann_whitney, smallest_sign_flip,
};
use crate::compare::{
    Design, Judgement, MatrixJudgement, NotComparableReason, Threshold, ThresholdSource,
};
use crate::results::MIN_RUNS_FOR_BOOTSTRAP;

/// Family-wise probability of a false alarm over the tests of all cells and of all cells together.
pub(in crate::compare) const ALPHA: f64 = 0.05;

/// Default of the smallest relative effect that matters (2 %).
pub(super) const DEFAULT_THRESHOLD: f64 = 0.02;

/// Largest distance from 1 that an interval may reach for the verdict "same", even if the detectable effect is larger.
pub(super) const SAME_AT_MOST: f64 = 0.10;

/// Index of the random stream of verdicts; the next index is that of detectable effects. Timing columns use indices
/// from 0.
pub(in crate::compare) const VERDICT_STREAM: usize = 1000;

/// Numbers of random draws of real comparisons; simulations use fewer.
pub(super) const EFFORT: Effort = Effort {
    resamples: 2000,
    draws: Draws {
        most: 9_999,
        enough: 200,
    },
};

/// Numbers of random draws for intervals and for the test of all cells together.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    pub(super) resamples: usize,
    pub(super) draws: Draws,
}

/// The runs of a cell on both sides.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::compare) struct Samples {
    /// Key of the cell; seeds the random streams.
    pub key: String,
    /// Time per sample, or cost, of each run before. In an interleaved design pairs have equal indices.
    pub before: Vec<f64>,
    /// Time per sample, or cost, of each run after.
    pub after: Vec<f64>,
    /// Design of the measurement. Interleaved is used only if both sides have the same number of runs.
    pub design: Design,
    /// Noise floor of this cell on this machine.
    pub floor: CellNoiseFloor,
    /// Whether this value differs between sessions of a machine even for equal builds: times do, memory does not.
    pub drifts: bool,
    /// Whether the times can be compared; if not, the reasons.
    pub comparable: Result<(), Vec<NotComparableReason>>,
}

/// The verdicts on all cells.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::compare) struct Verdicts {
    /// One verdict per cell, in the order of the samples.
    pub cells: Vec<Judgement>,
    /// The verdict on all cells together; `None` with fewer than two cells whose times can be compared.
    pub matrix: Option<MatrixJudgement>,
    /// Runs per side needed before one cell can get the verdict faster or slower.
    pub needed_runs: usize,
}

impl Samples {
    pub(super) fn is_paired(&self) -> bool {
        self.design != Design::Sessions && self.before.len() == self.after.len()
    }

    pub(super) fn design(&self) -> Design {
        if self.is_paired() {
            Design::Interleaved
        } else {
            Design::Sessions
        }
    }

    /// The design whose rules decide the verdict: values that do not drift are treated as measured in one session.
    pub(super) fn ruled_as(&self) -> Design {
        match self.design() {
            Design::Sessions if self.drifts => Design::Sessions,
            _ => Design::Interleaved,
        }
    }

    /// Whether all runs of both sides have the same value.
    pub(in crate::compare) fn are_equal(&self) -> bool {
        let mut all = self.before.iter().chain(&self.after);
        let first = all.next();
        self.has_usable_values() && all.all(|value| Some(value) == first)
    }

    pub(super) fn sides(&self) -> Sides<'_> {
        Sides {
            before: &self.before,
            after: &self.after,
            is_paired: self.is_paired(),
        }
    }

    pub(super) fn has_usable_values(&self) -> bool {
        self.comparable.is_ok() && self.sides().is_usable()
    }

    pub(super) fn resampled(&self, effort: Effort) -> Vec<f64> {
        if self.sides().fewer() < MIN_RUNS_FOR_BOOTSTRAP {
            return Vec::new();
        }
        log_ratios(self.sides(), &self.key, VERDICT_STREAM, effort.resamples)
    }
}

/// Number of runs per side from which on a test can be significant: the smallest `n` with
/// `2 / C(2n, n) ≤ 0.05 / tests` (Holm's strictest step). `tests` is `comparisons` times the number of tests of one
/// comparison: one of each cell and, if there are at least two cells, one of all cells together.
///
/// The number holds for paired and for independent runs: pairs that are too few for the sign test (`2 / 2^n`) are
/// tested as independent samples.
pub fn needed_runs(cells: usize, comparisons: usize) -> usize {
    let alpha = ALPHA / (tests(cells) * comparisons) as f64;
    fewest(|n| smallest_mann_whitney(n, n) <= alpha)
}

/// Returns the number of pairs that the sign test needs: the smallest `n` with `2 / 2^n ≤ 0.05 / tests`.
pub fn needed_pairs(cells: usize, comparisons: usize) -> usize {
    let alpha = ALPHA / (tests(cells) * comparisons) as f64;
    fewest(|n| smallest_sign_flip(n) <= alpha)
}

/// The smallest number of runs for which `is_enough` is true. Each further run at least halves the p-value, so 1,100
/// always suffice.
pub(in crate::compare) fn fewest(is_enough: impl Fn(usize) -> bool) -> usize {
    (1..1100).find(|&n| is_enough(n)).unwrap_or(1100)
}

/// Number of tests for `cells` cells.
pub(super) fn tests(cells: usize) -> usize {
    cells.max(1) + usize::from(cells > 1)
}

/// Settings that the verdicts of one comparison share.
pub(super) struct Family {
    /// Significance level of Holm's first step.
    pub(super) alpha: f64,
    /// Smallest relative effect that matters, if the manifest sets it.
    pub(super) manifest: Option<f64>,
    pub(super) needed_runs: usize,
}

/// Smallest relative effect that matters within a session: the manifest's, else the A/A noise floor, else 2 %.
pub fn session_threshold(manifest: Option<f64>, floor: CellNoiseFloor) -> f64 {
    threshold(Design::Interleaved, manifest, floor).value
}

/// The manifest's threshold, else the A/A noise floor, else 2 %; between sessions at least the floor between them.
pub(in crate::compare) fn threshold(
    design: Design,
    manifest: Option<f64>,
    floor: CellNoiseFloor,
) -> Threshold {
    let (floor, measured) = match design {
        Design::Interleaved | Design::UntilSure => (floor.within, ThresholdSource::MeasuredWithin),
        Design::Sessions => (floor.between, ThresholdSource::MeasuredBetween),
    };
    let is_enough = |value: f64| design != Design::Sessions || floor.is_none_or(|f| value >= f);
    let (value, source) = match (manifest.filter(|value| is_enough(*value)), floor) {
        (Some(value), _) => (value, ThresholdSource::Manifest),
        (None, Some(value)) => (value, measured),
        (None, None) => (DEFAULT_THRESHOLD, ThresholdSource::Default),
    };
    Threshold { value, source }
}
