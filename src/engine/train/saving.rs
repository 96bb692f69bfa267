//! [`Saving`]: the checkpoint files of a run (`train.save-to`), and their metadata.

use super::error::TrainError;
use super::learner::Learner;
use super::trained_run::TrainedRun;
use crate::datasets::OpenDataset;
use crate::event::Order;
use crate::layers::checkpoint::{self, Metadata};
use crate::ops::Kernels;
use crate::plan::{CellSpec, Checkpoint};

pub(super) struct Saving {
    /// Whether `train.save-to` asks for the files.
    is_asked: bool,
    files: Vec<Checkpoint>,
    metadata: Metadata,
}

impl Saving {
    /// The checkpoint files that the run writes. None in later blocks, which train the same weights again; none either
    /// if `train.save-to` is not set and the files would take `order.keep_weights_below` bytes or more.
    pub(super) fn of(order: &Order<CellSpec>, data: &OpenDataset, parameters: u64) -> Self {
        let mut files = Vec::new();
        let is_asked = order.cell.train.save_to.is_some();
        if order.block == 0 {
            files = order.cell.checkpoints(order.seed);
            let bytes = BYTES * parameters * files.len() as u64;
            if !is_asked && bytes >= order.keep_weights_below {
                files.clear();
            }
        }
        let metadata = if files.is_empty() {
            Metadata::new()
        } else {
            TrainedRun::metadata(&order.cell, order.seed, data)
        };
        Self {
            is_asked,
            files,
            metadata,
        }
    }

    /// Whether `train.save-to` asks for the files: then they belong to the run's results, and failing to write them
    /// fails it.
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked
    }

    pub(super) fn files(&self) -> &[Checkpoint] {
        &self.files
    }

    /// Writes the model's current weights to `file`; returns the file's size in bytes.
    pub(super) fn write<D: Kernels>(
        &self,
        file: &Checkpoint,
        learner: &mut Learner<D>,
    ) -> Result<u64, TrainError> {
        let unwritable = |reason| TrainError::Unwritable {
            path: file.path.display().to_string(),
            reason,
        };
        if let Some(folder) = file.path.parent() {
            std::fs::create_dir_all(folder).map_err(unwritable)?;
        }
        let mut metadata = self.metadata.clone();
        metadata.insert("weights".into(), file.weights.into());
        let module = learner.task.module();
        checkpoint::save(&file.path, &learner.device, module, &metadata)?;
        let written = std::fs::metadata(&file.path).map_err(unwritable)?;
        Ok(written.len())
    }
}

/// Bytes of one f32 value.
pub(super) const BYTES: u64 = size_of::<f32>() as u64;
