//! [`Saving`]: the checkpoint files of a run (`train.save-to`), and their metadata.

use super::error::TrainError;
use super::learner::Learner;
use crate::datasets::OpenDataset;
use crate::event::Order;
use crate::layers::checkpoint::{self, Metadata};
use crate::ops::Kernels;
use crate::plan::{CellSpec, Checkpoint};

pub(super) struct Saving {
    files: Vec<Checkpoint>,
    metadata: Metadata,
}

impl Saving {
    /// No files where the cell requests none, and in repeats, which would train the same weights again.
    pub(super) fn of(order: &Order<CellSpec>, data: &OpenDataset) -> Self {
        let files = if order.block == 0 {
            order.cell.checkpoints(order.seed)
        } else {
            Vec::new()
        };
        Self {
            metadata: metadata(order, data),
            files,
        }
    }

    pub(super) fn files(&self) -> &[Checkpoint] {
        &self.files
    }

    /// Writes the current weights of the model; returns the size of the file in bytes.
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

/// Metadata of the files: the run, how the model is built, and how to interpret its inputs and outputs. Structured
/// values are JSON.
fn metadata(order: &Order<CellSpec>, data: &OpenDataset) -> Metadata {
    let (cell, dataset) = (&order.cell, &data.dataset);
    let mut metadata = Metadata::from([
        // Names, shapes and layouts are PyTorch's; loaders expect this entry.
        ("format".to_owned(), "pt".to_owned()),
        ("key".to_owned(), cell.key.clone()),
        ("seed".to_owned(), order.seed.to_string()),
        ("model_name".to_owned(), cell.model_name.to_string()),
        ("dataset_name".to_owned(), cell.dataset_name.to_string()),
    ]);
    let mut insert = |name: &str, value: serde_json::Result<String>| {
        metadata.extend(value.ok().map(|text| (name.to_owned(), text)));
    };
    insert("model", serde_json::to_string(&*cell.model));
    if !dataset.class_names().is_empty() {
        insert("class_names", serde_json::to_string(dataset.class_names()));
    }
    let normalisation = dataset.normalisation();
    if !normalisation.is_empty() {
        insert("normalisation", serde_json::to_string(&normalisation));
    }
    metadata
}
