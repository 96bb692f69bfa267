//! [`Trained`]: an opened checkpoint.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::TrainedError;
use super::check::check;
use crate::datasets::{Normalisation, Target, TrainingDataInfo};
use crate::layers::checkpoint;
use crate::losses::LossSpec;
use crate::plan::absolute;
use crate::train::{CLASS_NAMES, NORMALISATION, RUN, TrainedRun};

/// A checkpoint with everything that is needed to use it.
#[derive(Debug)]
pub struct Trained {
    /// Path of the checkpoint file.
    pub path: PathBuf,
    /// How the model was trained; here the path of the dataset is usable from the current folder.
    pub run: TrainedRun,
    /// Seed of the run.
    pub seed: u64,
    /// Names of the classes, in the order of the outputs; empty if the target is not a class.
    pub class_names: Vec<String>,
    /// Scales by which features and target were normalised.
    pub normalisation: Normalisation,
}

impl Trained {
    /// Reads a checkpoint's metadata and checks that they fit its weights.
    ///
    /// # Errors
    /// A file that cannot be read, or that lacks needed metadata because another program or an earlier version wrote
    /// it; an entry of the metadata that cannot be parsed; parts of the checkpoint that do not fit each other.
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
        let folder = absolute(Path::new("."), folder);
        Arc::make_mut(&mut run.cell.dataset).change_path(|path| absolute(&folder, path));
        let class_names = metadata.get(CLASS_NAMES);
        let normalisation = metadata.get(NORMALISATION);
        let trained = Self {
            path: path.to_owned(),
            run,
            seed: metadata
                .get("seed")
                .and_then(|seed| seed.parse().ok())
                .unwrap_or_default(),
            class_names: class_names
                .map_or(Ok(Vec::new()), |text| parsed(path, CLASS_NAMES, text))?,
            normalisation: normalisation.map_or(Ok(Normalisation::default()), |text| {
                parsed(path, NORMALISATION, text)
            })?,
        };
        let weights = checkpoint::read(path)?;
        let names = &trained.class_names;
        match check(&trained.run, names, &trained.normalisation, &weights) {
            None => Ok(trained),
            Some(wrong) => Err(TrainedError::Unsuited(format!(
                "`{}` cannot be used: {wrong}",
                path.display()
            ))),
        }
    }

    /// Whether the outputs are logits of labels (multi-label targets trained with binary cross-entropy).
    pub(super) fn predicts_labels(&self) -> bool {
        let is_own = matches!(*self.run.cell.loss, LossSpec::BinaryCrossEntropy(_));
        is_own && matches!(self.run.target, Target::Labels { .. })
    }

    /// Names of the predicted labels, in the order of the outputs; empty if the model does not predict labels.
    pub fn label_names(&self) -> &[String] {
        if self.predicts_labels() {
            return self.run.cell.dataset.target_names();
        }
        &[]
    }

    /// Column names of predicted numbers: `prediction`, or `prediction_NAME` if there are several; empty for classes
    /// and labels.
    pub fn prediction_names(&self) -> Vec<String> {
        if self.predicts_labels() {
            return Vec::new();
        }
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

    /// Properties of the training data by which new data are read for this model; with `wants_target` the data must
    /// have targets.
    pub fn training_data_info(&self, wants_target: bool) -> TrainingDataInfo<'_> {
        TrainingDataInfo {
            features: self.run.features,
            target: self.run.target,
            class_names: &self.class_names,
            normalisation: &self.normalisation,
            preparation: self.run.preparation.as_ref(),
            wants_target,
        }
    }
}

fn parsed<T: DeserializeOwned>(path: &Path, entry: &str, text: &str) -> Result<T, TrainedError> {
    serde_json::from_str(text).map_err(|error| {
        TrainedError::Unsuited(format!(
            "the entry `{entry}` of `{}` is of another version of Fieldtrial: {error}",
            path.display()
        ))
    })
}
