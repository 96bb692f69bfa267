//! [`Fingerprints`]: cached digests of data files, so that planning reads a folder only once.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::datasets::FingerprintCache;
use crate::plan::{PlanInputs, results_root};

/// The digests in `reports/.store/fingerprints.json`, shared by all experiments in the same folder.
pub(super) struct Fingerprints {
    path: PathBuf,
    cache: Arc<Mutex<FingerprintCache>>,
}

impl Fingerprints {
    /// The cache in the manifest's results root; empty if the file is missing or cannot be read.
    pub(super) fn beside(manifest: &Path) -> Self {
        let path = results_root(manifest).join(".store/fingerprints.json");
        let text = fs::read(&path).unwrap_or_default();
        let cache: FingerprintCache = serde_json::from_slice(&text).unwrap_or_default();
        Self {
            path,
            cache: Arc::new(Mutex::new(cache)),
        }
    }

    /// This machine and build, with the cached digests.
    pub(super) fn inputs(&self) -> PlanInputs {
        PlanInputs::remembering(Arc::clone(&self.cache))
    }

    /// Writes the cache if it has new digests and a results root. Errors are ignored: they only make planning slower.
    pub(super) fn keep(&self) {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = self.path.parent();
        let has_root = folder.and_then(Path::parent).is_some_and(Path::is_dir);
        if cache.is_changed() && has_root {
            let _ = folder.map(|folder| self.write(folder, &cache));
        }
    }

    /// Renames the file into place, so that other commands never see part of it.
    fn write(&self, folder: &Path, cache: &FingerprintCache) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec(cache)?)?;
        file.persist(&self.path)?;
        Ok(())
    }
}
