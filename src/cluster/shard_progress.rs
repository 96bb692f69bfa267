//! [`ShardProgress`]: finished and remaining runs of every shard, from the journals alone.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::build_info::{Arithmetic, code_hash};
use crate::device::DeviceKind;
use crate::event::{RunId, Status, numeric_class};
use crate::execute::{Decision, ResumeOptions, decide};
use crate::plan::{Plan, PlannedCell, Precision};
use crate::results::store::{Entries, JournalFile, RunConditions, Store, journals};
use crate::results::{ResultsError, Share};

/// Progress of one shard, and its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardProgress {
    /// The shard.
    pub share: Share,
    /// Number of runs that are done, in any journal or the store.
    pub done: usize,
    /// Number of runs that failed.
    pub failed: usize,
    /// Number of runs that remain.
    pub left: usize,
    /// Last modification of the shard's journal; `None` if it has none.
    pub changed: Option<SystemTime>,
    /// Whether a program has the shard's journal open for writing.
    pub is_in_use: bool,
}

/// The content of all journals of a results folder and its store, read without changing them.
///
/// # Errors
/// [`ResultsError`].
pub fn everything(plan: &Plan) -> Result<Store, ResultsError> {
    let mut store = Store::read(&plan.results_folder)?;
    for journal in journals(&plan.results_folder)? {
        for entry in Entries::of(&journal.path)? {
            let mut run = entry?.run;
            run.take_steps();
            store.add_to_index(run);
        }
    }
    Ok(store)
}

/// By cell hash: the numeric class of most runs of the cell by the current code, unless it is this machine's class.
///
/// A machine that only shows or merges results may have another numeric class than those that measured.
pub fn classes(store: &Store) -> HashMap<String, String> {
    let codes = [Arithmetic::Cpu, Arithmetic::Gpu].map(|of| code_hash(of).into());
    let mut counts: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    let runs = store.runs();
    for run in runs.filter(|run| codes.contains(&run.keys.code_hash)) {
        let of_cell = counts.entry(&run.keys.cell_hash).or_default();
        *of_cell.entry(&run.keys.numeric_class).or_default() += 1;
    }
    let own = [
        (DeviceKind::Cpu, Precision::F32),
        (DeviceKind::Cpu, Precision::Bf16),
        (DeviceKind::Cuda(0), Precision::F32),
    ];
    let own = own.map(|(device, precision)| numeric_class(device, precision));
    let mut classes = HashMap::new();
    for (cell, counts) in counts {
        let most = counts.values().max().copied();
        let mut first = counts.iter().filter(|(_, count)| Some(**count) == most);
        let is_own = |class: &str| own.iter().any(|own| own == class);
        if first.clone().all(|(class, _)| !is_own(class))
            && let Some((class, _)) = first.next()
        {
            classes.insert(cell.to_owned(), (*class).to_owned());
        }
    }
    classes
}

/// Every run of the chosen cells, and whether `store` contains a result that makes it done.
pub fn decisions(
    plan: &Plan,
    cells: &[PlannedCell],
    store: &Store,
    conditions: &RunConditions,
) -> Vec<(RunId, Decision)> {
    let cells = cells.iter().enumerate();
    let chosen = cells.filter(|(_, cell)| plan.is_selected(cell));
    let options = ResumeOptions {
        any_conditions: true,
        without_checkpoints: true,
        ..ResumeOptions::default()
    };
    decide(chosen, store, conditions, options, None)
}

/// Progress of each of `of` shards, from the shard index of every run and its status; `None` for a run that remains.
///
/// # Errors
/// [`ResultsError`], if the journals cannot be listed.
pub fn shards_progress(
    results: &Path,
    of: usize,
    runs: impl IntoIterator<Item = (usize, Option<Status>)>,
) -> Result<Vec<ShardProgress>, ResultsError> {
    let journals = journals(results)?;
    let shard_progress = |share: Share| {
        let journal = journals.iter().find(|journal| journal.share == share);
        ShardProgress {
            share,
            done: 0,
            failed: 0,
            left: 0,
            changed: journal.and_then(changed),
            is_in_use: journal.is_some_and(JournalFile::is_in_use),
        }
    };
    let mut shards_progress: Vec<ShardProgress> = Share::all(of).map(shard_progress).collect();
    for (index, status) in runs {
        let Some(shard_progress) = shards_progress.get_mut(index.wrapping_sub(1)) else {
            continue;
        };
        match status {
            None => shard_progress.left += 1,
            Some(status) if status.is_failure() => shard_progress.failed += 1,
            Some(_) => shard_progress.done += 1,
        }
    }
    Ok(shards_progress)
}

/// Last modification of a journal.
pub fn changed(journal: &JournalFile) -> Option<SystemTime> {
    fs::metadata(&journal.path).ok()?.modified().ok()
}
