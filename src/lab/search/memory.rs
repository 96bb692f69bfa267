//! [`KnownRuns`]: the finished runs known to a search, of this and earlier invocations.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::event::{EpochRow, RunOutcome, Status};
use crate::plan::{CostSpec, LimitsSpec};
use crate::results::store::{RunKeys, Store, StoredRun};

use super::values::ObjectiveReader;

#[derive(Debug, Clone)]
pub(super) struct KnownRun {
    pub(super) keys: RunKeys,
    pub(super) status: Status,
    pub(super) reason: String,
    limits: LimitsSpec,
    pub(super) values: Vec<Option<f64>>,
    /// The trial's epochs, for replaying the pruner.
    pub(super) epochs: Vec<EpochRow>,
}

#[derive(Debug)]
pub(super) struct KnownRuns {
    reader: Arc<ObjectiveReader>,
    runs: HashMap<Arc<str>, Vec<KnownRun>>,
    /// Seconds from the start of each earlier invocation to the end of its last run.
    sessions: BTreeMap<Arc<str>, f64>,
    used: Used,
    cores: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Used {
    core_s: f64,
    gpu_s: f64,
}

impl Used {
    /// Adds the core and GPU seconds of a run, as the report counts them: all cores of the machine if it ran alone,
    /// else its compute threads.
    fn add(&mut self, keys: &RunKeys, wall_s: f64, cores: usize) {
        let kept = if keys.conditions.is_exclusive {
            cores
        } else {
            keys.conditions.threads
        };
        self.core_s += wall_s * kept as f64;
        if keys.numeric_class.contains("cuda") {
            self.gpu_s += wall_s;
        }
    }
}

impl KnownRuns {
    /// Starts without runs; `cores` is the number of cores counted for a run that ran alone.
    pub(super) fn new(reader: Arc<ObjectiveReader>, cores: usize) -> Self {
        Self {
            reader,
            runs: HashMap::new(),
            sessions: BTreeMap::new(),
            used: Used::default(),
            cores,
        }
    }

    /// Adds all runs of a store; with `retry`, failed runs only add to time and cost, and are run again.
    pub(super) fn add_store(&mut self, store: &Store, retry: bool) {
        for run in store.runs().filter(|run| run.keys.block == 0) {
            self.note_times(run);
            if retry && run.status.is_failure() {
                continue;
            }
            let (facts, times) = (run.facts.as_deref(), run.times.as_deref());
            self.insert(KnownRun {
                keys: run.keys.clone(),
                status: run.status,
                reason: run.reason.clone(),
                limits: run.limits.as_ref().clone(),
                values: self.reader.values(facts, times, run.wall_s, &run.epochs),
                epochs: self.reader.epochs_without_steps(&run.epochs),
            });
        }
    }

    fn note_times(&mut self, run: &StoredRun) {
        self.used.add(&run.keys, run.wall_s, self.cores);
        if let (Some(session), Some(start)) = (&run.session, run.start_s) {
            let end = self.sessions.entry(session.clone()).or_default();
            *end = end.max(start + run.wall_s);
        }
    }

    /// Total seconds of earlier invocations, each from its start to the end of its last run.
    pub(super) fn earlier_s(&self) -> f64 {
        self.sessions.values().sum()
    }

    pub(super) fn cost(&self, prices: &CostSpec) -> f64 {
        let price = |price: Option<f64>, seconds: f64| price.unwrap_or(0.0) * seconds / 3600.0;
        price(prices.core_hour, self.used.core_s) + price(prices.gpu_hour, self.used.gpu_s)
    }

    /// Adds a run that ended in this invocation.
    pub(super) fn add(&mut self, keys: RunKeys, limits: LimitsSpec, outcome: &RunOutcome) {
        self.used.add(&keys, outcome.wall_s, self.cores);
        self.insert(KnownRun {
            keys,
            status: outcome.status,
            reason: outcome.reason.clone(),
            limits,
            values: self.reader.values_of(outcome),
            epochs: self.reader.epochs_without_steps(&outcome.epochs),
        });
    }

    fn insert(&mut self, known: KnownRun) {
        let runs = self.runs.entry(known.keys.cell_hash.clone()).or_default();
        runs.retain(|other| other.keys != known.keys);
        runs.push(known);
    }

    /// Runs that match `keys`, complete or ended early, and would end the same under `limits`: complete runs first,
    /// then the longest.
    pub(super) fn find(&self, keys: &RunKeys, limits: &LimitsSpec) -> Vec<&KnownRun> {
        let runs = self.runs.get(&keys.cell_hash).into_iter().flatten();
        let matches = |known: &&KnownRun| {
            let mut whole = known.keys.clone();
            whole.until = None;
            whole.has_same_facts_as(keys)
                && StoredRun::would_end_the_same(known.status, &known.limits, limits)
        };
        let mut found: Vec<&KnownRun> = runs.filter(matches).collect();
        found.sort_by_key(|known| std::cmp::Reverse(known.keys.until.unwrap_or(usize::MAX)));
        found
    }
}
