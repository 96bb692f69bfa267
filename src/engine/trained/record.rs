//! [`TrainedRun`]: what a checkpoint says beside its weights, and [`Trained`]: a checkpoint that is opened.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::TrainedError;
use crate::datasets::{Features, Known, Normalisation, OpenDataset, Preparation, Target};
use crate::layers::checkpoint::{self, Metadata};
use crate::plan::CellSpec;

/// Name of [`TrainedRun`] in a checkpoint's metadata.
const RUN: &str = "run";
/// Names of the other entries that are read here.
const CLASS_NAMES: &str = "class_names";
const NORMALISATION: &str = "normalisation";

/// How the model of a checkpoint was trained, and what was fitted to its training rows: all that is needed to use it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrainedRun {
    /// The cell; the dataset's path is relative to the checkpoint's folder.
    pub cell: CellSpec,
    /// The form of a sample's features.
    pub features: Features,
    /// The form of its target.
    pub target: Target,
    /// Training rows of each class; empty where the target is not a class.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub class_rows: Vec<usize>,
    /// What was fitted to the training rows, beside normalisation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation: Option<Preparation>,
}

impl TrainedRun {
    /// Metadata of the checkpoints of a cell's runs: how the model was trained, and how to interpret its inputs and outputs.
    /// Structured values are JSON.
    pub fn metadata(cell: &CellSpec, seed: u64, data: &OpenDataset) -> Metadata {
        let dataset = &data.dataset;
        let mut metadata = Metadata::from([
            // Names, shapes and layouts are PyTorch's; loaders expect this entry.
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

/// The cell without folders of this machine: the dataset's path as seen from the checkpoint's folder.
fn portable(cell: &CellSpec) -> CellSpec {
    let mut own = cell.clone();
    if let Some(folder) = own.checkpoint_folder.take() {
        Arc::make_mut(&mut own.dataset).change_path(|path| relative(path, &folder));
    }
    if own.train.init_from.is_some() {
        Arc::make_mut(&mut own.train).init_from = None;
    }
    own
}

/// `path` as seen from `folder`, both absolute.
fn relative(path: &Path, folder: &Path) -> PathBuf {
    let common = path
        .components()
        .zip(folder.components())
        .take_while(|(one, other)| one == other)
        .count();
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    up.chain(path.components().skip(common)).collect()
}

/// A checkpoint with all that is needed to use it.
#[derive(Debug)]
pub struct Trained {
    /// The file.
    pub path: PathBuf,
    /// How it was trained; the dataset's path is that of the machine.
    pub run: TrainedRun,
    /// Seed of the run.
    pub seed: u64,
    /// Names of the classes, in the order of the outputs; empty for numbers.
    pub class_names: Vec<String>,
    /// How features and target were normalised.
    pub normalisation: Normalisation,
}

impl Trained {
    /// Reads what a checkpoint says beside its weights.
    ///
    /// # Errors
    /// A file that cannot be read, or lacks what is needed: one of another program or of an earlier version.
    pub fn open(path: &Path) -> Result<Self, TrainedError> {
        let metadata = checkpoint::read_metadata(path)?;
        let Some(run) = metadata.get(RUN) else {
            return Err(TrainedError::Unsuited(format!(
                "`{}` has weights, but not how its model was trained and its data were prepared (the entry `{RUN}`): it is of \
                 another program, or of Fieldtrial 0.2 or earlier. Train it again to use it; `train.init-from` can begin with \
                 its weights",
                path.display()
            )));
        };
        let mut run: TrainedRun = parsed(path, RUN, run)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        Arc::make_mut(&mut run.cell.dataset).change_path(|path| from(&folder, path));
        let class_names = metadata.get(CLASS_NAMES);
        let normalisation = metadata.get(NORMALISATION);
        Ok(Self {
            path: path.to_owned(),
            run,
            seed: metadata
                .get("seed")
                .and_then(|seed| seed.parse().ok())
                .unwrap_or_default(),
            class_names: class_names.map_or(Ok(Vec::new()), |text| parsed(path, CLASS_NAMES, text))?,
            normalisation: normalisation.map_or(Ok(Normalisation::default()), |text| {
                parsed(path, NORMALISATION, text)
            })?,
        })
    }

    /// Names of predicted numbers: `prediction`, or of several `prediction_NAME`; none for classes.
    pub fn prediction_names(&self) -> Vec<String> {
        let names = self.run.cell.dataset.target_names();
        match self.run.target.values_len() {
            0 => Vec::new(),
            1 => vec!["prediction".to_owned()],
            all => (0..all)
                .map(|column| match names.get(column) {
                    Some(name) => format!("prediction_{name}"),
                    None => format!("prediction_{column}"),
                })
                .collect(),
        }
    }

    /// What the model knows of its data.
    pub fn known(&self, wants_target: bool) -> Known<'_> {
        Known {
            target: self.run.target,
            class_names: &self.class_names,
            normalisation: &self.normalisation,
            preparation: self.run.preparation.as_ref(),
            wants_target,
        }
    }
}

/// `path` from `folder`, with `..` taken away where it can be.
fn from(folder: &Path, path: &Path) -> PathBuf {
    let mut whole = folder.to_owned();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            part => whole.push(part),
        }
    }
    whole
}

fn parsed<T: DeserializeOwned>(path: &Path, entry: &str, text: &str) -> Result<T, TrainedError> {
    serde_json::from_str(text).map_err(|error| {
        TrainedError::Unsuited(format!(
            "the entry `{entry}` of `{}` is of another version of Fieldtrial: {error}",
            path.display()
        ))
    })
}
