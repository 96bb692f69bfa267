//! [`Fingerprints`]: cached digests of data files, so that planning reads a folder only once.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::file;
use crate::base::temporary::remove_abandoned;
use crate::datasets::FingerprintCache;
use crate::plan::{PlanInputs, results_root};
use crate::results::{create_folder, write_if_changed};

/// The digests in `reports/.store/fingerprints.json`, shared by all experiments in the same folder.
pub(super) struct Fingerprints {
    path: PathBuf,
    cache: Arc<Mutex<FingerprintCache>>,
    inputs: PlanInputs,
}

impl Fingerprints {
    /// The cache in the manifest's results root; empty if the file is missing or cannot be read.
    pub(super) fn of_results_root(manifest: &Path) -> Self {
        let path = results_root(manifest).join(".store/fingerprints.json");
        let text = file::read(&path).unwrap_or_default();
        let cache: FingerprintCache = serde_json::from_slice(&text).unwrap_or_default();
        let cache = Arc::new(Mutex::new(cache));
        let inputs =
            PlanInputs::with_fingerprint_cache(Arc::clone(&cache), |told| eprintln!("{told}"));
        Self {
            path,
            cache,
            inputs,
        }
    }

    /// The planner's inputs about this machine and build, with the cached digests. Slow checks print a message; the
    /// commands of `requires` run once for all plans.
    pub(super) fn inputs(&self) -> PlanInputs {
        self.inputs.without_cached_data_facts()
    }

    /// Writes the cache to disk if it has new digests and there is a results folder. Errors are ignored, since they
    /// only make planning slower.
    pub(super) fn write_to_disk(&self) {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(folder) = self.path.parent() else {
            return;
        };
        if cache.is_changed() && folder.parent().is_some_and(Path::is_dir) {
            let _ = create_folder(folder).and_then(|()| {
                remove_abandoned(folder);
                write_if_changed(&self.path, &serde_json::to_vec(&*cache).unwrap_or_default())
            });
        }
    }
}
