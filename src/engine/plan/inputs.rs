//! [`PlanInputs`]: what the planner may ask about this machine, its files and this build.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::datasets::{DatasetError, DatasetFacts, DatasetSpec, FingerprintCache};
use crate::device::DeviceKind;

use super::memo::Part;
use super::probe::{DeviceAnswer, device_facts};

/// Facts that are kept. Beyond it they are asked for again: an axis over a generator's settings has as many as values.
const CAPACITY: usize = 1 << 14;

type FactsOf = dyn Fn(&DatasetSpec, f64) -> Result<DatasetFacts, DatasetError> + Send + Sync;
type DeviceOf = dyn Fn(DeviceKind) -> DeviceAnswer + Send + Sync;

/// Answers of the world outside the manifest. Planning asks and never changes anything.
#[derive(Clone)]
pub struct PlanInputs {
    inner: Arc<Inner>,
}

struct Inner {
    facts: Box<FactsOf>,
    device: Box<DeviceOf>,
    /// Facts by digest of the dataset and bits of the validation share: a fingerprint of a folder reads every file.
    known: Mutex<HashMap<(Arc<str>, u64), Facts>>,
}

/// Facts of a dataset, or why there are none.
pub type Facts = Result<Arc<DatasetFacts>, Arc<DatasetError>>;

impl std::fmt::Debug for PlanInputs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PlanInputs")
    }
}

impl PlanInputs {
    /// A world that answers as the two functions do.
    pub fn new(
        facts: impl Fn(&DatasetSpec, f64) -> Result<DatasetFacts, DatasetError> + Send + Sync + 'static,
        device: impl Fn(DeviceKind) -> DeviceAnswer + Send + Sync + 'static,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                facts: Box::new(facts),
                device: Box::new(device),
                known: Mutex::default(),
            }),
        }
    }

    /// This machine and this build.
    pub fn of_this_machine() -> Self {
        Self::remembering(Arc::default())
    }

    /// This machine and this build, with digests of files from earlier; new ones are added to them.
    pub fn remembering(fingerprints: Arc<Mutex<FingerprintCache>>) -> Self {
        let facts = move |dataset: &DatasetSpec, fraction: f64| {
            let mut known = fingerprints.lock().unwrap_or_else(PoisonError::into_inner);
            dataset.facts(fraction, &mut known)
        };
        Self::new(facts, device_facts)
    }

    /// Facts of `dataset` with `validation_fraction` of its training rows kept for validation.
    pub(super) fn facts(&self, dataset: &Part<DatasetSpec>, validation_fraction: f64) -> Facts {
        let name = (Arc::clone(&dataset.digest), validation_fraction.to_bits());
        let mut known = self
            .inner
            .known
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let ask = || {
            let facts = (self.inner.facts)(&dataset.value, validation_fraction);
            facts.map(Arc::new).map_err(Arc::new)
        };
        if known.len() >= CAPACITY && !known.contains_key(&name) {
            return ask();
        }
        known.entry(name).or_insert_with(ask).clone()
    }

    /// What `device` says of itself.
    ///
    /// # Errors
    /// Why it is not here, as a sentence.
    pub fn device(&self, device: DeviceKind) -> DeviceAnswer {
        (self.inner.device)(device)
    }

    /// Whether `device` is here, or why not.
    ///
    /// # Errors
    /// The reason, as a sentence.
    pub fn presence(&self, device: DeviceKind) -> Result<(), String> {
        self.device(device).map(drop)
    }

    /// Digest over the bytes of a file; `None` where it cannot be read.
    pub(super) fn file_digest(path: &Path) -> Option<String> {
        let mut hasher = blake3::Hasher::new();
        let mut file = std::fs::File::open(path).ok()?;
        std::io::copy(&mut file, &mut hasher).ok()?;
        Some(hasher.finalize().to_hex().to_string())
    }
}
