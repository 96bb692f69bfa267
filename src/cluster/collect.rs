//! [`collect`]: the journals of all shares → the store.

use std::path::{Path, PathBuf};

use crate::build_info::{Arithmetic, code_hash};
use crate::record::{Disagreement, RecordError, agree};
use crate::results::store::{Entries, Store, StoredRun, Taken, journals};

/// What the journals held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Collected {
    /// Journals.
    pub journals: usize,
    /// Runs that the store has taken.
    pub taken: usize,
    /// Runs that it had before, or something that counts for more.
    pub known: usize,
    /// Of all runs, those of other code than this program's: they are kept and do not count.
    pub of_other_code: usize,
    /// Lines that are no runs, as `path:line`.
    pub damaged: Vec<String>,
    /// Journals whose last line has no end: a run that is being written, or was cut off.
    pub torn: Vec<PathBuf>,
}

/// Takes every journal beside `store` into it, by number of shares, then by share. Journals stay as they are; what was
/// taken once is known the next time.
///
/// # Errors
/// [`RecordError::Store`]; [`RecordError::Disagreement`], where two CPU runs of one cell, seed, block, code and numeric class
/// have other facts: our bug. What was taken before stays.
pub fn collect(store: &mut Store, results: &Path) -> Result<Collected, RecordError> {
    let mut collected = Collected::default();
    let current = [code_hash(Arithmetic::Cpu), code_hash(Arithmetic::Gpu)];
    for journal in journals(results)? {
        collected.journals += 1;
        let mut entries = Entries::of(&journal.path)?;
        for entry in &mut entries {
            let entry = entry?;
            check(store, &entry.run)?;
            collected.of_other_code += usize::from(!current.contains(&entry.run.keys.code_hash));
            match store.take(entry)? {
                Taken::Kept => collected.taken += 1,
                Taken::Known => collected.known += 1,
            }
        }
        let path = journal.path.display();
        let damaged = entries.damaged.iter().map(|line| format!("{path}:{line}"));
        collected.damaged.extend(damaged);
        collected
            .torn
            .extend(entries.is_torn.then_some(journal.path));
    }
    Ok(collected)
}

/// Holds a run against what the store has of the same facts.
fn check(store: &Store, run: &StoredRun) -> Result<(), Disagreement> {
    // On GPUs a library may give other bits every time; the row says so.
    if !run.keys.numeric_class.ends_with("-cpu") {
        return Ok(());
    }
    let others = store.runs_of(&run.keys.cell_hash).iter();
    let mut others = others.filter(|other| other.keys.share_facts(&run.keys));
    others.try_for_each(|other| agree(other, run))
}
