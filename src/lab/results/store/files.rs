//! Reading and writing the files of a store.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::checkpoints::FOLDER as CHECKPOINTS;
use super::checksum::{seal, unseal};
use super::{RunKeys, Store};
use crate::base::file;
use crate::results::ResultsError;
use crate::results::files::entries;

impl Store {
    /// Every valid JSON file of a folder with its path; the paths of damaged files are added to [`Store::damaged`].
    pub(super) fn read_all<T: DeserializeOwned>(
        &mut self,
        name: impl AsRef<Path>,
    ) -> Result<Vec<(PathBuf, T)>, ResultsError> {
        let mut all = Vec::new();
        for path in entries(&self.folder.join(name))? {
            let value = match file::read(&path) {
                Ok(bytes) => parse(bytes),
                Err(error) if is_no_file(&error) => None,
                Err(error) => return Err(ResultsError::system("read", &path)(error)),
            };
            match value {
                Some(value) => all.push((path, value)),
                None => self.damaged.push(path),
            }
        }
        Ok(all)
    }

    /// Moves damaged files to `damaged/`, where a user can inspect them. Only the holder of the lock may call this.
    pub(super) fn set_damaged_aside(&self, results: &Path) {
        let folder = self.folder.join("damaged");
        for path in &self.damaged {
            let below = path.strip_prefix(&self.folder);
            let below = below.or_else(|_| path.strip_prefix(results));
            let below = below.unwrap_or(path).iter();
            let name: Vec<_> = below.map(|part| part.to_string_lossy()).collect();
            let moved = fs::create_dir_all(&folder);
            // A file that cannot be moved is treated as absent too; the next run with its keys replaces it.
            let _ = moved.and_then(|()| fs::rename(path, folder.join(name.join("-"))));
        }
    }

    /// Writes a file that several runs share, such as an environment. A shard writes nothing here: its journal has the
    /// same data.
    pub(super) fn write_shared(
        &self,
        part: &str,
        name: &str,
        value: &impl Serialize,
    ) -> Result<(), ResultsError> {
        if self.is_shard() {
            return Ok(());
        }
        self.write_json(&Path::new(part).join(format!("{name}.json")), value)
    }

    pub(super) fn write_of_run(
        &self,
        keys: &RunKeys,
        part: &str,
        value: &impl Serialize,
    ) -> Result<(), ResultsError> {
        let folder = self.folder.join(part).join(&*keys.cell_hash);
        fs::create_dir_all(&folder).map_err(ResultsError::system("create", &folder))?;
        self.write_json(&keys.path(part), value)
    }

    /// Reads one of a run's files; `None` if it was never stored, cannot be read or is damaged.
    pub(super) fn read_of_run<T: DeserializeOwned>(&self, keys: &RunKeys, part: &str) -> Option<T> {
        parse(file::read(&self.folder.join(keys.path(part))).ok()?)
    }

    fn write_json(&self, name: &Path, value: &impl Serialize) -> Result<(), ResultsError> {
        let path = self.folder.join(name);
        let json = serde_json::to_vec(value)
            .map_err(|error| ResultsError::system("write", &path)(io::Error::other(error)))?;
        self.write_atomically(name, &seal(json))
    }

    pub(super) fn write_atomically(
        &self,
        name: impl AsRef<Path>,
        bytes: &[u8],
    ) -> Result<(), ResultsError> {
        let path = self.folder.join(name);
        let write = || {
            let mut file = tempfile::Builder::new().tempfile_in(self.folder.join("tmp"))?;
            file.write_all(bytes)?;
            self.make_readable(file.as_file())?;
            file.persist(&path)?;
            Ok(())
        };
        write().map_err(ResultsError::system("write", &path))
    }
}

#[cfg(unix)]
impl Store {
    /// Gives a file the read permissions of its folder: temporary files are private, but a results folder may be shared
    /// by a group.
    fn make_readable(&self, file: &fs::File) -> io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let results = fs::metadata(self.folder.join(".."))?.permissions().mode();
        file.set_permissions(fs::Permissions::from_mode(0o600 | (results & 0o044)))
    }
}

#[cfg(not(unix))]
impl Store {
    #[expect(clippy::unused_self, reason = "the same face on every system")]
    fn make_readable(&self, _: &fs::File) -> io::Result<()> {
        Ok(())
    }
}

/// Whether the error says that the path is a folder, a pipe or a device instead of a file.
fn is_no_file(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::IsADirectory | ErrorKind::InvalidInput
    )
}

/// The value of a record; `None` if it is damaged.
fn parse<T: DeserializeOwned>(bytes: Vec<u8>) -> Option<T> {
    serde_json::from_slice(&unseal(bytes)?).ok()
}

/// Paths of checkpoint files at which there is a folder, so that runs could not write the file.
pub(super) fn folders_at_checkpoint_paths(results: &Path) -> Result<Vec<PathBuf>, ResultsError> {
    let cells = entries(&results.join(CHECKPOINTS))?.into_iter();
    let mut found = Vec::new();
    for cell in cells.filter(|cell| cell.is_dir()) {
        found.extend(entries(&cell)?.into_iter().filter(|path| path.is_dir()));
    }
    Ok(found)
}
