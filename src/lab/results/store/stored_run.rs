//! [`StoredRun`]: one finished run as the store keeps it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{EpochRow, RunFacts, RunTimes, Status, StepRow};
use crate::plan::{LimitsSpec, PlannedCell};
use crate::results::{BlockRow, SampleInfo, sample_file};

use super::RunKeys;

/// One finished run: under which keys, how it ended, what it gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoredRun {
    /// Readable key of the cell when it ran.
    pub key: String,
    /// What must agree for it to count.
    pub keys: RunKeys,
    /// The parts of the cell hash by name: what `plan --explain` names.
    pub hash_parts: BTreeMap<String, String>,
    /// The same arithmetic per sample; for estimates.
    pub work_signature: String,
    /// What its cell had in common with others, for estimates of those: kinds of model, data and loss, algorithm, device.
    #[serde(default)]
    pub kind: String,
    /// The limits that it ran under; a timeout counts no longer when they change.
    pub limits: LimitsSpec,
    /// How it ended.
    pub status: Status,
    /// One line, for all but `done`.
    pub reason: String,
    /// The facts.
    pub facts: Option<RunFacts>,
    /// The times.
    pub times: Option<RunTimes>,
    /// The epochs; their steps are kept apart.
    pub epochs: Vec<EpochRow>,
    /// Images of its costly evaluation, kept under their digests.
    #[serde(default)]
    pub samples: Vec<StoredSample>,
    /// Seconds from start to end, as the parent saw it.
    pub wall_s: f64,
    /// High-water mark of the process, from `wait4`.
    pub peak_rss_bytes: Option<u64>,
    /// CPU seconds of the process, from `wait4`.
    pub cpu_s: Option<f64>,
    /// Whether its operations were to be profiled; what came of it is kept apart.
    #[serde(default)]
    pub is_profiled: bool,
    /// Seconds that it was expected to take before it began.
    #[serde(default)]
    pub estimated_s: Option<f64>,
    /// The invocation in which it ran, by its UTC start.
    #[serde(default)]
    pub session: Option<String>,
    /// Seconds from the start of that invocation to its own.
    #[serde(default)]
    pub start_s: Option<f64>,
}

/// An image of a stored run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSample {
    /// What it is, unique in its run.
    pub name: String,
    /// What it shows, in one sentence.
    pub caption: String,
    /// Digest over the file's bytes.
    pub digest: String,
}

impl StoredRun {
    /// The parts of a planned cell's hash by name.
    pub fn parts_of(cell: &PlannedCell) -> BTreeMap<String, String> {
        let parts = cell.hash_parts.iter();
        parts
            .map(|(name, digest)| ((*name).to_owned(), digest.to_string()))
            .collect()
    }

    /// Takes the steps out of the epochs.
    pub(super) fn take_steps(&mut self) -> Vec<Vec<StepRow>> {
        let epochs = self.epochs.iter_mut();
        epochs
            .map(|epoch| std::mem::take(&mut epoch.steps))
            .collect()
    }

    /// Whether it would have ended in the same way under `limits`.
    pub fn holds_under(&self, limits: &LimitsSpec) -> bool {
        match self.status {
            Status::Timeout => limits.time == self.limits.time,
            Status::Oom => limits.memory == self.limits.memory,
            _ => true,
        }
    }

    /// Its images as `plan.json` has them, under the key that its cell has now.
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

    /// Its row of `blocks.csv`, under the key that its cell has now.
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
            session: self.session.clone(),
            start_s: self.start_s,
        }
    }
}
