//! [`StoredRun`]: one finished run as stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::event::{EpochRow, RunFacts, RunTimes, Status, StepRow};
use crate::plan::{LimitsSpec, PlannedCell};
use crate::results::{BlockRow, SampleInfo, sample_file};

use super::RunKeys;
use super::keys::is_digest;

/// One finished run: its keys, how it ended, its results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredRun {
    /// Readable key of the cell at the time of the run.
    pub key: Arc<str>,
    /// Identifies the run; all keys must match for the run to be used.
    pub keys: RunKeys,
    /// The parts of the cell hash by name, for `plan --explain`.
    pub hash_parts: Arc<BTreeMap<String, String>>,
    /// Work signature (equal for the same arithmetic per sample), for estimates.
    pub work_signature: Arc<str>,
    /// Kind signature, for estimates of similar cells: kinds of model, data and loss, algorithm, device.
    #[serde(default)]
    pub kind: Arc<str>,
    /// The limits in force; a timeout no longer counts when they change.
    pub limits: Arc<LimitsSpec>,
    /// How the run ended.
    pub status: Status,
    /// Why the run has this status, in one line; empty for `done`.
    pub reason: String,
    /// The facts. A run that timed out keeps facts, epochs and images of an earlier run with the same keys, if there is
    /// one.
    pub facts: Option<Arc<RunFacts>>,
    /// The times.
    pub times: Option<Arc<RunTimes>>,
    /// The epochs; their steps are stored separately.
    pub epochs: Arc<Vec<EpochRow>>,
    /// Images of the run's costly evaluation, stored by digest.
    #[serde(default)]
    pub samples: Vec<StoredSample>,
    /// Seconds from start to end, measured by the parent.
    pub wall_s: f64,
    /// Peak memory of the process, from `wait4`.
    pub peak_rss_bytes: Option<u64>,
    /// CPU seconds of the process, from `wait4`.
    pub cpu_s: Option<f64>,
    /// Whether the run was asked to profile its operations; the profile is stored separately.
    #[serde(default)]
    pub is_profiled: bool,
    /// Expected duration in seconds, estimated before the start.
    #[serde(default)]
    pub estimated_s: Option<f64>,
    /// The session that ran it, named by its UTC start.
    #[serde(default)]
    pub session: Option<Arc<str>>,
    /// Seconds from the start of the session to the start of the run.
    #[serde(default)]
    pub start_s: Option<f64>,
}

/// An image of a stored run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSample {
    /// Name, unique within the run.
    pub name: String,
    /// Caption, one sentence.
    pub caption: String,
    /// Digest of the file's content.
    pub digest: String,
}

impl StoredRun {
    /// The parts of a planned cell's hash by name.
    pub fn hash_parts(cell: &PlannedCell) -> BTreeMap<String, String> {
        let parts = cell.hash_parts.iter();
        let parts = parts.map(|(name, digest)| ((*name).to_owned(), digest.to_string()));
        parts.collect()
    }

    /// Whether the run's IDs are digests, so that they can be names of files.
    pub(super) fn is_sound(&self) -> bool {
        let mut samples = self.samples.iter();
        self.keys.are_sound() && samples.all(|sample| is_image_digest(&sample.digest))
    }

    /// Moves the steps out of the epochs.
    pub fn take_steps(&mut self) -> Vec<Vec<StepRow>> {
        let steps = |epoch: &mut EpochRow| std::mem::take(&mut epoch.steps);
        Arc::make_mut(&mut self.epochs)
            .iter_mut()
            .map(steps)
            .collect()
    }

    /// Shares memory with another run of the cell where both have equal parts: a repeated run has the same facts as the
    /// first.
    pub(super) fn share_with(&mut self, other: &Self) {
        share(&mut self.keys.cell_hash, &other.keys.cell_hash);
        share(&mut self.keys.code_hash, &other.keys.code_hash);
        share(&mut self.keys.numeric_class, &other.keys.numeric_class);
        share(&mut self.keys.conditions, &other.keys.conditions);
        share(&mut self.key, &other.key);
        share(&mut self.work_signature, &other.work_signature);
        share(&mut self.kind, &other.kind);
        share(&mut self.hash_parts, &other.hash_parts);
        share(&mut self.limits, &other.limits);
        share(&mut self.epochs, &other.epochs);
        share(&mut self.facts, &other.facts);
        if let (Some(own), Some(other)) = (&mut self.facts, &other.facts)
            && !Arc::ptr_eq(own, other)
        {
            // Runs of a cell with different seeds do the same work.
            share(&mut Arc::make_mut(own).work, &other.work);
        }
        share(&mut self.session, &other.session);
        if let (Some(own), Some(other)) = (&mut self.times, &other.times) {
            let own = Arc::make_mut(own);
            share(&mut own.device_memory, &other.device_memory);
            share(&mut own.gpu, &other.gpu);
        }
    }

    /// Status and reason of the run that measured the facts, for `runs.csv`; the run's own are in `blocks.csv`.
    pub fn facts_status(&self) -> (Status, &str) {
        match &self.facts {
            Some(facts) if self.status == Status::Timeout => {
                let diverged = facts.diverged.as_deref();
                diverged.map_or((Status::Done, ""), |reason| (Status::Diverged, reason))
            }
            _ => (self.status, &self.reason),
        }
    }

    /// Whether a run that ended with this status under the limits `own` would end with the same status under `limits`.
    pub fn would_end_the_same(status: Status, own: &LimitsSpec, limits: &LimitsSpec) -> bool {
        match status {
            Status::Timeout => limits.time == own.time && limits.silence == own.silence,
            Status::Oom => limits.memory == own.memory,
            _ => true,
        }
    }

    /// The run's images for `plan.json`, under the cell's current key.
    pub fn sample_infos(&self, key: &str) -> impl Iterator<Item = SampleInfo> {
        let seed = self.keys.seed;
        self.samples.iter().map(move |sample| SampleInfo {
            seed,
            name: sample.name.clone(),
            caption: sample.caption.clone(),
            file: sample_file(key, seed, &sample.name),
            digest: sample.digest.clone(),
        })
    }

    /// The run's row of `blocks.csv`, under the cell's current key.
    pub fn block_row(&self, key: &str) -> BlockRow {
        BlockRow {
            key: key.to_owned(),
            seed: self.keys.seed,
            block: self.keys.block,
            status: self.status,
            reason: self.reason.clone(),
            env_id: self.keys.conditions.env_id.clone(),
            exclusive: self.keys.conditions.is_exclusive,
            times: self.times.clone(),
            peak_rss_bytes: self.peak_rss_bytes,
            cpu_s: self.cpu_s,
            wall_s: Some(self.wall_s),
            estimated_s: self.estimated_s,
            session: self.session.as_deref().map(str::to_owned),
            start_s: self.start_s,
        }
    }
}

/// Shares memory: replaces an `Arc`, or an `Option` of one, by an equal `other`.
fn share<T: PartialEq + Clone>(own: &mut T, other: &T) {
    if own == other {
        own.clone_from(other);
    }
}

/// Hexadecimal digits of the digest of an image.
const DIGITS: usize = 16;

/// Whether `text` is the digest of an image, so that it can be the name of its file.
pub(in crate::results) fn is_image_digest(text: &str) -> bool {
    is_digest(text, DIGITS)
}
