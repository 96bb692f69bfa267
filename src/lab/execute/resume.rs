//! [`decide_runs`]: which runs of a plan are needed, which are kept, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::event::{RunId, Status};
use crate::plan::{Feasibility, PlannedCell};
use crate::results::by_key;
use crate::results::store::{RunConditions, RunKeys, Store, StoredRun, code_parts};

use super::PrecisionTracker;

/// Options of the user that decide which stored runs are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a options of its own"
)]
pub struct ResumeOptions {
    /// `--fresh`: all runs are repeated.
    pub fresh: bool,
    /// `--retry`: failed runs run again.
    pub retry: bool,
    /// Stored runs count whatever machine and settings measured them: if several machines share a plan, any of them may
    /// have executed a run.
    pub any_conditions: bool,
    /// Stored runs count even without their checkpoint file, which may be on the machine that executed them.
    pub without_checkpoints: bool,
}

/// Whether a run is executed, taken from the store, or left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// A stored run with this status is used.
    Keep(Status),
    /// The run is needed.
    Run(RunReason),
    /// The run is not needed: the times of its cell are already precise (`measure.until`).
    NotNeeded,
}

/// Why a run is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunReason {
    /// No similar run was ever finished.
    New,
    /// All runs are repeated (`--fresh`).
    Fresh,
    /// `--retry`: the stored run ended with this status.
    Retry(Status),
    /// These parts of the cell changed (`train.optimizer`, `data`).
    Cell(Vec<String>),
    /// These parts of the code changed (`ops/conv2d`).
    Code(Vec<String>),
    /// The stored run ended with this status under other `[limits]` than today's.
    Limits(Status),
    /// The stored results were computed with another device or other vector instructions (numeric class), named here.
    NumericClass(String),
    /// The stored results are still valid, but the times were measured under these other conditions (such as threads).
    Times(Vec<&'static str>),
    /// The stored run is valid, but was not profiled, and `measure.ops` requests a profile.
    Profile,
    /// The stored run is valid, but its checkpoint file (`train.save-to`) is missing.
    Checkpoint,
}

impl fmt::Display for RunReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => f.write_str("new"),
            Self::Fresh => f.write_str("--fresh"),
            Self::Retry(status) => write!(f, "--retry: was {status}"),
            Self::Cell(parts) => write!(f, "{} changed", parts.join(", ")),
            Self::Code(parts) => write!(f, "code: {}", parts.join(", ")),
            Self::Limits(status) => write!(f, "limits changed: was {status}"),
            Self::NumericClass(was) => write!(f, "numeric class: was {was}"),
            Self::Times(parts) => write!(f, "timed with other {}", parts.join(", ")),
            Self::Profile => f.write_str("measure.ops: its operations were not profiled"),
            Self::Checkpoint => f.write_str("checkpoint missing"),
        }
    }
}

/// Decides about every run of the cells that can run: blocks × cells × seeds, in plan order.
///
/// `cells` are the selected ones, each with its row in the whole plan. The times of kept runs are added to `until`;
/// with it, cells may have more repeats than `measure.repeats`.
pub fn decide_runs<'a>(
    cells: impl IntoIterator<Item = (usize, &'a PlannedCell)>,
    store: &Store,
    conditions: &RunConditions,
    options: ResumeOptions,
    mut until: Option<&mut PrecisionTracker>,
) -> Vec<(RunId, Decision)> {
    let by_key = by_key(store.runs(), |run| &run.key);
    let mut decisions = Vec::new();
    for (row, cell) in cells {
        if cell.feasibility != Feasibility::Runs {
            continue;
        }
        let measure = &cell.spec.measure;
        let (least, most) = (measure.repeats, measure.max_repeats());
        for block in 0..until.as_ref().map_or(least, |_| most) {
            for &seed in &measure.seeds {
                let keys = conditions.keys(cell, seed, block);
                let id = RunId {
                    cell: row,
                    seed,
                    block,
                };
                let decided = decision(cell, &keys, store, &by_key, options);
                if let (Some(until), Decision::Keep(status)) = (&mut until, &decided) {
                    let run = serving(store, &keys, options).next();
                    let times = run.and_then(|run| run.times.as_deref());
                    until.add(id, &cell.spec, *status, times);
                }
                decisions.push((id, decided));
            }
        }
    }
    if let Some(until) = until {
        for (id, decision) in &mut decisions {
            if matches!(decision, Decision::Run(_)) && !until.needs(*id) {
                *decision = Decision::NotNeeded;
            }
        }
    }
    decisions
}

/// The stored runs whose results are valid for `keys` and, unless `any_conditions` is set, whose conditions fit too.
fn serving<'a>(
    store: &'a Store,
    keys: &'a RunKeys,
    options: ResumeOptions,
) -> impl Iterator<Item = &'a StoredRun> + Clone {
    let facts = store.runs_of(&keys.cell_hash).iter();
    let facts = facts.filter(|run| run.keys.has_same_facts_as(keys));
    let differences = |run: &StoredRun| run.keys.conditions.differences(&keys.conditions);
    facts.filter(move |run| options.any_conditions || differences(run).is_empty())
}

fn decision(
    cell: &PlannedCell,
    keys: &RunKeys,
    store: &Store,
    by_key: &BTreeMap<&str, Vec<&StoredRun>>,
    options: ResumeOptions,
) -> Decision {
    if options.fresh {
        return Decision::Run(RunReason::Fresh);
    }
    let same_cell = store.runs_of(&keys.cell_hash);
    let mut facts = same_cell
        .iter()
        .filter(|run| run.keys.has_same_facts_as(keys));
    let is_wanted = cell.spec.measure.is_profiled_run(keys.seed, keys.block);
    let lacks_profile =
        |run: &StoredRun| is_wanted && run.status == Status::Done && !run.is_profiled;
    let mut serving = serving(store, keys, options);
    let profiled = serving.clone().find(|run| !lacks_profile(run));
    if let Some(run) = profiled.or_else(|| serving.next()) {
        return if options.retry && run.status.is_failure() {
            Decision::Run(RunReason::Retry(run.status))
        } else if !StoredRun::would_end_the_same(run.status, &run.limits, &cell.spec.limits) {
            Decision::Run(RunReason::Limits(run.status))
        } else if lacks_profile(run) {
            Decision::Run(RunReason::Profile)
        } else if lacks_checkpoint(cell, run) && !options.without_checkpoints {
            Decision::Run(RunReason::Checkpoint)
        } else {
            Decision::Keep(run.status)
        };
    }
    if let Some(run) = facts.next() {
        let differences = run.keys.conditions.differences(&keys.conditions);
        return Decision::Run(RunReason::Times(differences));
    }
    let same_run = |run: &&StoredRun| run.keys.seed == keys.seed && run.keys.block == keys.block;
    if same_cell.iter().any(|run| same_run(&run)) {
        let earlier = same_cell.iter().filter(same_run);
        return Decision::Run(other_code_or_class(cell, keys, store, earlier));
    }
    let earlier = by_key.get(cell.spec.key.as_str()).into_iter().flatten();
    Decision::Run(other_cell(cell, earlier.copied().filter(same_run)))
}

/// Whether a checkpoint of the run is missing. Only finished runs of the first block write checkpoints.
fn lacks_checkpoint(cell: &PlannedCell, run: &StoredRun) -> bool {
    run.keys.block == 0 && run.facts.is_some() && cell.spec.lacks_checkpoint(run.keys.seed)
}

/// Why stored runs of the cell do not count: another numeric class, if one has the same code; else the parts of the
/// code that changed since the stored run that differs in the fewest parts.
fn other_code_or_class<'a>(
    cell: &PlannedCell,
    keys: &RunKeys,
    store: &Store,
    earlier: impl Iterator<Item = &'a StoredRun> + Clone,
) -> RunReason {
    let is_same_code = |run: &&StoredRun| run.keys.code_hash == keys.code_hash;
    if let Some(run) = earlier.clone().find(is_same_code) {
        return RunReason::NumericClass(run.keys.numeric_class.to_string());
    }
    let now = code_parts(&cell.spec);
    let parts = earlier
        .filter_map(|run| store.code_parts(&run.keys.code_hash))
        .map(|then| differing(then, &now))
        .min_by_key(Vec::len);
    RunReason::Code(parts.unwrap_or_else(|| vec!["unknown".into()]))
}

/// Why stored runs of this key do not count: the parts of the cell that changed since the stored run that differs in
/// the fewest parts; [`RunReason::New`] if there is no such run.
fn other_cell<'a>(cell: &PlannedCell, earlier: impl Iterator<Item = &'a StoredRun>) -> RunReason {
    earlier
        .map(|run| differing(&run.hash_parts, &StoredRun::hash_parts(cell)))
        .filter(|parts| !parts.is_empty())
        .min_by_key(Vec::len)
        .map_or(RunReason::New, RunReason::Cell)
}

/// Names whose values differ, or that exist on one side only.
fn differing(then: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<String> {
    let names: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
    let differing = names
        .into_iter()
        .filter(|name| then.get(*name) != now.get(*name));
    differing.cloned().collect()
}
