//! [`Costs`]: CPU time, memory and energy of runs, with verdicts by the rules for times.
//!
//! Each cost is a family of its own: the tests of its cells, and of all of them together, share Holm's correction.
//! `docs/adr/0034-costs-beside-time.md` has the reasons.

use crate::base::statistics::{mean, median};
use crate::results::{BlockRow, value};

use super::cells::Cell;
use super::cost::{Cost, CostChange, CostOverCells};
use super::draft::Draft;
use super::verdict::{Samples, VerdictOptions, judge};
use super::{Judgement, MatrixJudgement, NotComparableReason, Ratio, UnclearReason, Verdict};

/// Bytes by which the memory of equal runs can differ between builds: resident pages of the executable count, and how
/// many are resident depends on the system's page cache. Measured were 2 MiB for a release build, after it was copied
/// and half an hour later, and 7 MiB for a debug build.
const FILE_PAGES: f64 = (8 << 20) as f64;

impl Cost {
    /// The cost's value in a run; `None` if it was not measured, or is 0, so that a ratio is undefined.
    ///
    /// Memory is the larger peak of training and validation, not `peak_rss_bytes`: Linux counts that from `fork` on, so
    /// that it is never less than the memory of the parent process.
    fn of_run(self, run: &BlockRow) -> Option<f64> {
        let larger_of = |columns: [&str; 2]| {
            let values = columns.into_iter().filter_map(|name| value(run, name));
            values.reduce(f64::max)
        };
        let found = match self {
            Self::CpuTime => value(run, "cpu_s"),
            Self::Memory => larger_of(["peak_train_bytes", "peak_validation_bytes"]),
            Self::GpuMemory => larger_of(["peak_device_bytes", "peak_device_validation_bytes"]),
            Self::Energy => value(run, "energy_j"),
        };
        found.filter(|found| *found > 0.0 && found.is_finite())
    }

    /// The runs of a pair of cells; `None` if neither side has measured the cost, or the times cannot be compared for a
    /// reason that holds for costs too.
    fn samples(self, draft: &Draft<'_>) -> Option<Samples> {
        // The cost of a whole run does not depend on the number of samples per step.
        let is_of_time =
            |reason: &NotComparableReason| matches!(reason, NotComparableReason::Steps(..));
        if !draft.reasons.iter().all(is_of_time) {
            return None;
        }
        let found = draft.samples(|_, run| self.of_run(run));
        let missing = (
            found.before.len() < draft.runs.before.len(),
            found.after.len() < draft.runs.after.len(),
        );
        let comparable = match missing {
            (true, true) => return None,
            (false, false) => Ok(()),
            (before, after) => Err(vec![NotComparableReason::NotMeasured(before, after)]),
        };
        let is_program = |cell: &Cell<'_>| cell.set.plan.is_trained_by_command(cell.info);
        Some(Samples {
            comparable,
            drifts: match self {
                Self::CpuTime | Self::Energy => true,
                // The memory of a program of the user depends on its files, whose sizes are not recorded.
                Self::Memory => is_program(draft.before) || is_program(draft.after),
                Self::GpuMemory => false,
            },
            ..found
        })
    }

    /// The logarithm of the largest ratio of medians that two builds can have without a real difference.
    fn offset(self, runs: &Samples) -> f64 {
        let smaller = [&runs.before, &runs.after].map(|side| median(side));
        let smaller = smaller.into_iter().flatten().reduce(f64::min);
        let smaller = smaller.filter(|_| self == Self::Memory);
        smaller.map_or(0.0, |bytes| (FILE_PAGES / bytes).ln_1p())
    }
}

/// The verdict, or "same" if the effect is no larger than `offset`, the largest log ratio of equal runs.
fn beyond(offset: f64, verdict: Verdict, ratio: Option<Ratio>) -> Verdict {
    let is_within = ratio.is_some_and(|ratio| ratio.value.ln().abs() <= offset);
    match verdict {
        Verdict::Less | Verdict::More if is_within => Verdict::Unclear(UnclearReason::FilePages),
        verdict => verdict,
    }
}

/// The verdict on a time as one on a cost: faster becomes less, slower more.
fn worded(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Faster => Verdict::Less,
        Verdict::Slower => Verdict::More,
        Verdict::Unclear(UnclearReason::NoSessionFloor) => {
            Verdict::Unclear(UnclearReason::OtherSession)
        }
        verdict => verdict,
    }
}

/// The costs of all pairs of cells.
pub(super) struct Costs {
    /// For each pair of cells the costs that a side has measured.
    pub(super) of_cells: Vec<Vec<CostChange>>,
    pub(super) over_cells: Vec<CostOverCells>,
}

impl Costs {
    /// Judges each cost of all pairs of cells.
    pub(super) fn of(drafts: &[Draft<'_>], asked: VerdictOptions) -> Self {
        let mut costs = Self {
            of_cells: drafts.iter().map(|_| Vec::new()).collect(),
            over_cells: Vec::new(),
        };
        for cost in Cost::ALL {
            let found = drafts.iter().enumerate();
            let found = found.filter_map(|(place, draft)| Some((place, cost.samples(draft)?)));
            let (places, samples): (Vec<usize>, Vec<Samples>) = found.unzip();
            if !samples.is_empty() {
                costs.add(cost, &places, &samples, asked);
            }
        }
        costs
    }

    fn add(&mut self, cost: Cost, places: &[usize], samples: &[Samples], asked: VerdictOptions) {
        let verdicts = judge(samples, asked);
        let cells = verdicts.cells.into_iter().zip(samples).zip(places);
        for ((judgement, runs), place) in cells {
            let are_equal = cost.is_memory() && runs.are_equal();
            let verdict = if are_equal {
                Verdict::Same
            } else {
                let verdict = worded(judgement.verdict);
                beyond(cost.offset(runs), verdict, judgement.ratio)
            };
            self.of_cells[*place].push(CostChange {
                cost,
                medians: (median(&runs.before), median(&runs.after)),
                judgement: Judgement {
                    verdict,
                    ..judgement
                },
            });
        }
        let compared = samples.iter().filter(|runs| runs.comparable.is_ok());
        let offsets: Vec<f64> = compared.map(|runs| cost.offset(runs)).collect();
        let offset = mean(&offsets).unwrap_or_default();
        let matrix = verdicts.matrix.map(|matrix| MatrixJudgement {
            verdict: beyond(offset, worded(matrix.verdict), Some(matrix.ratio)),
            ..matrix
        });
        self.over_cells.push(CostOverCells {
            cost,
            matrix,
            needed_runs: verdicts.needed_runs,
        });
    }
}

#[cfg(test)]
mod tests;
