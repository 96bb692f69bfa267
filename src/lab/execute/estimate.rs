//! [`Estimator`]: estimates the duration of a plan's runs from earlier runs on this machine.

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::base::statistics::median;
use crate::event::{RunId, Status};
use crate::plan::PlannedCell;
use crate::results::store::{RunConditions, Store, StoredRun};

use super::Decision;

/// The total time of runs that have not been executed yet, estimated from earlier runs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Estimate {
    /// Seconds of all runs that can be estimated, executed one after the other.
    pub seconds: f64,
    /// Number of runs estimated from earlier runs of the same cell.
    pub from_same_cell: usize,
    /// Number of runs estimated from similar cells: same work with other training settings, or same kind with another size.
    pub from_like_cells: usize,
    /// Number of runs without an estimate; their time is not in `seconds`.
    pub unknown: usize,
    /// Whether early stopping may shorten some of these runs: for cells that have not run, `seconds` includes all epochs.
    pub is_upper_bound: bool,
}

/// The earlier runs that an expected time is based on, all complete and on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EstimateBasis {
    /// Earlier runs of the cell.
    SameCell,
    /// Earlier runs of the same model, data and loss with other training settings: batch size, epochs, optimizer.
    SameWork,
    /// Earlier runs of the same kind of model, data and loss, with up to eight times more or fewer FLOPs per sample.
    SameKind,
}

/// The expected time of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExpectedRunTime {
    /// Expected wall seconds of the run, from process start to end.
    pub seconds: f64,
    /// What the estimate is based on.
    pub basis: EstimateBasis,
}

/// Largest ratio of FLOPs per sample between two cells for which a time is scaled: small models are bound by memory and
/// thread latency, large ones by compute, and no rule converts between them.
const FARTHEST: f64 = 8.0;

/// Estimates run durations from finished runs on this machine and build ([`RunConditions::env_id`]), including those in
/// neighbouring results folders.
///
/// An estimate uses earlier runs of the same cell, else the nearest cell (by samples and batch size) with the same work,
/// else the nearest one of the same kind. From another cell it takes the time per sample of training and validation (for the
/// same kind scaled by the ratio of FLOPs) times the cell's samples, plus the remaining time: process start, data, model.
/// The first block's costly evaluation is added if it was measured. Runs with equal thread count and equal exclusiveness are
/// preferred.
#[derive(Debug)]
pub struct Estimator<'a> {
    store: &'a Store,
    conditions: &'a RunConditions,
    own: Costs,
    /// Run durations in the stores of neighbouring results folders, read when this store has no similar run.
    others: OnceCell<Costs>,
}

impl<'a> Estimator<'a> {
    /// An estimator based on `store` and its neighbouring stores.
    pub fn new(store: &'a Store, conditions: &'a RunConditions) -> Self {
        Self {
            store,
            conditions,
            own: Costs::of(store.runs(), conditions),
            others: OnceCell::new(),
        }
    }

    /// The expected time of a run of `cell` in `block`; `None` if there is no similar run on this machine.
    pub fn expected_run_time(&self, cell: &PlannedCell, block: usize) -> Option<ExpectedRunTime> {
        let all = [
            EstimateBasis::SameCell,
            EstimateBasis::SameWork,
            EstimateBasis::SameKind,
        ];
        all.into_iter().find_map(|basis| {
            let own = self.own.expected(cell, basis, self.conditions, block);
            let others = || self.others().expected(cell, basis, self.conditions, block);
            let seconds = own.or_else(others)?;
            Some(ExpectedRunTime { seconds, basis })
        })
    }

    /// Number of concurrent runs.
    pub fn jobs(&self) -> usize {
        self.conditions.jobs
    }

    fn others(&self) -> &Costs {
        self.others.get_or_init(|| {
            let stores = self.store.siblings();
            Costs::of(stores.iter().flat_map(Store::runs), self.conditions)
        })
    }

    /// Sums the expected times of all runs that are needed.
    pub fn total(&self, cells: &[PlannedCell], decisions: &[(RunId, Decision)]) -> Estimate {
        let mut known = HashMap::new();
        let mut sum = Estimate::default();
        for (id, decision) in decisions {
            let Decision::Run(_) = decision else { continue };
            let expected = known.entry((id.cell, id.block == 0));
            let expected =
                expected.or_insert_with(|| self.expected_run_time(&cells[id.cell], id.block));
            match expected {
                Some(expected) => sum.add(*expected, &cells[id.cell]),
                None => sum.unknown += 1,
            }
        }
        sum
    }
}

impl Estimate {
    fn add(&mut self, expected: ExpectedRunTime, cell: &PlannedCell) {
        self.seconds += expected.seconds;
        self.is_upper_bound |=
            expected.basis != EstimateBasis::SameCell && cell.spec.train.early_stopping.is_some();
        match expected.basis {
            EstimateBasis::SameCell => self.from_same_cell += 1,
            EstimateBasis::SameWork | EstimateBasis::SameKind => self.from_like_cells += 1,
        }
    }
}

/// The duration of one run, in wall seconds of the whole process, by parts.
#[derive(Debug)]
struct Cost {
    threads: usize,
    is_exclusive: bool,
    /// Number of samples that the run trains on.
    samples: f64,
    step_samples: f64,
    flops: f64,
    /// Seconds of training and validation.
    work_s: f64,
    /// Seconds of process start, data, model and shutdown.
    rest_s: f64,
    /// Seconds of the first block's costly evaluation.
    assessment_s: Option<f64>,
}

impl Cost {
    fn of(run: &StoredRun) -> Option<Self> {
        let (facts, times) = (run.facts.as_ref()?, run.times.as_deref()?);
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

    /// Distance (sum of absolute log ratios) of this run's samples, and samples per step, from the given ones.
    fn distance(&self, samples: f64, step_samples: f64) -> f64 {
        let ratio = |a: f64, b: f64| ((1.0 + a) / (1.0 + b)).ln().abs();
        ratio(self.samples, samples) + ratio(self.step_samples, step_samples)
    }
}

/// Durations of finished runs, indexed by what runs have in common.
#[derive(Debug, Default)]
struct Costs {
    all: Vec<Cost>,
    /// Indices into `all`, by the run's cell, work or kind.
    known: HashMap<(EstimateBasis, String), Vec<usize>>,
}

impl Costs {
    fn of<'r>(runs: impl Iterator<Item = &'r StoredRun>, conditions: &RunConditions) -> Self {
        let mut costs = Self::default();
        let done = runs.filter(|run| run.status == Status::Done);
        for run in done.filter(|run| run.keys.conditions.env_id == conditions.env_id) {
            let Some(cost) = Cost::of(run) else { continue };
            let index = costs.all.len();
            costs.all.push(cost);
            for (basis, name) in [
                (EstimateBasis::SameCell, &*run.keys.cell_hash),
                (EstimateBasis::SameWork, &*run.work_signature),
                (EstimateBasis::SameKind, &*run.kind),
            ] {
                let known = costs.known.entry((basis, name.to_owned()));
                known.or_default().push(index);
            }
        }
        costs
    }

    fn expected(
        &self,
        cell: &PlannedCell,
        basis: EstimateBasis,
        conditions: &RunConditions,
        block: usize,
    ) -> Option<f64> {
        if self.all.is_empty() {
            return None;
        }
        let name = match basis {
            EstimateBasis::SameCell => cell.cell_hash.clone(),
            EstimateBasis::SameWork => cell.work_signature.to_string(),
            EstimateBasis::SameKind => cell.spec.kind(),
        };
        let known = self.known.get(&(basis, name))?;
        let (samples, step_samples) = samples(cell);
        let flops = cell
            .flops_per_sample
            .filter(|_| basis == EstimateBasis::SameKind);
        let ratio = |cost: &Cost| flops.map_or(1.0, |flops| flops / cost.flops);
        let known = known.iter().map(|index| &self.all[*index]);
        let near: Vec<&Cost> = known
            .filter(|cost| basis != EstimateBasis::SameKind || is_near(flops.map(|_| ratio(cost))))
            .collect();
        let (threads, is_alone) = (conditions.threads(&cell.spec), conditions.jobs <= 1);
        let is_alike = |cost: &Cost| (cost.threads == threads) && (cost.is_exclusive == is_alone);
        let has_alike = near.iter().any(|cost| is_alike(cost));
        let alike = near.iter().filter(|cost| !has_alike || is_alike(cost));
        // For cells of the same kind, the distance also contains the FLOPs per sample.
        let distance = |cost: &Cost| cost.distance(samples, step_samples) + ratio(cost).ln().abs();
        let nearest = alike.clone().map(|cost| distance(cost));
        let nearest = nearest.min_by(f64::total_cmp)?;
        let used = alike.filter(|cost| distance(cost) <= nearest + 1e-9);
        let seconds = |cost: &&&Cost| {
            let work_s = match basis {
                EstimateBasis::SameCell => cost.work_s,
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

/// Samples that a run of the cell trains on, ignoring early stopping, and its samples per step.
fn samples(cell: &PlannedCell) -> (f64, f64) {
    let train = &cell.spec.train;
    let step = train.batch_size.saturating_mul(train.accumulate.max(1));
    let cap = train
        .steps_per_epoch
        .map(|steps| steps.saturating_mul(step));
    let epoch = cell.facts.train_samples.min(cap.unwrap_or(usize::MAX));
    (epoch.saturating_mul(train.epochs) as f64, step as f64)
}
