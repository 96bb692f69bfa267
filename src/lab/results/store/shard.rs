//! A store that writes to the [journal](super::journal) of one share; opened by [`Store::open_shard`].

use std::path::Path;

use crate::results::{ResultsError, Share};

use super::journal::{Journal, JournalEntry};
use super::samples::sample_path;
use super::{JournalEntries, Store, StoredRun, journals};

impl Store {
    /// Opens the journal of `share` for writing, and reads the other known runs of the plan: from the store of
    /// `results`, if it exists, and from journals of plans with other numbers of shares. Only the journal is ever
    /// written to.
    ///
    /// # Errors
    /// [`ResultsError`]; nothing has changed then, except that missing folders may have been created.
    pub fn open_shard(results: &Path, share: Share) -> Result<Self, ResultsError> {
        let mut store = Self::read(results)?;
        for other in journals(results)? {
            if other.share.share_count() != share.share_count() {
                for entry in JournalEntries::of(&other.path)? {
                    let mut run = entry?.run;
                    run.take_steps();
                    store.add_to_index(run);
                }
            }
        }
        let (journal, damaged) = Journal::open(results, share, &mut |run| store.add_to_index(run))?;
        let path = journal.path.display();
        let damaged = damaged.iter().map(|line| format!("{path}:{line}").into());
        store.damaged.extend(damaged);
        store.journal = Some(journal);
        Ok(store)
    }

    /// Whether runs go to a journal; such a store does not contain all results of the plan.
    pub fn is_shard(&self) -> bool {
        self.journal.is_some()
    }

    /// The journal that runs are written to.
    pub fn journal(&self) -> Option<&Path> {
        Some(&self.journal.as_ref()?.path)
    }

    /// Why the journal is not locked, if the file system has no locks.
    pub fn why_unlocked(&self) -> Option<&str> {
        self.journal.as_ref()?.unlocked.as_deref()
    }

    /// Adds a journal's run to the index without writing it; it replaces a run with the same keys if it takes
    /// precedence.
    pub fn add_to_index(&mut self, run: StoredRun) {
        let old = self.runs_of(&run.keys.cell_hash).iter();
        let old = old.into_iter().find(|other| other.keys == run.keys);
        if old.is_none_or(|old| supersedes(&run, old)) {
            self.insert(run);
        }
    }

    /// Moves a journal's run into the store, with all its data; false if the store already has it, or a run with the
    /// same keys that takes precedence.
    ///
    /// Of two runs with the same keys, one with facts takes precedence over one without, then the later one (by the
    /// clocks of their machines), else the existing one.
    ///
    /// # Errors
    /// [`ResultsError::System`].
    pub fn add_entry(&mut self, mut entry: JournalEntry) -> Result<bool, ResultsError> {
        let keys = entry.run.keys.clone();
        if let Some(parts) = entry.code.take() {
            self.put_code(&keys.code_hash, parts)?;
        }
        // The environment is only in the first line that has it; later lines refer to it by `env_id`.
        let env_id = &keys.conditions.env_id;
        let known = || self.environments.get(&**env_id).cloned();
        if let Some(environment) = entry.environment.take().or_else(known) {
            let session = entry.run.session.as_deref().unwrap_or_default();
            self.put_environment_of((env_id, session), environment)?;
        }
        let runs = self.runs_of(&keys.cell_hash);
        let old = runs.iter().find(|other| other.keys == keys);
        if old.is_some_and(|old| !supersedes(&entry.run, old)) {
            return Ok(false);
        }
        // A profile of the same code on the same machine is kept when a rerun without profiling replaces the run.
        entry.run.is_profiled |= old.is_some_and(|old| old.is_profiled);
        for (digest, bytes) in entry.images() {
            self.write_atomically(sample_path(digest), &bytes)?;
        }
        if let Some(profile) = &entry.profile {
            self.put_profile(&keys, profile)?;
        }
        self.put(entry.run)?;
        Ok(true)
    }
}

fn supersedes(new: &StoredRun, old: &StoredRun) -> bool {
    fn rank(run: &StoredRun) -> (bool, Option<&str>, Option<f64>) {
        (run.facts.is_some(), run.session.as_deref(), run.start_s)
    }
    rank(new) > rank(old)
}

#[cfg(test)]
mod tests;
