//! [`Journal`]: the finished runs of one share of a plan, in one append-only file.
//!
//! ```text
//! reports/<name>/shards/<i>-of-<n>.jsonl        one line per finished run: an [`Entry`] as JSON
//! ```
//! A line is written whole, flushed and synced before the run counts as stored. A crash or a full disk in the middle of
//! a line leaves an incomplete last line; the next start cuts it off and repeats that run. Each line contains all
//! stored data of a run, so a journal can be copied to another machine alone. A line with a wrong checksum, or that is
//! not a run, is skipped: the shard repeats that run and appends it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::base::file;
use crate::base::hash::Digest;
use crate::event::Profile;
use crate::results::files::entries;
use crate::results::{Environment, ResultsError, Share, relative_to_current_dir};

use super::checksum::{is_sealed, seal, unseal};
use super::lock::try_to_lock;
use super::stored_run::{StoredRun, is_image_digest};

/// Version of the journal's line format.
const JOURNAL_VERSION: u32 = 1;

/// Folder of the journals inside a results folder.
const FOLDER: &str = "shards";

/// A line of a journal: one finished run with all its data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Version of the line.
    journal: u32,
    /// The run, including its steps.
    pub run: StoredRun,
    /// Parts of the run's code hash; only in the first line with this code hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) code: Option<BTreeMap<String, String>>,
    /// The run's environment; only in the first line with this environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) environment: Option<Environment>,
    /// The run's profile, including spans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) profile: Option<Profile>,
    /// The run's images in base64, by digest.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) images: BTreeMap<String, String>,
}

impl JournalEntry {
    /// The run's images, by digest.
    pub(super) fn images(&self) -> impl Iterator<Item = (&str, Vec<u8>)> {
        let images = self.images.iter();
        images.map(|(digest, text)| (&**digest, STANDARD.decode(text).unwrap_or_default()))
    }

    /// Whether the IDs and the digests of images are valid: they become names of files.
    fn is_sound(&self) -> bool {
        let mut images = self.images();
        self.run.is_sound()
            && images.all(|(digest, bytes)| {
                is_image_digest(digest) && Digest::new().with(&bytes).short() == digest
            })
    }
}

/// Profile and images of the run that is appended next.
#[derive(Debug, Default)]
pub(super) struct NextRunData {
    pub(super) profile: Option<Profile>,
    pub(super) images: BTreeMap<String, String>,
}

#[derive(Debug)]
pub(super) struct Journal {
    pub(super) path: PathBuf,
    file: File,
    /// Total size of the complete lines in bytes.
    length: u64,
    /// Why the file is not locked, if the file system has no locks.
    pub(super) unlocked: Option<String>,
    codes: BTreeSet<String>,
    environments: BTreeMap<String, Environment>,
    /// Where workers write images: the folder `<i>-of-<n>.images` beside the file.
    pub(super) temporary: TempDir,
    waiting: Mutex<NextRunData>,
}

impl Journal {
    /// Opens the journal of `share` in the results folder, cuts off an incomplete last line, and passes every run to
    /// `see`.
    pub(super) fn open(
        results: &Path,
        share: Share,
        see: &mut dyn FnMut(StoredRun),
    ) -> Result<(Self, Vec<usize>), ResultsError> {
        let folder = results.join(FOLDER);
        fs::create_dir_all(&folder).map_err(ResultsError::system("create", &folder))?;
        let path = journal_path(results, share);
        let mut options = OpenOptions::new();
        let file = options.create(true).read(true).append(true).open(&path);
        let file = file.map_err(ResultsError::system("write", &path))?;
        let unlocked = lock(&file, &path)?;
        let temporary = images_of(&path);
        let mut journal = Self {
            file,
            length: 0,
            unlocked,
            codes: BTreeSet::new(),
            environments: BTreeMap::new(),
            temporary: temporary.map_err(ResultsError::system("create", &folder))?,
            waiting: Mutex::default(),
            path,
        };
        let mut lines = JournalEntries::of(&journal.path)?;
        for entry in &mut lines {
            let mut entry = entry?;
            journal.remember(&entry);
            entry.run.take_steps();
            see(entry.run);
        }
        journal.length = lines.whole_bytes;
        let cut = journal.cut();
        cut.map_err(ResultsError::system("write", &journal.path))?;
        Ok((journal, lines.damaged))
    }

    /// Locks the mutex and returns profile and images of the run that is appended next.
    pub(super) fn next_run_data(&self) -> MutexGuard<'_, NextRunData> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends a run with the data from [`Self::waiting`]; the line is synced to disk on return.
    pub(super) fn append(
        &mut self,
        run: &StoredRun,
        code: Option<&BTreeMap<String, String>>,
        environment: Option<&Environment>,
    ) -> Result<(), ResultsError> {
        let waiting = std::mem::take(&mut *self.next_run_data());
        let env_id = &run.keys.conditions.env_id;
        let known = self.environments.get(env_id);
        let is_new = !self.codes.contains(&*run.keys.code_hash);
        let entry = JournalEntry {
            journal: JOURNAL_VERSION,
            run: run.clone(),
            code: code.filter(|_| is_new).cloned(),
            environment: environment.filter(|now| Some(*now) != known).cloned(),
            profile: waiting.profile,
            images: waiting.images,
        };
        let written = self.write(&entry);
        if written.is_err() {
            // Removes a partly written line (full disk), which would damage the next one. If that fails too, the next
            // start removes it.
            let _ = self.cut();
        }
        written.map_err(ResultsError::system("write", &self.path))?;
        self.remember(&entry);
        Ok(())
    }

    fn write(&mut self, entry: &JournalEntry) -> io::Result<()> {
        let mut line = seal(serde_json::to_vec(entry)?);
        line.push(b'\n');
        self.file.write_all(&line)?;
        self.file.sync_data()?;
        self.length += line.len() as u64;
        Ok(())
    }

    /// Truncates the file to its complete lines.
    fn cut(&mut self) -> io::Result<()> {
        if self.file.seek(SeekFrom::End(0))? > self.length {
            self.file.set_len(self.length)?;
            self.file.sync_data()?;
        }
        Ok(())
    }

    fn remember(&mut self, entry: &JournalEntry) {
        if entry.code.is_some() {
            self.codes.insert(entry.run.keys.code_hash.to_string());
        }
        if let Some(environment) = &entry.environment {
            let env_id = entry.run.keys.conditions.env_id.clone();
            self.environments.insert(env_id, environment.clone());
        }
    }
}

/// Iterates over the complete lines of a journal. A damaged line is skipped, and its number recorded.
#[derive(Debug)]
pub struct JournalEntries {
    lines: BufReader<File>,
    path: PathBuf,
    line: usize,
    /// Total size of the complete lines read so far, in bytes.
    whole_bytes: u64,
    /// Whether the last line had a checksum.
    is_checked: bool,
    /// Numbers, from 1, of skipped lines: not a run, a wrong checksum, or IDs that are not digests.
    pub damaged: Vec<usize>,
    /// Whether the last line is incomplete: it is being written, or its writer was killed.
    pub is_torn: bool,
}

impl JournalEntries {
    /// The entries of the journal at `path`.
    ///
    /// # Errors
    /// [`ResultsError::System`].
    pub fn of(path: &Path) -> Result<Self, ResultsError> {
        let file = file::open(path).map_err(ResultsError::system("read", path))?;
        Ok(Self {
            lines: BufReader::with_capacity(1 << 16, file),
            path: path.to_owned(),
            line: 0,
            whole_bytes: 0,
            is_checked: false,
            damaged: Vec::new(),
            is_torn: false,
        })
    }

    /// Position of the entry that was read last.
    pub fn last_location(&self) -> RecordLocation {
        let path = relative_to_current_dir(&self.path);
        RecordLocation {
            name: format!("{}:{}", path.display(), self.line),
            is_checked: self.is_checked,
        }
    }

    fn read(&mut self) -> Result<Option<JournalEntry>, ResultsError> {
        loop {
            let mut line = Vec::new();
            let read = self.lines.read_until(b'\n', &mut line);
            read.map_err(ResultsError::system("read", &self.path))?;
            if line.last() != Some(&b'\n') {
                self.is_torn = !line.is_empty();
                return Ok(None);
            }
            self.line += 1;
            self.whole_bytes += line.len() as u64;
            line.pop();
            self.is_checked = is_sealed(&line);
            if let Some(entry) = self.entry(line)? {
                return Ok(Some(entry));
            }
            self.damaged.push(self.line);
        }
    }

    /// The entry of a line without its line break; `None` if the line is damaged.
    fn entry(&self, line: Vec<u8>) -> Result<Option<JournalEntry>, ResultsError> {
        // Without a valid checksum the line's version is unknown too.
        let Some(json) = unseal(line) else {
            return Ok(None);
        };
        match serde_json::from_slice::<JournalEntry>(&json) {
            Ok(entry) if entry.journal == JOURNAL_VERSION => {
                Ok(Some(entry).filter(JournalEntry::is_sound))
            }
            _ => check_version(&self.path, &json).map(|()| None),
        }
    }
}

impl Iterator for JournalEntries {
    type Item = Result<JournalEntry, ResultsError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// A journal in a results folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalFile {
    /// The journal's file.
    pub path: PathBuf,
    /// The share of the plan that the journal belongs to.
    pub share: Share,
}

impl JournalFile {
    /// Whether a program is writing to it; `false` also if the file system has no locks.
    pub fn is_in_use(&self) -> bool {
        let file = file::open(&self.path);
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }
}

/// The journals of a results folder, sorted by number of shares, then by share; none if the folder does not exist.
///
/// # Errors
/// [`ResultsError::System`].
pub fn journals(results: &Path) -> Result<Vec<JournalFile>, ResultsError> {
    let paths = entries(&results.join(FOLDER))?;
    let file = |path: PathBuf| {
        let share = share_of(&path)?;
        Some(JournalFile { path, share })
    };
    let mut files: Vec<JournalFile> = paths.into_iter().filter_map(file).collect();
    files.sort_by_key(|file| file.share);
    Ok(files)
}

/// The folder `<i>-of-<n>.images` beside a journal, which the caller has locked. A folder left by a killed program is
/// removed first.
fn images_of(journal: &Path) -> io::Result<TempDir> {
    let path = journal.with_extension("images");
    match fs::remove_dir_all(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let name = path.file_name().unwrap_or_default();
    let mut builder = tempfile::Builder::new();
    let folder = path.parent().unwrap_or(Path::new(""));
    builder.prefix(name).rand_bytes(0).tempdir_in(folder)
}

/// Path of a share's journal in a results folder.
pub fn journal_path(results: &Path, share: Share) -> PathBuf {
    let name = format!("{}-of-{}.jsonl", share.index(), share.share_count());
    results.join(FOLDER).join(name)
}

fn share_of(path: &Path) -> Option<Share> {
    let name = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
    name.replacen("-of-", "/", 1).parse().ok()
}

/// Locks the file until it is closed; returns the reason if the file system has no locks.
fn lock(file: &File, path: &Path) -> Result<Option<String>, ResultsError> {
    match try_to_lock(file) {
        Ok(()) => Ok(None),
        Err(TryLockError::Error(error)) => Ok(Some(error.to_string())),
        Err(TryLockError::WouldBlock) => Err(ResultsError::Locked {
            folder: path.to_owned(),
            holder: "another program".to_owned(),
        }),
    }
}

/// Refuses a line of another version instead of skipping it: skipping would repeat its run.
fn check_version(path: &Path, line: &[u8]) -> Result<(), ResultsError> {
    #[derive(Deserialize)]
    struct Version {
        journal: u32,
    }
    match serde_json::from_slice(line) {
        Ok(Version { journal }) if journal != JOURNAL_VERSION => Err(ResultsError::OtherVersion {
            path: path.to_owned(),
            found: journal.to_string(),
            expected: JOURNAL_VERSION,
        }),
        _ => Ok(()),
    }
}

/// Where a run is stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordLocation {
    /// The path of a file of the store, or `path:line` of a journal.
    pub name: String,
    /// Whether the record has a valid checksum.
    pub is_checked: bool,
}
