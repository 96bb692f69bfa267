//! [`PlanInputs`]: the planner's access to this machine, its files and this build.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::datasets::{DatasetError, DatasetFacts, DatasetSpec, FingerprintCache};
use crate::device::DeviceKind;

use super::commands::{Commands, get_or_compute};
use super::memo::Part;
use super::probe::{DeviceFactsResult, device_facts};

type FactsOf = dyn Fn(&DatasetSpec, f64) -> Result<DatasetFacts, DatasetError> + Send + Sync;
type DeviceOf = dyn Fn(DeviceKind) -> DeviceFactsResult + Send + Sync;

/// What planning reads besides the manifest: facts of datasets, devices and programs. Planning changes none of them.
#[derive(Clone)]
pub struct PlanInputs {
    facts: Arc<FactsOf>,
    device: Arc<DeviceOf>,
    known: Arc<Mutex<KnownFacts>>,
    commands: Arc<Commands>,
    /// Folder that the commands' folders are relative to; `None` for the manifest's folder.
    pub(super) programs: Option<PathBuf>,
}

type KnownFacts = HashMap<(Arc<str>, u64), DatasetFactsResult>;

/// Facts of a dataset, or the error for which they are unknown.
pub type DatasetFactsResult = Result<Arc<DatasetFacts>, Arc<DatasetError>>;

impl std::fmt::Debug for PlanInputs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PlanInputs")
    }
}

impl PlanInputs {
    /// Inputs from two functions: `facts` returns the facts of a dataset, `device` those of a device.
    pub fn new(
        facts: impl Fn(&DatasetSpec, f64) -> Result<DatasetFacts, DatasetError> + Send + Sync + 'static,
        device: impl Fn(DeviceKind) -> DeviceFactsResult + Send + Sync + 'static,
    ) -> Self {
        Self {
            facts: Arc::new(facts),
            device: Arc::new(device),
            known: Arc::default(),
            commands: Arc::default(),
            programs: None,
        }
    }

    /// Inputs that describe this machine and this build.
    pub fn of_this_machine() -> Self {
        Self::with_fingerprint_cache(Arc::default(), |_| ())
    }

    /// Inputs that describe this machine and this build. The cache `fingerprints` of file digests is used and extended;
    /// `tell` gets messages about what takes long, such as the commands of `requires`.
    pub fn with_fingerprint_cache(
        fingerprints: Arc<Mutex<FingerprintCache>>,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        let commands = Commands::with_digest_cache(Arc::clone(&fingerprints), Box::new(tell));
        let commands = Arc::new(commands);
        let facts = move |dataset: &DatasetSpec, fraction: f64| {
            let mut known = fingerprints.lock().unwrap_or_else(PoisonError::into_inner);
            dataset.facts(fraction, &mut known)
        };
        Self {
            commands,
            ..Self::new(facts, device_facts)
        }
    }

    /// These inputs without the cached facts of data, which may have been generated since; cached facts of programs are
    /// kept.
    #[must_use]
    pub fn without_cached_data_facts(&self) -> Self {
        Self {
            known: Arc::default(),
            ..self.clone()
        }
    }

    /// Uses programs of commands from `folder` (of another commit's checkout); data are still read from the manifest's
    /// own folder.
    #[must_use]
    pub fn with_programs_in(mut self, folder: PathBuf) -> Self {
        self.programs = Some(folder);
        self
    }

    /// Cached information about programs and files of commands.
    pub(super) fn commands(&self) -> &Commands {
        &self.commands
    }

    /// Facts of `dataset` with `validation_fraction` of its training rows reserved for validation.
    pub(super) fn facts(
        &self,
        dataset: &Part<DatasetSpec>,
        validation_fraction: f64,
    ) -> DatasetFactsResult {
        let name = (Arc::clone(&dataset.digest), validation_fraction.to_bits());
        get_or_compute(&self.known, name, || {
            let facts = (self.facts)(&dataset.value, validation_fraction);
            facts.map(Arc::new).map_err(Arc::new)
        })
    }

    /// The facts of `device`.
    ///
    /// # Errors
    /// The device is not available; a sentence says why.
    pub fn device(&self, device: DeviceKind) -> DeviceFactsResult {
        (self.device)(device)
    }

    /// Whether `device` is available.
    ///
    /// # Errors
    /// The device is not available; a sentence says why.
    pub fn check_available(&self, device: DeviceKind) -> Result<(), String> {
        self.device(device).map(drop)
    }

    /// Digest over the bytes of a file; `None` if it cannot be read.
    pub(crate) fn file_digest(path: &Path) -> Option<String> {
        let mut hasher = blake3::Hasher::new();
        let mut file = crate::base::file::open(path).ok()?;
        std::io::copy(&mut file, &mut hasher).ok()?;
        Some(hasher.finalize().to_hex().to_string())
    }
}
