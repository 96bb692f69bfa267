//! [`Estimator`]: how long the runs of a plan will take, from what runs took on this machine.

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::base::statistics::median;
use crate::event::{RunId, Status};
use crate::plan::PlannedCell;
use crate::results::store::{RunConditions, Store, StoredRun};

use super::Decision;

/// An expected time. It is an estimate: nothing of it was measured for these runs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// Seconds of all runs whose time can be estimated, one after the other.
    pub seconds: f64,
    /// Runs of cells that have run before.
    pub from_same_cell: usize,
    /// Runs of cells like which others have run: the same work, trained otherwise, or another size of the same kind.
    pub from_like_cells: usize,
    /// Runs of which nothing is known; their time is not in `seconds`.
    pub unknown: usize,
    /// Whether early stopping may end some of these runs sooner: `seconds` has all epochs of cells that have not run.
    pub is_upper_bound: bool,
}

/// Where an expected time comes from: always whole runs on this machine, from the start of their process to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// Earlier runs of the cell.
    SameCell,
    /// Earlier runs of the same model on the same data with the same loss, trained otherwise: batch size, epochs, optimizer.
    SameWork,
    /// Earlier runs of the same kind of model, data and loss, whose samples take up to eight times more or fewer FLOPs.
    SameKind,
}

/// The expected time of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// Seconds.
    pub seconds: f64,
    /// Where they come from.
    pub basis: Basis,
}

/// Largest ratio of FLOPs per sample over which a time is carried from one cell to another: small models wait for memory and
/// threads, large ones compute, and no rule leads from one to the other.
const FARTHEST: f64 = 8.0;

/// Estimates how long runs take, from finished runs under this machine and build ([`RunConditions::env_id`]), those of other results
/// folders beside the store's among them.
///
/// A run takes what runs of its cell took. Else, from the runs of the nearest cell (in samples and batch size) of the same
/// work, else of the same kind: what training and validation took per sample (of the same kind: times the ratio of the
/// FLOPs), times the cell's samples; and what the rest took: process start, data, model. The first block's costly evaluation
/// is added where it was measured. Runs with as many threads, and as alone, count before others.
#[derive(Debug)]
pub struct Estimator<'a> {
    store: &'a Store,
    conditions: &'a RunConditions,
    own: Costs,
    /// Read when the own ones do not suffice.
    others: OnceCell<Costs>,
}

impl<'a> Estimator<'a> {
    /// An estimator from what `store` and those beside it hold.
    pub fn new(store: &'a Store, conditions: &'a RunConditions) -> Self {
        Self {
            store,
            conditions,
            own: Costs::of(store.runs(), conditions),
            others: OnceCell::new(),
        }
    }

    /// The expected time of a run of `cell` in `block`; `None` where nothing like it has run here.
    pub fn run(&self, cell: &PlannedCell, block: usize) -> Option<Expected> {
        let all = [Basis::SameCell, Basis::SameWork, Basis::SameKind];
        all.into_iter().find_map(|basis| {
            let own = self.own.expected(cell, basis, self.conditions, block);
            let others = || self.others().expected(cell, basis, self.conditions, block);
            let seconds = own.or_else(others)?;
            Some(Expected { seconds, basis })
        })
    }

    /// Runs that go on at one time.
    pub fn jobs(&self) -> usize {
        self.conditions.jobs
    }

    fn others(&self) -> &Costs {
        self.others.get_or_init(|| {
            let stores = self.store.beside();
            Costs::of(stores.iter().flat_map(Store::runs), self.conditions)
        })
    }

    /// Adds up the expected times of all runs that have to run.
    pub fn total(&self, cells: &[PlannedCell], decisions: &[(RunId, Decision)]) -> Estimate {
        let mut known = HashMap::new();
        let mut sum = Estimate::default();
        for (id, decision) in decisions {
            let Decision::Run(_) = decision else { continue };
            let expected = known.entry((id.cell, id.block == 0));
            let expected = expected.or_insert_with(|| self.run(&cells[id.cell], id.block));
            match expected {
                Some(expected) => sum.add(*expected, &cells[id.cell]),
                None => sum.unknown += 1,
            }
        }
        sum
    }
}

impl Estimate {
    fn add(&mut self, expected: Expected, cell: &PlannedCell) {
        self.seconds += expected.seconds;
        self.is_upper_bound |=
            expected.basis != Basis::SameCell && cell.spec.train.early_stopping.is_some();
        match expected.basis {
            Basis::SameCell => self.from_same_cell += 1,
            Basis::SameWork | Basis::SameKind => self.from_like_cells += 1,
        }
    }
}

/// What one run took, in whole process seconds.
#[derive(Debug)]
struct Cost {
    threads: usize,
    is_exclusive: bool,
    /// Samples trained on, and those of one step.
    samples: f64,
    step_samples: f64,
    /// FLOPs of a sample, forward.
    flops: f64,
    /// Training and validation.
    work_s: f64,
    /// Process start, data, model, the end.
    rest_s: f64,
    /// The first block's evaluation.
    assessment_s: Option<f64>,
}

impl Cost {
    fn of(run: &StoredRun) -> Option<Self> {
        let (facts, times) = (run.facts.as_ref()?, run.times.as_ref()?);
        let work_s = times.train_s + times.validation_s;
        let assessment_s = times.assessment_s.unwrap_or(0.0);
        let samples = facts.samples as f64;
        Some(Self {
            threads: run.keys.conditions.threads,
            is_exclusive: run.keys.conditions.is_exclusive,
            samples,
            step_samples: samples / facts.steps.max(1) as f64,
            flops: facts.flops_forward_per_sample,
            work_s,
            rest_s: (run.wall_s - work_s - assessment_s).max(0.0),
            assessment_s: times.assessment_s,
        })
    }

    /// How far it is from what is asked for.
    fn distance(&self, samples: f64, step_samples: f64) -> f64 {
        let ratio = |a: f64, b: f64| ((1.0 + a) / (1.0 + b)).ln().abs();
        ratio(self.samples, samples) + ratio(self.step_samples, step_samples)
    }
}

/// What finished runs took, by what they have in common.
#[derive(Debug, Default)]
struct Costs {
    all: Vec<Cost>,
    by_cell: HashMap<String, Vec<usize>>,
    by_work: HashMap<String, Vec<usize>>,
    by_kind: HashMap<String, Vec<usize>>,
}

impl Costs {
    fn of<'r>(runs: impl Iterator<Item = &'r StoredRun>, conditions: &RunConditions) -> Self {
        let mut costs = Self::default();
        let done = runs.filter(|run| run.status == Status::Done);
        for run in done.filter(|run| run.keys.conditions.env_id == conditions.env_id) {
            let Some(cost) = Cost::of(run) else { continue };
            let index = costs.all.len();
            costs.all.push(cost);
            for (map, name) in [
                (&mut costs.by_cell, &run.keys.cell_hash),
                (&mut costs.by_work, &run.work_signature),
                (&mut costs.by_kind, &run.kind),
            ] {
                map.entry(name.clone()).or_default().push(index);
            }
        }
        costs
    }

    fn expected(
        &self,
        cell: &PlannedCell,
        basis: Basis,
        conditions: &RunConditions,
        block: usize,
    ) -> Option<f64> {
        if self.all.is_empty() {
            return None;
        }
        let known = match basis {
            Basis::SameCell => self.by_cell.get(&cell.cell_hash),
            Basis::SameWork => self.by_work.get(&*cell.work_signature),
            Basis::SameKind => self.by_kind.get(&cell.spec.kind()),
        }?;
        let (samples, step_samples) = samples(cell);
        let flops = cell.flops_per_sample.filter(|_| basis == Basis::SameKind);
        let ratio = |cost: &Cost| flops.map_or(1.0, |flops| flops / cost.flops);
        let known = known.iter().map(|index| &self.all[*index]);
        let near: Vec<&Cost> = known
            .filter(|cost| basis != Basis::SameKind || is_near(flops.map(|_| ratio(cost))))
            .collect();
        let (threads, is_alone) = (conditions.threads(&cell.spec), conditions.jobs <= 1);
        let is_alike = |cost: &Cost| (cost.threads == threads) && (cost.is_exclusive == is_alone);
        let has_alike = near.iter().any(|cost| is_alike(cost));
        let alike = near.iter().filter(|cost| !has_alike || is_alike(cost));
        // Of one kind, also in the FLOPs of a sample.
        let distance = |cost: &Cost| cost.distance(samples, step_samples) + ratio(cost).ln().abs();
        let nearest = alike.clone().map(|cost| distance(cost));
        let nearest = nearest.min_by(f64::total_cmp)?;
        let used = alike.filter(|cost| distance(cost) <= nearest + 1e-9);
        let seconds = |cost: &&&Cost| {
            let work_s = match basis {
                Basis::SameCell => cost.work_s,
                _ => cost.work_s / cost.samples.max(1.0) * samples * ratio(cost),
            };
            cost.rest_s + work_s
        };
        let seconds = median(&used.clone().map(|cost| seconds(&cost)).collect::<Vec<_>>())?;
        let assessed: Vec<f64> = used.filter_map(|cost| cost.assessment_s).collect();
        let assessment = median(&assessed).filter(|_| block == 0).unwrap_or(0.0);
        Some(seconds + assessment)
    }
}

fn is_near(ratio: Option<f64>) -> bool {
    ratio.is_some_and(|ratio| (1.0 / FARTHEST..=FARTHEST).contains(&ratio))
}

/// Samples that a run of the cell trains on, early stopping left aside, and those of one step.
fn samples(cell: &PlannedCell) -> (f64, f64) {
    let train = &cell.spec.train;
    let step = train.batch_size.saturating_mul(train.accumulate.max(1));
    let cap = train
        .steps_per_epoch
        .map_or(usize::MAX, |steps| steps.saturating_mul(step));
    let all = cell
        .facts
        .train_samples
        .min(cap)
        .saturating_mul(train.epochs);
    (all as f64, step as f64)
}
