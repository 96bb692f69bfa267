//! [`collect`]: adds the runs in the journals of all shards to the store.

use std::path::{Path, PathBuf};

use crate::build_info::{CodeTarget, code_hash};
use crate::record::{Disagreement, RecordError, check_equal_facts};
use crate::results::relative_to_current_dir;
use crate::results::store::{JournalEntries, Store, StoredRun, journals};

/// Result of [`collect`]: numbers of journals and runs, and the damage found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectSummary {
    /// Number of journals.
    pub journals: usize,
    /// Number of runs that were added to the store.
    pub taken: usize,
    /// Number of runs that were not added, because the store has the same run or one that takes precedence.
    pub known: usize,
    /// Number of runs by builds with another code hash. They are in the store too, but not part of this build's
    /// results.
    pub of_other_code: usize,
    /// Damaged lines of journals, as `path:line`; they are skipped.
    pub damaged: Vec<String>,
    /// Journals with an incomplete last line: a run is just being written, or the writer was killed.
    pub torn: Vec<PathBuf>,
}

/// Adds the runs of all journals in the results folder to `store`, ordered by number of shards, then by shard. The
/// journals do not change; at the next call, runs that the store has are skipped.
///
/// # Errors
/// [`RecordError::Results`] if a file cannot be read or written; [`RecordError::Disagreement`] if two CPU runs of one
/// cell, seed, block, code and numeric class have different facts. Runs added before the error stay in the store.
pub fn collect(store: &mut Store, results: &Path) -> Result<CollectSummary, RecordError> {
    let mut collected = CollectSummary::default();
    let current = [CodeTarget::Cpu, CodeTarget::Gpu].map(|of| code_hash(of).into());
    for journal in journals(results)? {
        collected.journals += 1;
        let mut entries = JournalEntries::of(&journal.path)?;
        while let Some(entry) = entries.next() {
            let entry = entry?;
            check(store, &entry.run, &entries)?;
            let is_current = current.contains(&entry.run.keys.code_hash);
            collected.of_other_code += usize::from(!is_current && !is_of_command(&entry.run));
            let is_new = store.add_entry(entry)?;
            collected.taken += usize::from(is_new);
            collected.known += usize::from(!is_new);
        }
        let path = relative_to_current_dir(&journal.path);
        let path = path.display();
        let damaged = entries.damaged.iter().map(|line| format!("{path}:{line}"));
        collected.damaged.extend(damaged);
        collected
            .torn
            .extend(entries.is_torn.then_some(journal.path));
    }
    Ok(collected)
}

/// Whether the run is of a `command` model: a program of the user executed it.
fn is_of_command(run: &StoredRun) -> bool {
    // Only cells of commands have this part in their hash. The run's times would tell too, but a failed run may have
    // none.
    run.hash_parts.contains_key("arguments")
}

/// Checks that a run, the last one read from `entries`, has the same facts as the store's runs of equal cell, seed,
/// block, code and numeric class.
fn check(store: &Store, run: &StoredRun, entries: &JournalEntries) -> Result<(), Disagreement> {
    // Not checked for GPUs, whose libraries may be nondeterministic (column `nondeterministic`), and for commands.
    if is_of_command(run) || !run.keys.numeric_class.ends_with("-cpu") {
        return Ok(());
    }
    let others = store.runs_of(&run.keys.cell_hash).iter();
    let mut others = others.filter(|other| other.keys.has_same_facts_as(&run.keys));
    others.try_for_each(|other| {
        let places = || [store.place(&other.keys), entries.last_location()];
        check_equal_facts(other, run, places)
    })
}
