//! [`ResumeFiles`]: where a run's training state is stored, and which runs may resume from it.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::cell::{CellSpec, SAFETENSORS, TrainSpec};
use super::identity::combine;
use super::planned::PlannedCell;
use super::section::Section;

/// Prefix of the names of state files.
pub const STATE_FILE_PREFIX: &str = "state-seed";

/// Files of a training state, and how often it is written.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ResumeFiles {
    /// File that the run writes.
    pub state: PathBuf,
    /// File of the training state from which the run resumes, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<PathBuf>,
    /// Digest over everything that determines the training, except its number of epochs.
    pub lineage: String,
    /// Seconds between two writes; `None` means 60 s, and only for long runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_s: Option<f64>,
}

impl CellSpec {
    /// File of a run's training state; `None` for a command, whose program manages its own state, and if
    /// `measure.checkpoint-every` is 0.
    fn state_file(&self, seed: u64, block: usize) -> Option<PathBuf> {
        let folder = self.checkpoint_folder.as_ref()?;
        let is_kept = self.program.is_none() && self.measure.checkpoint_every != Some(0.0);
        is_kept.then(|| folder.join(format!("{STATE_FILE_PREFIX}{seed}-{block}{SAFETENSORS}")))
    }

    /// Whether a longer run can continue after `epochs` epochs: neither the learning rate nor the validation up to there
    /// depends on the total number of epochs.
    pub fn can_continue_after(&self, epochs: usize) -> bool {
        let every = self.validation.every.max(1);
        epochs.is_multiple_of(every) && !self.train.schedule.needs_epochs()
    }
}

impl PlannedCell {
    /// Where a run's training state is stored, and the state of an interrupted run, if there is one; `None` if the run
    /// stores none.
    pub fn resume(&self, seed: u64, block: usize) -> Option<ResumeFiles> {
        let state = self.spec.state_file(seed, block)?;
        Some(ResumeFiles {
            from: state.exists().then(|| state.clone()),
            state,
            lineage: self.lineage(),
            every_s: self.spec.measure.checkpoint_every,
        })
    }

    /// Digest of everything that determines the training, except its number of epochs. For a training that begins with
    /// weights from a file, the number of epochs is included (so that no other run resumes from it), because the file's
    /// content is not hashed here.
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
