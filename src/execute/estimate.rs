//! [`estimate`]: how long the runs of a plan will take, from what earlier runs took.

use std::collections::HashMap;

use crate::base::statistics::median;
use crate::event::{RunId, Status};
use crate::plan::PlannedCell;
use crate::results::store::{Store, StoredRun};

use super::Decision;

/// An expected time. It is an estimate: nothing of it was measured for these runs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// Seconds of all runs whose time can be guessed, one after the other.
    pub seconds: f64,
    /// Runs of cells that were measured before.
    pub from_same_cell: usize,
    /// Runs whose arithmetic was measured before, at other sizes.
    pub from_same_work: usize,
    /// Runs of which nothing is known; their time is not in `seconds`.
    pub unknown: usize,
}

/// Adds up the expected times of all runs that have to run.
///
/// A run of a cell that was measured takes the median of what its runs took. Else the seconds per sample of runs with
/// the same work signature, times the cell's samples, and their time outside of training.
pub fn estimate(cells: &[PlannedCell], decisions: &[(RunId, Decision)], store: &Store) -> Estimate {
    let rates = rates(store);
    let mut known = HashMap::new();
    let mut sum = Estimate::default();
    for (id, decision) in decisions {
        let Decision::Run(_) = decision else { continue };
        let cell = &cells[id.cell];
        let expected = known.entry(id.cell).or_insert_with(|| {
            let same = same_cell_s(cell, store).map(|seconds| (seconds, true));
            same.or_else(|| {
                Some((
                    rates.get(cell.work_signature.as_str())?.seconds(cell),
                    false,
                ))
            })
        });
        match expected {
            Some((seconds, true)) => {
                sum.seconds += *seconds;
                sum.from_same_cell += 1;
            }
            Some((seconds, false)) => {
                sum.seconds += *seconds;
                sum.from_same_work += 1;
            }
            None => sum.unknown += 1,
        }
    }
    sum
}

fn same_cell_s(cell: &PlannedCell, store: &Store) -> Option<f64> {
    let runs = store.runs_of(&cell.cell_hash).iter();
    let done = runs.filter(|run| run.status == Status::Done);
    median(&done.map(|run| run.wall_s).collect::<Vec<_>>())
}

/// What runs with one work signature took.
struct Rate {
    per_sample_s: f64,
    beside_s: f64,
}

impl Rate {
    fn seconds(&self, cell: &PlannedCell) -> f64 {
        self.beside_s + self.per_sample_s * samples(cell) as f64
    }
}

fn rates(store: &Store) -> HashMap<&str, Rate> {
    let mut by_work: HashMap<&str, Vec<(f64, f64)>> = HashMap::new();
    for run in store.runs() {
        if let Some(rate) = rate(run) {
            by_work.entry(&run.work_signature).or_default().push(rate);
        }
    }
    let middle = |rates: Vec<(f64, f64)>| {
        let (per_sample, beside): (Vec<f64>, Vec<f64>) = rates.into_iter().unzip();
        Some(Rate {
            per_sample_s: median(&per_sample)?,
            beside_s: median(&beside)?,
        })
    };
    let rates = by_work.into_iter();
    rates
        .filter_map(|(work, rates)| Some((work, middle(rates)?)))
        .collect()
}

fn rate(run: &StoredRun) -> Option<(f64, f64)> {
    let (facts, times) = (run.facts.as_ref()?, run.times.as_ref()?);
    let per_sample = times.train_s / facts.samples as f64;
    (facts.samples > 0).then_some((per_sample, (run.wall_s - times.train_s).max(0.0)))
}

/// Samples that a run of the cell trains on, early stopping left aside.
fn samples(cell: &PlannedCell) -> usize {
    let train = &cell.spec.train;
    let step = train.batch_size * train.accumulate.max(1);
    let cap = train
        .steps_per_epoch
        .map_or(usize::MAX, |steps| steps.saturating_mul(step));
    cell.facts.train_samples.min(cap) * train.epochs
}
