//! [`Estimator`]: how long the runs of a plan will take, from what earlier runs took or from their FLOPs.

use std::collections::HashMap;

use crate::base::statistics::median;
use crate::device::DeviceKind;
use crate::event::{RunId, Status};
use crate::plan::PlannedCell;
use crate::results::store::{Here, Store, StoredRun};

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
    /// Runs like none before, by their FLOPs.
    pub from_flops: usize,
    /// Runs of which nothing is known; their time is not in `seconds`.
    pub unknown: usize,
}

/// Floating-point operations a second that a core is assumed to do where nothing was measured: about what a convolution
/// or a matrix product reaches on a core with 256-bit vectors. Small layers reach less, wide vectors more.
pub const ASSUMED_FLOPS_PER_CORE_S: f64 = 20e9;

/// Where an expected time comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Earlier runs of the cell.
    SameCell,
    /// Earlier runs of the same arithmetic at other sizes.
    SameWork,
    /// FLOPs at [`ASSUMED_FLOPS_PER_CORE_S`].
    Flops,
}

/// The expected time of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// Seconds.
    pub seconds: f64,
    /// Where they come from.
    pub basis: Basis,
}

/// Guesses how long runs take.
///
/// A run of a cell that was measured takes the median of what its runs took. Else the seconds per sample of runs with
/// the same work signature, times the cell's samples, and their time outside of training. Else, on the CPU,
/// 3 × forward FLOPs per sample × samples ÷ (threads × [`ASSUMED_FLOPS_PER_CORE_S`]): a backward pass counts two forward
/// ones; loading, validation and start-up are left out.
#[derive(Debug)]
pub struct Estimator<'a> {
    store: &'a Store,
    here: &'a Here,
    rates: HashMap<&'a str, Rate>,
}

impl<'a> Estimator<'a> {
    /// An estimator from what `store` holds.
    pub fn new(store: &'a Store, here: &'a Here) -> Self {
        Self {
            store,
            here,
            rates: rates(store),
        }
    }

    /// The expected time of a run of `cell`; `None` where nothing is known.
    pub fn run(&self, cell: &PlannedCell) -> Option<Expected> {
        let expected = |basis| move |seconds| Expected { seconds, basis };
        let same_cell = same_cell_s(cell, self.store).map(expected(Basis::SameCell));
        let rate = || self.rates.get(&*cell.work_signature);
        let same_work = || Some(rate()?.seconds(cell)).map(expected(Basis::SameWork));
        let flops = || self.flops_s(cell).map(expected(Basis::Flops));
        same_cell.or_else(same_work).or_else(flops)
    }

    fn flops_s(&self, cell: &PlannedCell) -> Option<f64> {
        if cell.spec.train.device != DeviceKind::Cpu {
            return None;
        }
        let flops = 3.0 * cell.flops_per_sample? * samples(cell) as f64;
        Some(flops / (self.here.threads(&cell.spec) as f64 * ASSUMED_FLOPS_PER_CORE_S))
    }

    /// Adds up the expected times of all runs that have to run.
    pub fn total(&self, cells: &[PlannedCell], decisions: &[(RunId, Decision)]) -> Estimate {
        let mut known = HashMap::new();
        let mut sum = Estimate::default();
        for (id, decision) in decisions {
            let Decision::Run(_) = decision else { continue };
            let expected = known.entry(id.cell);
            match expected.or_insert_with(|| self.run(&cells[id.cell])) {
                Some(expected) => sum.add(*expected),
                None => sum.unknown += 1,
            }
        }
        sum
    }
}

impl Estimate {
    fn add(&mut self, expected: Expected) {
        self.seconds += expected.seconds;
        match expected.basis {
            Basis::SameCell => self.from_same_cell += 1,
            Basis::SameWork => self.from_same_work += 1,
            Basis::Flops => self.from_flops += 1,
        }
    }
}

fn same_cell_s(cell: &PlannedCell, store: &Store) -> Option<f64> {
    let runs = store.runs_of(&cell.cell_hash).iter();
    let done = runs.filter(|run| run.status == Status::Done);
    median(&done.map(|run| run.wall_s).collect::<Vec<_>>())
}

/// What runs with one work signature took.
#[derive(Debug)]
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
    let step = train.batch_size.saturating_mul(train.accumulate.max(1));
    let cap = train
        .steps_per_epoch
        .map_or(usize::MAX, |steps| steps.saturating_mul(step));
    cell.facts
        .train_samples
        .min(cap)
        .saturating_mul(train.epochs)
}
