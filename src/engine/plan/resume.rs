//! [`Resume`]: the file of the state of a run's training, and runs that may go on from it.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::cell::{CellSpec, SAFETENSORS, TrainSpec};
use super::identity::combine;
use super::planned::PlannedCell;
use super::section::Section;

/// Prefix of the names of state files.
pub const STATE: &str = "state-seed";

/// Files of the state of a training.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Resume {
    /// File that the run writes.
    pub state: PathBuf,
    /// File of the state from which the run goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<PathBuf>,
    /// Digest of all that decides the training but its number of epochs.
    pub lineage: String,
    /// Seconds between two writes; without a number, a minute, and only if the run is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_s: Option<f64>,
}

impl CellSpec {
    /// File with the state of a run's training; `None` for a command, whose program keeps its own, and where
    /// `measure.checkpoint-every` is 0.
    fn state_file(&self, seed: u64, block: usize) -> Option<PathBuf> {
        let folder = self.checkpoint_folder.as_ref()?;
        let is_kept = self.program.is_none() && self.measure.checkpoint_every != Some(0.0);
        is_kept.then(|| folder.join(format!("{STATE}{seed}-{block}{SAFETENSORS}")))
    }

    /// Whether a run of more epochs has the same first `epochs` epochs as one of only these: neither the learning rate nor
    /// what is validated in them depends on the number of epochs.
    pub fn is_extended_from(&self, epochs: usize) -> bool {
        let every = self.validation.every.max(1);
        epochs.is_multiple_of(every) && !self.train.schedule.needs_epochs()
    }
}

impl PlannedCell {
    /// Where the state of a run's training is kept, and that of an interrupted run, where there is one.
    pub fn resume(&self, seed: u64, block: usize) -> Option<Resume> {
        let state = self.spec.state_file(seed, block)?;
        Some(Resume {
            from: state.exists().then(|| state.clone()),
            state,
            lineage: self.lineage(),
            every_s: self.spec.measure.checkpoint_every,
        })
    }

    /// Digest of all that decides the training but its number of epochs. Where it begins with the weights of a file, its
    /// number of epochs is a part of it: the file would have to be read for every run.
    fn lineage(&self) -> String {
        if self.spec.train.init_from.is_some() {
            return self.cell_hash.clone();
        }
        let any = TrainSpec {
            epochs: 0,
            ..TrainSpec::clone(&self.spec.train)
        };
        let any: Arc<str> = any.digest().into();
        let parts = self.hash_parts.iter().map(|(name, part)| match *name {
            "train" => (*name, &*any),
            name => (name, &**part),
        });
        combine(parts)
    }
}
