//! [`Journal`]: what one share of a plan has finished, in one file that is only ever appended to.
//!
//! ```text
//! reports/<name>/shards/<i>-of-<n>.jsonl        one line for every finished run: an [`Entry`] as JSON
//! ```
//! A line is written whole, flushed and synced before the run counts as kept. What ends the program, or the disk, in the
//! middle of a line leaves a last line without its end: the next start cuts it off, and does that run again. A line is
//! all that the store keeps of a run, so that a journal can be carried to another machine by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::event::Profile;
use crate::results::Environment;
use crate::results::Share;

use super::{StoreError, StoredRun, entries};

/// Version of a journal's lines.
const JOURNAL_VERSION: u32 = 1;

/// Folder of a results folder's journals.
const FOLDER: &str = "shards";

/// How often, and how far apart, a lock is asked for: a look at the journal (`status`) locks it for a moment.
const TRIES: u32 = 5;
const TRY_EVERY: Duration = Duration::from_millis(100);

/// A line of a journal: one finished run with everything that belongs to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Version of the line.
    journal: u32,
    /// The run, with its steps.
    pub run: StoredRun,
    /// Parts of its code hash; in the first line of each code only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<BTreeMap<String, String>>,
    /// Its environment; in the first line of each environment only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) environment: Option<Environment>,
    /// Its profile, with spans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) profile: Option<Profile>,
    /// Its images in base64, by their digests.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) images: BTreeMap<String, String>,
}

/// What belongs to the run that is kept next.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    pub(super) profile: Option<Profile>,
    pub(super) images: BTreeMap<String, String>,
}

/// A journal that is open for writing.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines.
    length: u64,
    /// Why it is not locked, where the file system has no locks.
    pub(super) unlocked: Option<String>,
    codes: BTreeSet<String>,
    environments: BTreeMap<String, Environment>,
    /// Where workers write images.
    pub(super) temporary: TempDir,
    waiting: Mutex<Waiting>,
}

impl Journal {
    /// Opens the journal of `share` in the results folder, cuts off a torn last line, and hands every run to `see`.
    pub(super) fn open(
        results: &Path,
        share: Share,
        see: &mut dyn FnMut(StoredRun),
    ) -> Result<(Self, Vec<usize>), StoreError> {
        let folder = results.join(FOLDER);
        fs::create_dir_all(&folder).map_err(StoreError::system("create", &folder))?;
        let path = journal_path(results, share);
        let mut options = OpenOptions::new();
        let file = options.create(true).read(true).append(true).open(&path);
        let file = file.map_err(refused_at(&path))?;
        let unlocked = lock(&file, &path)?;
        let temporary = TempDir::with_prefix("fieldtrial-");
        let mut journal = Self {
            file,
            length: 0,
            unlocked,
            codes: BTreeSet::new(),
            environments: BTreeMap::new(),
            temporary: temporary.map_err(StoreError::system("create", &std::env::temp_dir()))?,
            waiting: Mutex::default(),
            path,
        };
        let mut lines = Entries::of(&journal.path)?;
        for entry in &mut lines {
            let mut entry = entry?;
            journal.remember(&entry);
            entry.run.take_steps();
            see(entry.run);
        }
        journal.length = lines.whole_bytes;
        journal.cut().map_err(refused_at(&journal.path))?;
        Ok((journal, lines.damaged))
    }

    /// Its file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What belongs to the run that is kept next.
    pub(super) fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a run with what waits for it; it is on the disk when this returns.
    pub(super) fn append(
        &mut self,
        run: &StoredRun,
        code: Option<&BTreeMap<String, String>>,
        environment: Option<&Environment>,
    ) -> Result<(), StoreError> {
        let waiting = std::mem::take(&mut *self.waiting());
        let env_id = &run.keys.conditions.env_id;
        let known = self.environments.get(env_id);
        let entry = Entry {
            journal: JOURNAL_VERSION,
            run: run.clone(),
            code: code
                .filter(|_| !self.codes.contains(&run.keys.code_hash))
                .cloned(),
            environment: environment.filter(|now| Some(*now) != known).cloned(),
            profile: waiting.profile,
            images: waiting.images,
        };
        let written = self.write(&entry);
        if written.is_err() {
            // What a full disk has cut off must not stand before the next line. The next start does the same.
            let _ = self.cut();
        }
        written.map_err(refused_at(&self.path))?;
        self.remember(&entry);
        Ok(())
    }

    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.file.sync_data()?;
        self.length += line.len() as u64;
        Ok(())
    }

    /// Leaves whole lines only.
    fn cut(&mut self) -> io::Result<()> {
        if self.file.seek(SeekFrom::End(0))? > self.length {
            self.file.set_len(self.length)?;
            self.file.sync_data()?;
        }
        Ok(())
    }

    fn remember(&mut self, entry: &Entry) {
        if entry.code.is_some() {
            self.codes.insert(entry.run.keys.code_hash.clone());
        }
        if let Some(environment) = &entry.environment {
            let env_id = entry.run.keys.conditions.env_id.clone();
            self.environments.insert(env_id, environment.clone());
        }
    }
}

/// The whole lines of a journal, one after the other. A line that is no run is left out, and its number kept.
#[derive(Debug)]
pub struct Entries {
    lines: BufReader<File>,
    path: PathBuf,
    line: usize,
    /// Bytes of the whole lines so far.
    whole_bytes: u64,
    /// Numbers, from 1, of lines that are no runs: they count as not there.
    pub damaged: Vec<usize>,
    /// Whether the last line has no end: it is being written, or what wrote it was killed.
    pub is_torn: bool,
}

impl Entries {
    /// Those of the journal at `path`.
    ///
    /// # Errors
    /// [`StoreError::System`].
    pub fn of(path: &Path) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(StoreError::system("read", path))?;
        Ok(Self {
            lines: BufReader::with_capacity(1 << 16, file),
            path: path.to_owned(),
            line: 0,
            whole_bytes: 0,
            damaged: Vec::new(),
            is_torn: false,
        })
    }

    fn read(&mut self) -> Result<Option<Entry>, StoreError> {
        loop {
            let mut line = Vec::new();
            let read = self.lines.read_until(b'\n', &mut line);
            read.map_err(StoreError::system("read", &self.path))?;
            if line.last() != Some(&b'\n') {
                self.is_torn = !line.is_empty();
                return Ok(None);
            }
            self.line += 1;
            self.whole_bytes += line.len() as u64;
            match serde_json::from_slice::<Entry>(&line) {
                Ok(entry) if entry.journal == JOURNAL_VERSION => return Ok(Some(entry)),
                _ => check_version(&self.path, &line)?,
            }
            self.damaged.push(self.line);
        }
    }
}

impl Iterator for Entries {
    type Item = Result<Entry, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// A journal in a results folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalFile {
    /// The file.
    pub path: PathBuf,
    /// Whose it is.
    pub share: Share,
}

impl JournalFile {
    /// Whether a program writes to it now; `false` also where the file system has no locks.
    pub fn is_in_use(&self) -> bool {
        let file = File::open(&self.path);
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }
}

/// The journals of a results folder, by number of shares, then by share; none where there is no such folder.
///
/// # Errors
/// [`StoreError::System`].
pub fn journals(results: &Path) -> Result<Vec<JournalFile>, StoreError> {
    let paths = entries(&results.join(FOLDER))?;
    let mut files: Vec<JournalFile> = paths
        .into_iter()
        .filter_map(|path| {
            let share = share_of(&path)?;
            Some(JournalFile { path, share })
        })
        .collect();
    files.sort_by_key(|file| file.share);
    Ok(files)
}

/// The journal of a share in a results folder.
pub fn journal_path(results: &Path, share: Share) -> PathBuf {
    let name = format!("{}-of-{}.jsonl", share.index(), share.of());
    results.join(FOLDER).join(name)
}

fn share_of(path: &Path) -> Option<Share> {
    let name = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    name.replacen("-of-", "/", 1).parse().ok()
}

/// Locks the file for as long as it is open; answers with why it could not be, where the file system has no locks.
fn lock(file: &File, path: &Path) -> Result<Option<String>, StoreError> {
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(None),
            Err(TryLockError::Error(error)) => return Ok(Some(error.to_string())),
            Err(TryLockError::WouldBlock) => thread::sleep(TRY_EVERY),
        }
    }
    Err(StoreError::Locked {
        folder: path.to_owned(),
        holder: "another program".to_owned(),
    })
}

fn refused_at(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    StoreError::system("write", path)
}

/// A line of another version is refused, not skipped: its run would be done again for nothing.
fn check_version(path: &Path, line: &[u8]) -> Result<(), StoreError> {
    #[derive(Deserialize)]
    struct Version {
        journal: u32,
    }
    match serde_json::from_slice(line) {
        Ok(Version { journal }) if journal != JOURNAL_VERSION => Err(StoreError::OtherVersion {
            folder: path.to_owned(),
            found: journal.to_string(),
        }),
        _ => Ok(()),
    }
}
