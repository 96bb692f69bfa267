//! Digests over a dataset's content, and the memory of digests that saves reading files again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::DatasetError;

/// Digests of files by path, size and time of modification, so that planning reads a file once.
///
/// Serialise it (JSON) wherever it is to be kept; [`FingerprintCache::is_changed`] says whether it is worth writing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FingerprintCache {
    files: BTreeMap<String, Entry>,
    #[serde(skip)]
    changed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    bytes: u64,
    modified_ns: u64,
    digest: String,
}

impl FingerprintCache {
    /// Whether a digest was added since it was made or read.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Digest of the file's bytes, read only where path, size or time of modification are new.
    ///
    /// A file that was modified less than two seconds ago is not remembered: it may still change within the
    /// resolution of its time.
    pub(crate) fn file(&mut self, path: &Path) -> Result<String, DatasetError> {
        let unreadable = |error| DatasetError::unreadable(path, &error);
        let metadata = fs::metadata(path).map_err(unreadable)?;
        let modified = metadata.modified().map_err(unreadable)?;
        let modified_ns = modified
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos() as u64);
        let key = path.to_string_lossy();
        if let Some(entry) = self.files.get(key.as_ref())
            && (entry.bytes, entry.modified_ns) == (metadata.len(), modified_ns)
        {
            return Ok(entry.digest.clone());
        }
        let mut hasher = blake3::Hasher::new();
        let mut file = fs::File::open(path).map_err(unreadable)?;
        hasher.update_reader(&mut file).map_err(unreadable)?;
        let digest = hasher.finalize().to_hex().to_string();
        if modified.elapsed().is_ok_and(|age| age.as_secs() >= 2) {
            let entry = Entry {
                bytes: metadata.len(),
                modified_ns,
                digest: digest.clone(),
            };
            self.files.insert(key.into_owned(), entry);
            self.changed = true;
        }
        Ok(digest)
    }

    /// Digest over names and bytes of `files`, in the given order. Names are those relative to the dataset.
    pub(crate) fn files<'a>(
        &mut self,
        files: impl IntoIterator<Item = (&'a str, &'a Path)>,
    ) -> Result<String, DatasetError> {
        let mut hasher = blake3::Hasher::new();
        for (name, path) in files {
            hasher.update(&(name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
            hasher.update(self.file(path)?.as_bytes());
        }
        Ok(hasher.finalize().to_hex().to_string())
    }
}

/// Digest of a generator's parameters.
pub(crate) fn digest(parameters: &str) -> String {
    blake3::hash(parameters.as_bytes()).to_hex().to_string()
}
