//! [`DatasetSpec`]: every kind of dataset.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ArraysSpec, CifarSpec, CsvSpec, DatasetError, DatasetFacts, DetectorEventsSpec, DigitsSpec,
    FingerprintCache, ImageFolderSpec, MnistSpec, NoiseFloor, OpenDataset, PathsSpec,
    RegressionSpec, TextSpec,
};
use crate::base::Seed;

/// A dataset as a manifest describes it (`[datasets.NAME]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DatasetSpec {
    /// Images in a folder for each class, as torchvision's `ImageFolder`, or with `labels` in a CSV file: PNG or JPEG files, decoded,
    /// resized to `size` and scaled to -1 … 1. Folders `train`, `val` and `test` are the splits; else `validation.fraction` of
    /// every class is held out.
    ImageFolder(ImageFolderSpec),
    /// Generated rows of five features and one number to predict: 70 % to train, 15 % to validate and 15 % to test on.
    #[serde(rename = "regression-5d")]
    Regression5d(RegressionSpec),
    /// 1,797 handwritten digits of 8×8 pixels in ten classes, as scikit-learn's `load_digits`; they are inside the program.
    /// 80 % of every class to train on, 20 % to test on.
    Digits(DigitsSpec),
    /// MNIST, or any images in its IDX format, from files; the `t10k-…` pair is the test split.
    Mnist(MnistSpec),
    /// CIFAR-10 or CIFAR-100 in the binary version, from files: 32×32 pixels in 10, 100 or 20 classes; `test_batch.bin` or `test.bin`
    /// is the test split.
    Cifar(CifarSpec),
    /// A table in CSV files with a header: one column is the target, all others are features: numbers, or kinds and dates where
    /// `columns` says so.
    Csv(CsvSpec),
    /// Arrays of NumPy or PyTorch, features `x` and targets `y`, in `.npy`, `.npz` or safetensors files: rows of numbers or images,
    /// as the shape says; classes or numbers, as the type of `y` says.
    Arrays(ArraysSpec),
    /// Generated paths of a stochastic process at evenly spaced points of `[0, 1]`, for models that generate paths.
    Paths(PathsSpec),
    /// Generated events of a particle detector, neutron captures in a cylinder: 22 numbers of an event as features, the hits
    /// in every voxel of the surface as targets.
    DetectorEvents(DetectorEventsSpec),
    /// Text from files as windows of tokens, for a model of `kind = "layers"` that predicts the next token: the first 80 % to train,
    /// then 10 % to validate and 10 % to test on.
    Text(TextSpec),
    /// No data: for a command without a dataset.
    #[serde(rename = "none", skip_deserializing)]
    #[schemars(skip)]
    Absent,
}

impl DatasetSpec {
    /// The kind, as written in a manifest.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ImageFolder(_) => "image-folder",
            Self::Regression5d(_) => "regression-5d",
            Self::Digits(_) => "digits",
            Self::Mnist(_) => "mnist",
            Self::Cifar(_) => "cifar",
            Self::Csv(_) => "csv",
            Self::Arrays(_) => "arrays",
            Self::Paths(_) => "paths",
            Self::DetectorEvents(_) => "detector-events",
            Self::Text(_) => "text",
            Self::Absent => "none",
        }
    }

    /// The file or folder that the dataset is read from; for several files of a table the first one (or the first
    /// pattern), for `arrays` the folder of the files; `None` for generated and embedded data.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::ImageFolder(spec) => Some(&spec.path),
            Self::Mnist(spec) => Some(&spec.path),
            Self::Cifar(spec) => Some(&spec.path),
            Self::Csv(spec) => Some(spec.path.first_path()),
            Self::Arrays(spec) => Some(&spec.path),
            Self::Text(spec) => Some(&spec.path),
            _ => None,
        }
    }

    /// Like [`Self::path`], but for a list of files the folder that contains all of them; it is passed to programs.
    pub fn data_location(&self) -> Option<PathBuf> {
        match self {
            Self::Csv(spec) if spec.path.len() > 1 => Some(spec.path.folder()),
            other => other.path().map(Path::to_owned),
        }
    }

    /// Whether the dataset is read from the file `path`; links are followed.
    pub fn reads(&self, path: &Path) -> bool {
        match self {
            Self::Csv(spec) => spec.files().iter().any(|own| is_data(own, path)),
            Self::ImageFolder(spec) => {
                let labels = spec.labels.as_ref().map(|labels| spec.path.join(labels));
                is_data(&spec.path, path) || labels.is_some_and(|labels| is_data(&labels, path))
            }
            other => other.path().is_some_and(|own| is_data(own, path)),
        }
    }

    /// Names of the target's columns; empty if the target is not a column of a file.
    pub fn target_names(&self) -> &[String] {
        match self {
            Self::Csv(spec) => &spec.target,
            Self::ImageFolder(spec) => &spec.target,
            _ => &[],
        }
    }

    /// Makes every path absolute or relative to the current folder; `base` is the manifest's folder.
    pub fn resolve_paths(&mut self, base: &Path) {
        self.change_path(|path| {
            // Joining with an empty path would append a slash.
            if path.as_os_str().is_empty() {
                base.to_owned()
            } else {
                base.join(path)
            }
        });
    }

    /// Replaces the paths of the files or the folder that the dataset is read from, if there are any.
    pub fn change_path(&mut self, change: impl Fn(&Path) -> PathBuf) {
        let path = match self {
            Self::ImageFolder(spec) => &mut spec.path,
            Self::Mnist(spec) => &mut spec.path,
            Self::Cifar(spec) => &mut spec.path,
            Self::Csv(spec) => return spec.path.change(change),
            Self::Arrays(spec) => &mut spec.path,
            Self::Text(spec) => &mut spec.path,
            _ => return,
        };
        *path = change(path);
    }

    /// Whether the kind splits its rows itself, so that `validation.fraction` has no effect.
    pub fn splits_itself(&self) -> bool {
        match self {
            Self::Regression5d(_) | Self::Csv(_) | Self::Arrays(_) | Self::Text(_) => true,
            Self::ImageFolder(spec) => spec.splits_itself(),
            _ => false,
        }
    }

    /// Whether targets are numbers, not classes.
    pub fn predicts_numbers(&self) -> bool {
        match self {
            Self::Regression5d(_) | Self::DetectorEvents(_) => true,
            Self::Csv(spec) => !spec.classes,
            Self::ImageFolder(spec) => spec.predicts_numbers(),
            Self::Arrays(spec) => spec.predicts_numbers(),
            _ => false,
        }
    }

    /// Whether targets are several labels, each present or absent.
    pub fn predicts_labels(&self) -> bool {
        match self {
            Self::Csv(spec) => spec.predicts_labels(),
            Self::ImageFolder(spec) => spec.predicts_labels(),
            _ => false,
        }
    }

    /// The facts of the dataset; generates nothing. Tables, arrays, IDX files and the headers of images, or whole
    /// images if damaged ones are left out, are read once each: `cache` stores the results.
    ///
    /// `validation_fraction` is `validation.fraction`: the share of the training rows taken for validation, if the
    /// dataset has no validation split.
    ///
    /// # Errors
    /// [`DatasetError`] when a file is missing or damaged, or a setting does not fit.
    pub fn facts(
        &self,
        validation_fraction: f64,
        cache: &mut FingerprintCache,
    ) -> Result<DatasetFacts, DatasetError> {
        match self {
            Self::ImageFolder(spec) => spec.facts(validation_fraction, cache),
            Self::Regression5d(spec) => spec.facts(),
            Self::Digits(spec) => spec.facts(validation_fraction),
            Self::Mnist(spec) => spec.facts(validation_fraction, cache),
            Self::Cifar(spec) => spec.facts(validation_fraction, cache),
            Self::Csv(spec) => spec.facts(cache),
            Self::Arrays(spec) => spec.facts(cache),
            Self::Text(spec) => spec.facts(cache),
            Self::DetectorEvents(spec) => spec.facts(validation_fraction),
            Self::Paths(spec) => spec.facts(validation_fraction),
            Self::Absent => Ok(DatasetFacts::none()),
        }
    }

    /// The smallest error that the noise of generated data allows; `None` if it is unknown.
    pub fn noise_floor(&self) -> Option<NoiseFloor> {
        match self {
            Self::Regression5d(spec) => spec.noise_floor(),
            _ => None,
        }
    }

    /// Generates the files of the dataset if it has a generator and the files are missing; returns whether it generated
    /// them.
    ///
    /// Calls `progress` with the number of files written and the total, from any thread.
    ///
    /// # Errors
    /// [`DatasetError::Mismatch`] when the folder was generated from other parameters; the message names both.
    pub fn prepare(&self, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<bool, DatasetError> {
        match self {
            Self::ImageFolder(spec) => spec.prepare(progress),
            _ => Ok(false),
        }
    }

    /// Opens the dataset and splits it by the run's seed.
    ///
    /// # Errors
    /// As [`Self::facts`]; also [`DatasetError::Damaged`] with the file and the position in it.
    pub fn open(&self, seed: Seed, validation_fraction: f64) -> Result<OpenDataset, DatasetError> {
        match self {
            Self::ImageFolder(spec) => spec.open(seed, validation_fraction),
            Self::Regression5d(spec) => spec.open(seed),
            Self::Digits(spec) => spec.open(seed, validation_fraction),
            Self::Mnist(spec) => spec.open(seed, validation_fraction),
            Self::Cifar(spec) => spec.open(seed, validation_fraction),
            Self::Csv(spec) => spec.open(seed),
            Self::Arrays(spec) => spec.open(seed),
            Self::Text(spec) => spec.open(),
            Self::Paths(spec) => spec.open(seed, validation_fraction),
            Self::DetectorEvents(spec) => spec.open(seed, validation_fraction),
            Self::Absent => Err(DatasetError::Mismatch("there is no dataset".to_owned())),
        }
    }
}

/// Whether `path` is part of the data `data`: the same file, or a file in the folder `data` other than a CSV file
/// (folders of images or arrays contain no data in CSV files).
pub fn is_data(data: &Path, path: &Path) -> bool {
    let (Ok(data), Ok(path)) = (data.canonicalize(), path.canonicalize()) else {
        // A path that does not exist (yet) is not part of the data.
        return false;
    };
    path == data || path.starts_with(&data) && path.extension().is_none_or(|end| end != "csv")
}
