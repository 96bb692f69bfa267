//! [`collect`]: merges the journals of all shards into the store.

use std::path::{Path, PathBuf};

use crate::build_info::{Arithmetic, code_hash};
use crate::record::{Disagreement, RecordError, agree};
use crate::results::from_here;
use crate::results::store::{Entries, Store, StoredRun, journals};

/// Counts of what the journals contained.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// Number of journals.
    pub journals: usize,
    /// Number of runs added to the store.
    pub taken: usize,
    /// Number of runs that the store already had, or for which it has a run that takes precedence.
    pub known: usize,
    /// Number of runs by a build with another code hash: they are stored, but not part of this build's results.
    pub of_other_code: usize,
    /// Damaged lines, as `path:line`.
    pub damaged: Vec<String>,
    /// Journals whose last line is incomplete: a run is being written, or the writer was killed.
    pub torn: Vec<PathBuf>,
}

/// Adds all journals of the results folder to `store`, ordered by number of shards, then by shard. Journals stay
/// unchanged; runs that the store has are skipped the next time.
///
/// # Errors
/// [`RecordError::Results`]; [`RecordError::Disagreement`] if two CPU runs of one cell, seed, block, code and numeric
/// class have different facts. Runs added before stay in the store.
pub fn collect(store: &mut Store, results: &Path) -> Result<Collected, RecordError> {
    let mut collected = Collected::default();
    let current = [Arithmetic::Cpu, Arithmetic::Gpu].map(|of| code_hash(of).into());
    for journal in journals(results)? {
        collected.journals += 1;
        let mut entries = Entries::of(&journal.path)?;
        while let Some(entry) = entries.next() {
            let entry = entry?;
            check(store, &entry.run, &entries)?;
            let is_current = current.contains(&entry.run.keys.code_hash);
            collected.of_other_code += usize::from(!is_current && !is_of_command(&entry.run));
            let is_new = store.add_entry(entry)?;
            collected.taken += usize::from(is_new);
            collected.known += usize::from(!is_new);
        }
        let path = from_here(&journal.path);
        let path = path.display();
        let damaged = entries.damaged.iter().map(|line| format!("{path}:{line}"));
        collected.damaged.extend(damaged);
        collected
            .torn
            .extend(entries.is_torn.then_some(journal.path));
    }
    Ok(collected)
}

/// Whether a program of the user (`kind = "command"`) executed the run.
fn is_of_command(run: &StoredRun) -> bool {
    // Only the hash of a command's cell has this part; a failed run may lack the times from which this could be seen.
    run.hash_parts.contains_key("arguments")
}

/// Compares a run, the last of `entries`, with the store's run of the same cell, seed, block, code and numeric class.
fn check(store: &Store, run: &StoredRun, entries: &Entries) -> Result<(), Disagreement> {
    // Not compared: on GPUs a library may be nondeterministic (the row says so), and commands need not be
    // deterministic.
    if is_of_command(run) || !run.keys.numeric_class.ends_with("-cpu") {
        return Ok(());
    }
    let others = store.runs_of(&run.keys.cell_hash).iter();
    let mut others = others.filter(|other| other.keys.share_facts(&run.keys));
    others.try_for_each(|other| {
        let places = || [store.place(&other.keys), entries.place()];
        agree(other, run, places)
    })
}
