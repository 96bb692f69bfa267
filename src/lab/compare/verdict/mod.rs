//! [`judge`]: verdicts on the times, or on a cost, of all cells and of the matrix.
//!
//! First the tests, then Holm's correction over all of them, then the verdicts: any verdict except "unclear" needs a test,
//! an interval *and* an effect size. `docs/adr/0010-tests-and-verdicts.md` has the reasons.

mod cell;
mod choice;
#[cfg(test)]
mod claims;
mod matrix;
#[cfg(test)]
mod properties;
mod quality;
mod sequential;
#[cfg(test)]
mod sequential_tests;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use crate::results::BOOTSTRAP_FROM;

use super::floor::Floor;
use super::statistics::{
    Draws, Permuted, Sides, holm, log_ratios, ratio_of_runs, smallest_mann_whitney,
    smallest_sign_flip,
};
use super::{
    Design, Judgement, MatrixJudgement, NotComparableReason, Ratio, Threshold, ThresholdSource,
};
use choice::CellTest;

pub(super) use quality::judge_quality;
pub use sequential::is_sure;

/// Family-wise probability of a false alarm over all cells and the matrix.
pub(super) const ALPHA: f64 = 0.05;
/// Default of the effect size that must be exceeded to matter.
const DEFAULT_THRESHOLD: f64 = 0.02;
/// Largest distance from 1 that an interval may reach for the verdict "same", even if the detectable effect is larger.
const SAME_AT_MOST: f64 = 0.10;
/// Column number of the random streams of verdicts, and the next of those of detectable effects; timing columns use numbers
/// from 0.
const JUDGED: usize = 1000;
/// Numbers of random draws.
const EFFORT: Effort = Effort {
    resamples: 2000,
    draws: Draws {
        most: 9_999,
        enough: 200,
    },
};

/// Numbers of random draws for intervals and for the test of the matrix.
#[derive(Debug, Clone, Copy)]
struct Effort {
    resamples: usize,
    draws: Draws,
}

/// The runs of a cell on both sides.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Samples {
    /// Key of the cell; seeds the random streams.
    pub key: String,
    /// Time per sample, or cost, of each run before. In an interleaved design pairs have equal indices.
    pub before: Vec<f64>,
    /// The same of each run after.
    pub after: Vec<f64>,
    /// Design of the measurement. Interleaved is used only if both sides have the same number of runs.
    pub design: Design,
    /// Noise floor of this cell on this machine.
    pub floor: Floor,
    /// Whether sessions of a machine differ in it although nothing was changed: times do, the memory of a run does not.
    pub drifts: bool,
    /// Whether the times can be compared, or why not.
    pub comparable: Result<(), Vec<NotComparableReason>>,
}

/// The verdicts on all cells.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Verdicts {
    /// One per cell, in order.
    pub cells: Vec<Judgement>,
    /// On the matrix; `None` with fewer than two cells whose times can be compared.
    pub matrix: Option<MatrixJudgement>,
    /// Runs per side needed before the verdict on a single cell can be an effect.
    pub needed_runs: usize,
}

impl Samples {
    fn is_paired(&self) -> bool {
        self.design != Design::Sessions && self.before.len() == self.after.len()
    }

    fn design(&self) -> Design {
        if self.is_paired() {
            Design::Interleaved
        } else {
            Design::Sessions
        }
    }

    /// The design that decides what a difference may be called: what does not drift is compared as in one session.
    fn ruled_as(&self) -> Design {
        match self.design() {
            Design::Sessions if self.drifts => Design::Sessions,
            _ => Design::Interleaved,
        }
    }

    /// Whether all runs of both sides have one value.
    pub(super) fn are_equal(&self) -> bool {
        let mut all = self.before.iter().chain(&self.after);
        let first = all.next();
        self.counts() && all.all(|value| Some(value) == first)
    }

    fn sides(&self) -> Sides<'_> {
        Sides {
            before: &self.before,
            after: &self.after,
            is_paired: self.is_paired(),
        }
    }

    fn counts(&self) -> bool {
        self.comparable.is_ok() && self.sides().is_usable()
    }

    fn resampled(&self, effort: Effort) -> Vec<f64> {
        if self.sides().fewer() < BOOTSTRAP_FROM {
            return Vec::new();
        }
        log_ratios(self.sides(), &self.key, JUDGED, effort.resamples)
    }
}

/// Returns the verdicts on all cells and on the matrix; `threshold` is that of the manifest (0.02 is 2 %).
pub(super) fn judge(samples: &[Samples], threshold: Option<f64>) -> Verdicts {
    let is_counted = |cell: &&Samples| cell.comparable.is_ok();
    let mut designs = samples.iter().filter(is_counted).map(|cell| cell.design);
    if designs.clone().count() > 0 && designs.all(|design| design == Design::UntilSure) {
        return sequential::judge(samples, threshold);
    }
    judge_with(samples, threshold, EFFORT)
}

/// Returns the ratio of a timing's medians with its interval; `column` is the timing's index among all columns. `None` if a
/// value is not positive.
pub(super) fn ratio(
    key: &str,
    column: usize,
    before: &[f64],
    after: &[f64],
    design: Design,
) -> Option<Ratio> {
    let sides = Sides {
        before,
        after,
        is_paired: design != Design::Sessions && before.len() == after.len(),
    };
    ratio_of_runs(sides, &log_ratios(sides, key, column, EFFORT.resamples))
}

/// Returns the number of runs per side needed before the verdict on one of `cells` cells can be an effect: the smallest `n`
/// with `2 / C(2n, n) ≤ 0.05 / tests`, which is Holm's first step. `tests` counts the cells and, from two cells on, the
/// matrix.
///
/// The same for both designs: pairs too few for the sign test (`2 / 2^n`) are tested as two samples.
pub fn needed_runs(cells: usize) -> usize {
    let alpha = ALPHA / tests(cells) as f64;
    fewest(|n| smallest_mann_whitney(n, n) <= alpha)
}

/// Returns the number of pairs that the sign test needs: the smallest `n` with `2 / 2^n ≤ 0.05 / tests`.
pub fn needed_pairs(cells: usize) -> usize {
    let alpha = ALPHA / tests(cells) as f64;
    fewest(|n| smallest_sign_flip(n) <= alpha)
}

/// The smallest sufficient number of runs. Each further run at least halves the p-value, so 1,100 always suffice.
pub(super) fn fewest(is_enough: impl Fn(usize) -> bool) -> usize {
    (1..1100).find(|&n| is_enough(n)).unwrap_or(1100)
}

/// Number of tests for `cells` cells.
fn tests(cells: usize) -> usize {
    cells.max(1) + usize::from(cells > 1)
}

/// The tests of all cells and of the matrix.
struct Tested {
    /// The test of each cell; `None` for cells with too few runs or without comparable times.
    cells: Vec<Option<CellTest>>,
    matrix: Option<Permuted>,
    /// Holm-adjusted p-values in the order of the tests: tested cells, then the matrix.
    adjusted: Vec<f64>,
}

fn test(samples: &[Samples], effort: Effort) -> Tested {
    let cells = choice::test_cells(samples);
    let matrix = matrix::test(samples, effort.draws);
    let mut p: Vec<f64> = cells.iter().flatten().map(|test| test.p).collect();
    p.extend(matrix.map(|matrix| matrix.p));
    Tested {
        adjusted: holm(&p),
        cells,
        matrix,
    }
}

fn judge_with(samples: &[Samples], threshold: Option<f64>, effort: Effort) -> Verdicts {
    let tested = test(samples, effort);
    let resampled: Vec<Vec<f64>> = samples.iter().map(|cell| cell.resampled(effort)).collect();
    let family = Family::new(samples, &tested, threshold);
    let mut adjusted = tested.adjusted.iter().copied();
    let cells = samples.iter().zip(&tested.cells).zip(&resampled);
    let cells = cells.map(|((cell, test), resampled)| {
        let p_holm = test.and_then(|_| adjusted.next());
        family.judge_cell(cell, resampled, *test, p_holm)
    });
    Verdicts {
        cells: cells.collect(),
        // The matrix is the last test.
        matrix: tested
            .matrix
            .zip(tested.adjusted.last())
            .map(|(permuted, p_holm)| family.judge_matrix(samples, permuted, &resampled, *p_holm)),
        needed_runs: family.needed_runs,
    }
}

/// What the verdicts on all cells and on the matrix share.
struct Family {
    /// Significance level of Holm's first step.
    alpha: f64,
    /// Threshold of the manifest.
    manifest: Option<f64>,
    needed_runs: usize,
}

impl Family {
    fn new(samples: &[Samples], tested: &Tested, manifest: Option<f64>) -> Self {
        let counted = samples.iter().filter(|cell| cell.counts()).count();
        Self {
            alpha: ALPHA / tested.adjusted.len().max(1) as f64,
            manifest,
            needed_runs: needed_runs(counted),
        }
    }
}

/// The effect that matters within a session: that of the manifest, else the A/A floor, else 2 %.
pub fn session_threshold(manifest: Option<f64>, floor: Floor) -> f64 {
    threshold(Design::Interleaved, manifest, floor).value
}

/// The manifest's threshold, else the A/A floor, else 2 %; between sessions at least the A/A floor between sessions.
pub(super) fn threshold(design: Design, manifest: Option<f64>, floor: Floor) -> Threshold {
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
