//! [`TrainedRun`]: the metadata of a checkpoint that describe its training.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::datasets::{Features, OpenDataset, Preparation, Target};
use crate::layers::checkpoint::Metadata;
use crate::plan::CellSpec;

/// Name of the metadata entry with [`TrainedRun`].
pub(crate) const RUN: &str = "run";
/// Name of the metadata entry with the names of the classes.
pub(crate) const CLASS_NAMES: &str = "class_names";
/// Name of the metadata entry with the scales of features and target.
pub(crate) const NORMALISATION: &str = "normalisation";

/// How the model of a checkpoint was trained, and values fitted to its training rows; with the other metadata this is
/// all that is needed to use the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainedRun {
    /// The configuration (cell) that was trained; the path of its dataset is relative to the checkpoint's folder.
    pub cell: CellSpec,
    /// Kind and size of a sample's features.
    pub features: Features,
    /// Kind and size of a sample's target.
    pub target: Target,
    /// Number of training rows of each class; empty if the target is not a class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub class_rows: Vec<usize>,
    /// Values fitted to the training rows other than normalisation (vocabulary, columns of a table); `None` if there
    /// are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation: Option<Preparation>,
}

impl TrainedRun {
    /// Metadata of the checkpoints of a cell's runs: how the model was trained, and how to interpret its inputs and
    /// outputs. Structured values are JSON.
    pub fn metadata(cell: &CellSpec, seed: u64, data: &OpenDataset) -> Metadata {
        let dataset = &data.dataset;
        let mut metadata = Metadata::from([
            // PyTorch's loaders expect this entry; names, shapes and layouts are PyTorch's too.
            ("format".to_owned(), "pt".to_owned()),
            ("key".to_owned(), cell.key.clone()),
            ("seed".to_owned(), seed.to_string()),
            ("model_name".to_owned(), cell.model_name.to_string()),
            ("dataset_name".to_owned(), cell.dataset_name.to_string()),
        ]);
        let mut insert = |name: &str, value: serde_json::Result<String>| {
            metadata.extend(value.ok().map(|text| (name.to_owned(), text)));
        };
        insert("model", serde_json::to_string(&*cell.model));
        if !dataset.class_names().is_empty() {
            insert(CLASS_NAMES, serde_json::to_string(dataset.class_names()));
        }
        let normalisation = dataset.normalisation();
        if !normalisation.is_empty() {
            insert(NORMALISATION, serde_json::to_string(&normalisation));
        }
        let run = Self {
            cell: portable(cell),
            features: dataset.features(),
            target: dataset.target(),
            class_rows: data.training_rows_by_class(),
            preparation: dataset.preparation(),
        };
        insert(RUN, serde_json::to_string(&run));
        metadata
    }
}

/// The cell without folders of this machine: the path of the dataset is relative to the checkpoint's folder.
fn portable(cell: &CellSpec) -> CellSpec {
    let mut own = cell.clone();
    if let Some(folder) = own.checkpoint_folder.take() {
        Arc::make_mut(&mut own.dataset).change_path(|path| relative(path, &folder));
    }
    if own.train.init_from.is_some() {
        let train = Arc::make_mut(&mut own.train);
        train.init_from = None;
        // `fresh` only has a meaning together with `init_from`.
        train.fresh.clear();
    }
    own
}

/// `path` relative to `folder`; both are absolute.
fn relative(path: &Path, folder: &Path) -> PathBuf {
    let common = path
        .components()
        .zip(folder.components())
        .take_while(|(one, other)| one == other)
        .count();
    let up = folder
        .components()
        .skip(common)
        .map(|_| Component::ParentDir);
    up.chain(path.components().skip(common)).collect()
}
