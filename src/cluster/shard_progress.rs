//! [`ShardProgress`]: finished and remaining runs of every shard, by the journals and the store.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::build_info::{CodeTarget, code_hash};
use crate::device::DeviceKind;
use crate::event::{RunId, Status, numeric_class};
use crate::execute::{Decision, ResumeOptions, decide_runs};
use crate::plan::{Plan, PlannedCell, Precision};
use crate::results::store::{JournalEntries, JournalFile, RunConditions, Store, journals};
use crate::results::{ResultsError, Share};

/// Progress of one shard, and the state of its journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShardProgress {
    /// Index of the shard, and number of shards.
    pub share: Share,
    /// Number of the shard's runs that are done, in any journal or in the store.
    pub done: usize,
    /// Number of the shard's runs that failed.
    pub failed: usize,
    /// Number of the shard's runs that remain.
    pub left: usize,
    /// Time of the last change of the shard's journal; `None` if there is no journal.
    pub changed: Option<SystemTime>,
    /// Whether some program has the shard's journal open for writing.
    pub is_in_use: bool,
}

/// The runs of a results folder's store and of all its journals, without step times. Changes no files.
///
/// # Errors
/// [`ResultsError`] if a file cannot be read.
pub fn read_with_journals(plan: &Plan) -> Result<Store, ResultsError> {
    let mut store = Store::read(&plan.results_folder)?;
    for journal in journals(&plan.results_folder)? {
        for entry in JournalEntries::of(&journal.path)? {
            let mut run = entry?.run;
            run.take_steps();
            store.add_to_index(run);
        }
    }
    Ok(store)
}

/// For each cell hash the numeric class (vector instructions, device) of most of the cell's runs by the current code.
/// Cells whose class is one of this machine are left out.
///
/// A machine that only shows or merges results may have another numeric class than the machines that measured.
pub fn foreign_numeric_classes(store: &Store) -> HashMap<String, String> {
    let codes = [CodeTarget::Cpu, CodeTarget::Gpu].map(|of| code_hash(of).into());
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

/// For each run of the selected cells: whether `store` has a result by which it counts as done.
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
    decide_runs(chosen, store, conditions, options, None)
}

/// Progress of each of the `of` shards. `runs` has for every run the index (from 1) of its shard, and its status,
/// `None` if it remains.
///
/// # Errors
/// [`ResultsError`] if the journals cannot be listed.
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
            changed: journal.and_then(last_modified),
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

/// Time of the last change of a journal; `None` if it cannot be read.
pub fn last_modified(journal: &JournalFile) -> Option<SystemTime> {
    fs::metadata(&journal.path).ok()?.modified().ok()
}
