//! Digests of a dataset's content, and a cache of digests, so that unchanged files are not read again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::DatasetError;
use crate::base::file;

/// Cache of file digests and other facts read from files, by path, size and modification time, so that planning reads
/// each file only once.
///
/// Serialised to JSON by the caller; [`FingerprintCache::is_changed`] returns whether there is anything new to write.
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
    /// Facts read from the file as JSON, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    facts: BTreeMap<String, String>,
}

/// Size and modification time of a file; if they differ, the file was modified.
pub(super) struct State {
    pub(super) bytes: u64,
    pub(super) modified_ns: u64,
    /// Whether the file is old enough that any later change gives it another modification time.
    pub(super) is_settled: bool,
}

impl State {
    pub(super) fn of(path: &Path) -> Result<Self, DatasetError> {
        let unreadable = |error| DatasetError::unreadable(path, &error);
        let metadata = fs::metadata(path).map_err(unreadable)?;
        let modified = metadata.modified().map_err(unreadable)?;
        Ok(Self {
            bytes: metadata.len(),
            modified_ns: modified
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_nanos() as u64),
            is_settled: modified.elapsed().is_ok_and(|age| age.as_secs() >= 2),
        })
    }

    fn is_of(&self, entry: &Entry) -> bool {
        (entry.bytes, entry.modified_ns) == (self.bytes, self.modified_ns)
    }
}

impl FingerprintCache {
    /// Whether a digest or fact was added since the cache was created or read.
    pub fn is_changed(&self) -> bool {
        self.changed
    }

    /// Digest of the file's bytes; the file is read only if path, size or modification time are new.
    ///
    /// A file modified less than two seconds ago is not cached: it may change again within the resolution of its
    /// modification time.
    pub(crate) fn file_digest(&mut self, path: &Path) -> Result<String, DatasetError> {
        let unreadable = |error| DatasetError::unreadable(path, &error);
        let state = State::of(path)?;
        let key = path.to_string_lossy();
        if let Some(entry) = self.files.get(key.as_ref())
            && state.is_of(entry)
        {
            return Ok(entry.digest.clone());
        }
        let mut hasher = blake3::Hasher::new();
        let mut file = file::open(path).map_err(unreadable)?;
        hasher.update_reader(&mut file).map_err(unreadable)?;
        let digest = hasher.finalize().to_hex().to_string();
        if state.is_settled {
            let entry = Entry {
                bytes: state.bytes,
                modified_ns: state.modified_ns,
                digest: digest.clone(),
                facts: BTreeMap::new(),
            };
            self.files.insert(key.into_owned(), entry);
            self.changed = true;
        }
        Ok(digest)
    }

    /// The result of `read`, cached under `name` until the file changes; not cached if the file's digest is not. Errors
    /// are not cached; a cached value that cannot be parsed is computed again.
    pub(crate) fn cached_fact<T: Serialize + DeserializeOwned>(
        &mut self,
        path: &Path,
        name: &str,
        read: impl FnOnce() -> Result<T, DatasetError>,
    ) -> Result<T, DatasetError> {
        let state = State::of(path)?;
        let key = path.to_string_lossy();
        let entry = self.files.get_mut(key.as_ref());
        let entry = entry.filter(|entry| state.is_of(entry));
        let known = entry.as_ref().and_then(|entry| entry.facts.get(name));
        if let Some(fact) = known.and_then(|known| serde_json::from_str(known).ok()) {
            return Ok(fact);
        }
        let fact = read()?;
        if let (Some(entry), Ok(text)) = (entry, serde_json::to_string(&fact)) {
            entry.facts.insert(name.to_owned(), text);
            self.changed = true;
        }
        Ok(fact)
    }

    /// Whether a fact of the file in its current state is cached under `name`.
    pub(super) fn has_cached_fact(&self, path: &Path, name: &str) -> bool {
        let entry = self.files.get(path.to_string_lossy().as_ref());
        let entry = entry.filter(|entry| entry.facts.contains_key(name));
        entry.is_some_and(|entry| State::of(path).is_ok_and(|state| state.is_of(entry)))
    }

    /// Digest of names and bytes of `files`, in the given order. Names are relative to the dataset.
    pub(crate) fn files_digest<'a>(
        &mut self,
        files: impl IntoIterator<Item = (&'a str, &'a Path)>,
    ) -> Result<String, DatasetError> {
        let mut hasher = blake3::Hasher::new();
        for (name, path) in files {
            hasher.update(&(name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
            hasher.update(self.file_digest(path)?.as_bytes());
        }
        Ok(hasher.finalize().to_hex().to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datasets::testing;

    #[test]
    fn a_file_is_read_again_only_after_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut cache = FingerprintCache::default();
        let mut asked = 0;
        let write = |text: &str, age: u64| {
            fs::write(&path, text).unwrap();
            testing::age(&path, age);
        };
        let mut ask = |cache: &mut FingerprintCache, name: &str| {
            cache.file_digest(&path).unwrap();
            cache.cached_fact(&path, name, || {
                asked += 1;
                Ok(asked.to_string())
            })
        };
        write("one", 100);
        let answers = ["rows", "rows", "image"].map(|name| ask(&mut cache, name).unwrap());
        assert_eq!(answers, ["1", "1", "2"]);
        let text = serde_json::to_string(&cache).unwrap();
        let mut read: FingerprintCache = serde_json::from_str(&text).unwrap();
        assert_eq!(ask(&mut read, "rows").unwrap(), "1");
        write("other", 50);
        assert_eq!(ask(&mut cache, "rows").unwrap(), "3");
        // The file was just written and may change again with the same modification time, so its fact is not cached.
        write("third", 0);
        let answers = ["rows", "rows"].map(|name| ask(&mut cache, name).unwrap());
        assert_eq!(answers, ["4", "5"]);
    }
}
