//! [`judge`]: verdicts on the times, or on a cost, of each cell and of all cells together (the matrix).
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
mod samples;
mod sequential;
#[cfg(test)]
mod sequential_tests;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

use super::statistics::{Permuted, Sides, holm, log_ratios, ratio_of_runs};
use super::{Design, Ratio};
use choice::CellTest;
use samples::{EFFORT, Effort, Family};

pub(super) use quality::{MetricOfSeeds, judge_quality};
pub(super) use samples::{ALPHA, Samples, VERDICT_STREAM, Verdicts, fewest, threshold};
pub use samples::{needed_pairs, needed_runs, session_threshold};
pub use sequential::has_sequential_verdict;

/// Settings of a comparison that its verdicts depend on.
#[derive(Debug, Clone, Copy)]
pub(super) struct VerdictOptions {
    /// The manifest's threshold (0.02 is 2 %).
    pub(super) threshold: Option<f64>,
    /// Number of comparisons that are made together, one for each value of an axis: a false alarm in any of them has a
    /// probability of at most 5 % (Bonferroni).
    pub(super) comparisons: usize,
}

/// Returns the verdicts on each cell and on all cells together.
pub(super) fn judge(samples: &[Samples], asked: VerdictOptions) -> Verdicts {
    let is_counted = |cell: &&Samples| cell.comparable.is_ok();
    let mut designs = samples.iter().filter(is_counted).map(|cell| cell.design);
    if designs.clone().count() > 0 && designs.all(|design| design == Design::UntilSure) {
        return sequential::judge(samples, asked.threshold);
    }
    judge_with(samples, asked, EFFORT)
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

/// The test of each cell, and the test of all cells together.
struct Tested {
    /// The test of each cell; `None` for cells with too few runs or without comparable times.
    cells: Vec<Option<CellTest>>,
    matrix: Option<Permuted>,
    /// Holm-adjusted p-values in the order of the tests: tested cells, then all cells together.
    adjusted: Vec<f64>,
}

fn test(samples: &[Samples], comparisons: usize, effort: Effort) -> Tested {
    let cells = choice::test_cells(samples, comparisons);
    let matrix = matrix::test(samples, effort.draws);
    let mut p: Vec<f64> = cells.iter().flatten().map(|test| test.p).collect();
    p.extend(matrix.map(|matrix| matrix.p));
    Tested {
        adjusted: holm(&p)
            .into_iter()
            .map(|p| (p * comparisons as f64).min(1.0))
            .collect(),
        cells,
        matrix,
    }
}

fn judge_with(samples: &[Samples], asked: VerdictOptions, effort: Effort) -> Verdicts {
    let tested = test(samples, asked.comparisons, effort);
    let resampled: Vec<Vec<f64>> = samples.iter().map(|cell| cell.resampled(effort)).collect();
    let family = Family::new(samples, &tested, asked);
    let mut adjusted = tested.adjusted.iter().copied();
    let cells = samples.iter().zip(&tested.cells).zip(&resampled);
    let cells = cells.map(|((cell, test), resampled)| {
        let p_holm = test.and_then(|_| adjusted.next());
        family.judge_cell(cell, resampled, *test, p_holm)
    });
    Verdicts {
        cells: cells.collect(),
        matrix: tested
            .matrix
            .zip(tested.adjusted.last())
            .map(|(permuted, p_holm)| family.judge_matrix(samples, permuted, &resampled, *p_holm)),
        needed_runs: family.needed_runs,
    }
}

impl Family {
    fn new(samples: &[Samples], tested: &Tested, asked: VerdictOptions) -> Self {
        let counted = samples
            .iter()
            .filter(|cell| cell.has_usable_values())
            .count();
        let tests = tested.adjusted.len().max(1) * asked.comparisons;
        Self {
            alpha: ALPHA / tests as f64,
            manifest: asked.threshold,
            needed_runs: needed_runs(counted, asked.comparisons),
        }
    }
}
