//! The datasets, one file each, with the `Spec` that a manifest writes.
//!
//! Owns [`DatasetSpec`] (all kinds), [`Dataset`] (random access to samples, shared by loader threads), [`Splits`] and
//! [`DatasetFacts`] (what the planner may know before any data exists). Batches are made in [`crate::loader`].

mod csv_table;
mod digits;
mod image_folder;
mod mnist;
mod regression;

pub use csv_table::CsvSpec;
pub use digits::DigitsSpec;
pub use image_folder::{AugmentSpec, GenerateSpec, ImageFolderSpec};
pub use mnist::MnistSpec;
pub use regression::{RegressionSpec, RegressionTarget};

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A dataset as a manifest describes it (`[datasets.NAME]`). Paths are resolved against the manifest's folder by plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DatasetSpec {
    /// Class folders of PNG or JPEG files.
    ImageFolder(ImageFolderSpec),
    /// Generated five-dimensional regression.
    #[serde(rename = "regression-5d")]
    Regression5d(RegressionSpec),
    /// The 1,797 embedded 8×8 digits.
    Digits(DigitsSpec),
    /// MNIST (or anything in its IDX format), by path.
    Mnist(MnistSpec),
    /// A table of numbers in a CSV file.
    Csv(CsvSpec),
}

impl DatasetSpec {
    /// Every kind, in the order in which `fieldtrial list datasets` shows them.
    pub const KINDS: [&'static str; 5] =
        ["image-folder", "regression-5d", "digits", "mnist", "csv"];

    /// The kind as a manifest writes it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::ImageFolder(_) => "image-folder",
            Self::Regression5d(_) => "regression-5d",
            Self::Digits(_) => "digits",
            Self::Mnist(_) => "mnist",
            Self::Csv(_) => "csv",
        }
    }
}

/// The form of one sample's features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Features {
    /// A row of numbers.
    Vector {
        /// How many.
        len: usize,
    },
    /// An image, channels last.
    Image {
        /// Pixels.
        height: usize,
        /// Pixels.
        width: usize,
        /// Colours.
        channels: usize,
    },
}

impl Features {
    /// Number of values of one sample.
    pub fn len(&self) -> usize {
        match *self {
            Self::Vector { len } => len,
            Self::Image {
                height,
                width,
                channels,
            } => height * width * channels,
        }
    }

    /// Whether a sample has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What one sample is to be mapped to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Numbers (regression).
    Values {
        /// How many.
        len: usize,
    },
    /// One of some classes.
    Class {
        /// How many classes.
        classes: usize,
    },
}

/// What is known of a dataset without reading it whole; the planner checks cells against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatasetFacts {
    /// All samples.
    pub samples: usize,
    /// Samples of the training split, after `validation.fraction`.
    pub train_samples: usize,
    /// Samples of the validation split.
    pub validation_samples: usize,
    /// Samples of the test split.
    pub test_samples: usize,
    /// The form of a sample's features.
    pub features: Features,
    /// The form of a sample's target.
    pub target: Target,
    /// Digest over the content (files: names and bytes; generators: parameters); `None` while data is to be generated.
    pub fingerprint: Option<String>,
}

/// Row numbers of each split, in a fixed order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Splits {
    /// Rows to train on.
    pub train: Vec<u32>,
    /// Rows to validate on; may be empty.
    pub validation: Vec<u32>,
    /// Rows to test on; may be empty.
    pub test: Vec<u32>,
}

/// Where a sample's values are to be written: a place in a batch's own memory.
#[derive(Debug)]
pub struct SampleMut<'a> {
    /// Features, `Features::len()` values, channels last.
    pub features: &'a mut [f32],
    /// Regression targets, `Target::Values::len` values; empty for classes.
    pub values: &'a mut [f32],
    /// Class; 0 for regression.
    pub label: &'a mut u32,
}

/// Random access to samples. Shared by loader threads; reading is pure given the augmentation stream.
pub trait Dataset: Send + Sync {
    /// The form of a sample's features.
    fn features(&self) -> Features;

    /// The form of a sample's target.
    fn target(&self) -> Target;

    /// Class of every row; empty for regression. For weighted sampling and stratified splits.
    fn labels(&self) -> &[u32];

    /// Names of the classes; empty for regression.
    fn class_names(&self) -> &[String];

    /// Writes row `row` to `sample`, augmented if a stream is given.
    ///
    /// # Errors
    /// [`DatasetError`] names the file and the place in it.
    fn read(
        &self,
        row: u32,
        augmentation: Option<&mut ChaCha8Rng>,
        sample: SampleMut<'_>,
    ) -> Result<(), DatasetError>;

    /// Mean and standard deviation of the target columns before normalisation, where a dataset normalises:
    /// metrics in original units need them.
    fn target_scale(&self) -> Option<(f64, f64)> {
        None
    }
}

/// A dataset ready to train on, with its splits for one seed.
#[derive(Clone)]
pub struct OpenDataset {
    /// The samples.
    pub dataset: Arc<dyn Dataset>,
    /// The rows of each split.
    pub splits: Splits,
    /// A fresh set in original units that nobody trained on, where the dataset is a generator.
    pub fresh: Option<Arc<dyn Dataset>>,
}

/// A dataset that cannot be read, in the user's words.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// A file or folder that cannot be read.
    #[error("cannot read `{path}`: {reason}")]
    Unreadable {
        /// The file or folder.
        path: String,
        /// The system's reason.
        reason: String,
    },
    /// A file whose content is not what its format says; `place` is a position inside it.
    #[error("`{path}` is damaged {place}: {reason}")]
    Damaged {
        /// The file.
        path: String,
        /// Where, for example "at byte 16" or "in line 3, column 2".
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// The specification does not fit the data.
    #[error("{0}")]
    Mismatch(String),
}
