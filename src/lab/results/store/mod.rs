//! The store (`reports/<name>/.store/`): every finished run, under its keys. The CSV files are generated from it.
//!
//! ```text
//! .store/format                                 version of this layout
//! .store/lock                                   locked by the writing program; contains its process ID
//! .store/runs/<cell hash>/<seed>-<block>-<digest over the other keys>.json      (…-until-<epochs>.json: ended there by a search)
//! .store/steps/<cell hash>/<the same name>      losses and times of its steps (not needed to resume)
//! .store/profiles/<cell hash>/<the same name>   times of its operations, if they were measured
//! .store/spans/<cell hash>/<the same name>      time spans of the profiled steps, for the trace
//! .store/samples/<digest>.png                   images of costly evaluations, by digest of their content
//! .store/codes/<code hash>.json                 the parts of a code hash, for `plan --explain`
//! .store/environments/<env id>.json             the latest one with this ID
//! .store/environments/<env id>-<session>.json   that of a session's runs, with their commit
//! .store/damaged/                               files that could not be read, or whose checksum was wrong: for inspection by the user
//! .store/tmp/                                   temporary files; emptied at every start
//! shards/<i>-of-<n>.jsonl                       outside `.store`: finished runs of the shares of a plan (`journal`)
//! ```
//! A run is written to `tmp/` and renamed, so that a file is complete or absent, even after a crash. A file that was
//! changed later has a wrong `checksum`: it is ignored, and its run is repeated.

mod checksum;
mod files;
mod index;
mod journal;
mod keys;
mod lock;

mod place;
mod profiles;
mod run_conditions;
mod samples;
mod shard;
mod siblings;
mod stored_run;

pub use index::Store;
pub use journal::{
    JournalEntries, JournalEntry, JournalFile, RecordLocation, journal_path, journals,
};
pub use keys::{Conditions, RunKeys};
pub use lock::Lock;
pub use run_conditions::{RunConditions, code_parts};
pub use stored_run::{StoredRun, StoredSample};

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::base::file;
use crate::base::temporary::remove_abandoned;
use crate::event::StepRow;

use super::files::entries;
use super::{Environment, ResultsError};
use files::folders_at_checkpoint_paths;

/// Version of the store's layout and of its files.
const STORE_VERSION: u32 = 1;

impl Store {
    /// Opens the store of `results` for writing: creates it if absent, locks it, removes temporary files of an earlier
    /// program, reads every run, and moves damaged files to `.store/damaged/`.
    ///
    /// # Errors
    /// [`ResultsError`]; nothing has changed then, except that missing folders may have been created.
    pub fn open(results: &Path) -> Result<Self, ResultsError> {
        let folder = results.join(".store");
        for part in [
            "runs",
            "steps",
            "profiles",
            "spans",
            "samples",
            "codes",
            "environments",
            "tmp",
        ] {
            let part = folder.join(part);
            fs::create_dir_all(&part).map_err(ResultsError::system("create", &part))?;
        }
        let lock = Lock::acquire(results, &folder.join("lock"))?;
        let is_new = !check_version(&folder)?;
        remove_temporaries(results);
        let mut store = Self::load(folder)?;
        store.damaged.extend(folders_at_checkpoint_paths(results)?);
        store.set_damaged_aside(results);
        if is_new {
            // A store belongs to one machine, so git must ignore it, also in a user's repository.
            store.write_atomically(".gitignore", b"*\n")?;
            store.write_atomically("format", format!("{STORE_VERSION}\n").as_bytes())?;
        }
        store.lock = Some(lock);
        Ok(store)
    }

    /// Reads the store of `results` without locking or changing anything; empty where there is none.
    ///
    /// # Errors
    /// [`ResultsError::OtherVersion`], or a folder that cannot be read.
    pub fn read(results: &Path) -> Result<Self, ResultsError> {
        let folder = results.join(".store");
        check_version(&folder)?;
        Self::load(folder)
    }

    /// Runs of a cell, with any code and from any machine.
    pub fn runs_of(&self, cell_hash: &str) -> &[StoredRun] {
        self.runs.get(cell_hash).map_or(&[], Vec::as_slice)
    }

    /// All runs, in unspecified order.
    pub fn runs(&self) -> impl Iterator<Item = &StoredRun> {
        self.runs.values().flatten()
    }

    /// The parts of a current or former code hash.
    pub fn code_parts(&self, code_hash: &str) -> Option<&BTreeMap<String, String>> {
        self.codes.get(code_hash)
    }

    /// Environments of stored runs by `env_id`.
    pub fn environments(&self) -> &BTreeMap<String, Environment> {
        &self.environments
    }

    /// Damaged files, as `path`, and damaged lines of journals, as `path:line`; they are treated as absent.
    pub fn damaged(&self) -> &[PathBuf] {
        &self.damaged
    }

    /// Stores a finished run; a run with the same keys is replaced.
    ///
    /// # Errors
    /// [`ResultsError::System`], for example on a full disk; the previous content is unchanged.
    pub fn put(&mut self, mut run: StoredRun) -> Result<(), ResultsError> {
        // Steps are stored separately, so that opening the store does not read them: a long run has a million steps.
        if let Some(journal) = &mut self.journal {
            let code = self.codes.get(&*run.keys.code_hash);
            let environment = self.environments.get(&run.keys.conditions.env_id);
            journal.append(&run, code, environment)?;
            run.take_steps();
        } else {
            let steps = run.take_steps();
            if steps.is_empty() {
                // Removes the steps of an earlier run with the same keys; usually there are none.
                let _ = fs::remove_file(self.folder.join(run.keys.path("steps")));
            } else {
                self.write_of_run(&run.keys, "steps", &steps)?;
            }
            self.write_of_run(&run.keys, "runs", &run)?;
        }
        self.insert(run);
        Ok(())
    }

    /// Adds a run to the index, replacing one with the same keys.
    fn insert(&mut self, run: StoredRun) {
        let runs = self.runs.entry(run.keys.cell_hash.clone()).or_default();
        runs.retain(|other| other.keys != run.keys);
        push(runs, run);
    }

    /// The steps of a stored run, by epoch; empty if they were never stored or cannot be read.
    pub fn steps_of(&self, keys: &RunKeys) -> Vec<Vec<StepRow>> {
        self.read_of_run(keys, "steps").unwrap_or_default()
    }

    /// When a run was stored; `None` if it is not in the store.
    pub fn stored_at(&self, keys: &RunKeys) -> Option<SystemTime> {
        let data = fs::metadata(self.folder.join(keys.path("runs")));
        data.and_then(|data| data.modified()).ok()
    }

    /// Stores the parts of the current code hash.
    ///
    /// # Errors
    /// [`ResultsError::System`].
    pub fn put_code(
        &mut self,
        hash: &str,
        parts: BTreeMap<String, String>,
    ) -> Result<(), ResultsError> {
        if !self.codes.contains_key(hash) {
            self.write_shared("codes", hash, &parts)?;
            self.codes.insert(hash.to_owned(), parts);
        }
        Ok(())
    }

    /// Stores the environment of the runs that a session measures, as that of the session and as the latest one with
    /// this ID.
    ///
    /// # Errors
    /// [`ResultsError::System`].
    pub fn put_environment_of(
        &mut self,
        (id, session): (&str, &str),
        environment: Environment,
    ) -> Result<(), ResultsError> {
        self.put_environment(&of_session(id, session), environment.clone())?;
        self.put_environment(id, environment)
    }

    /// The environment of the runs that a session measured, with the commit that they were measured at; `None` if an
    /// earlier version stored them.
    pub fn environment_of(&self, id: &str, session: &str) -> Option<&Environment> {
        self.environments.get(&of_session(id, session))
    }

    /// Stores the current environment.
    ///
    /// # Errors
    /// [`ResultsError::System`].
    pub fn put_environment(
        &mut self,
        id: &str,
        environment: Environment,
    ) -> Result<(), ResultsError> {
        if self.environments.get(id) != Some(&environment) {
            self.write_shared("environments", id, &environment)?;
            self.environments.insert(id.to_owned(), environment);
        }
        Ok(())
    }

    fn load(folder: PathBuf) -> Result<Self, ResultsError> {
        let mut store = Self {
            runs: HashMap::new(),
            codes: BTreeMap::new(),
            environments: BTreeMap::new(),
            damaged: Vec::new(),
            lock: None,
            journal: None,
            folder,
        };
        let codes = store.read_all("codes")?.into_iter();
        store.codes = codes.map(|(path, code)| (stem(&path), code)).collect();
        let environments = store.read_all("environments")?.into_iter();
        store.environments = environments
            .map(|(path, environment)| (stem(&path), environment))
            .collect();
        for cell in entries(&store.folder.join("runs"))? {
            let name = Path::new("runs").join(cell.file_name().unwrap_or_default());
            for (path, run) in store.read_all::<StoredRun>(&name)? {
                if run.is_sound() {
                    let cell = run.keys.cell_hash.clone();
                    push(store.runs.entry(cell).or_default(), run);
                } else {
                    store.damaged.push(path);
                }
            }
        }
        Ok(store)
    }
}

/// Adds a run to those of its cell. Equal parts share memory, since a long plan has a hundred thousand runs in memory.
fn push(runs: &mut Vec<StoredRun>, mut run: StoredRun) {
    if let Some(last) = runs.last() {
        run.share_with(last);
    }
    runs.push(run);
}

/// File name of a session's environment, without the colons of the time, which not every file system allows.
fn of_session(id: &str, session: &str) -> String {
    format!("{id}-{}", session.replace(':', ""))
}

/// The name of a file without its extension.
fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Whether a store of this version exists; another version is refused.
fn check_version(folder: &Path) -> Result<bool, ResultsError> {
    let found = file::read(&folder.join("format"));
    let Some(found) = found.ok().and_then(|text| String::from_utf8(text).ok()) else {
        return Ok(false);
    };
    if found.trim() == STORE_VERSION.to_string() {
        return Ok(true);
    }
    Err(ResultsError::OtherVersion {
        path: folder.to_owned(),
        found: found.trim().to_owned(),
        expected: STORE_VERSION,
    })
}

/// Removes temporary files that a killed program left. Only the holder of the lock may call this.
fn remove_temporaries(results: &Path) {
    let list = |name: &str| entries(&results.join(name)).unwrap_or_default().into_iter();
    for path in list(".store/tmp") {
        // Failure is ignored: the next start tries again.
        let _ = fs::remove_file(path);
    }
    let flat = ["", "plots", "samples", "slurm", "trace", "checkpoints"];
    let flat = flat.into_iter().map(|name| results.join(name));
    let events = list("tensorboard").flat_map(|cell| entries(&cell).unwrap_or_default());
    for folder in flat.chain(list("checkpoints")).chain(events) {
        remove_abandoned(&folder);
    }
}

#[cfg(test)]
mod tests;
