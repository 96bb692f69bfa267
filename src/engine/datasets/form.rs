//! The form of samples, and [`DatasetFacts`]: facts about a dataset before its samples are read.

use serde::{Deserialize, Serialize};

use crate::ops::Shape;

/// The size of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageSize {
    /// Height in pixels.
    pub height: usize,
    /// Width in pixels.
    pub width: usize,
    /// Number of channels.
    pub channels: usize,
}

impl ImageSize {
    /// The shape of a batch in memory, `(B, H, W, C)`.
    pub fn shape(self, batch: usize) -> Shape {
        [batch, self.height, self.width, self.channels].into()
    }
}

/// The form of one sample's features.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Features {
    /// A row of numbers.
    Vector {
        /// Number of values.
        len: usize,
    },
    /// An image, channels last.
    Image(ImageSize),
    /// A path in time: a row of times, then a row of values.
    Path {
        /// Number of points in time.
        points: usize,
    },
    /// A window of a text: the ids of the `length` tokens that a model reads, and of the next one, the last target.
    Tokens {
        /// Number of tokens that a model reads.
        length: usize,
        /// Number of different tokens.
        vocabulary: usize,
    },
}

impl Features {
    /// Number of values of one sample.
    pub fn len(&self) -> usize {
        match *self {
            Self::Vector { len } => len,
            Self::Image(image) => image.shape(1).len(),
            Self::Path { points } => 2 * points,
            Self::Tokens { length, .. } => length + 1,
        }
    }

    /// Whether a sample has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The form of one sample's target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Numbers (regression).
    Values {
        /// Number of values.
        len: usize,
    },
    /// Several labels, each present (1) or absent (0).
    Labels {
        /// Number of labels.
        len: usize,
    },
    /// One class.
    Class {
        /// Number of classes.
        classes: usize,
    },
    /// The next token at every position of a window. A sample's single value is the number of UTF-8 bytes of its
    /// targets.
    Tokens {
        /// Number of positions.
        length: usize,
        /// Number of different tokens.
        vocabulary: usize,
    },
    /// No target.
    None,
}

impl Target {
    /// Number of values per sample in [`SampleMut::values`](super::SampleMut::values); 0 for classes and without
    /// target.
    pub fn values_len(&self) -> usize {
        match *self {
            Self::Values { len } | Self::Labels { len } => len,
            Self::Tokens { .. } => 1,
            Self::Class { .. } | Self::None => 0,
        }
    }
}

/// Facts about a dataset that need no sample; the planner checks cells against them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatasetFacts {
    /// Number of all samples.
    pub samples: usize,
    /// Number of samples of the training split, without those that `validation.fraction` takes.
    pub train_samples: usize,
    /// Number of samples of the validation split.
    pub validation_samples: usize,
    /// Number of samples of the test split.
    pub test_samples: usize,
    /// The form of a sample's features.
    pub features: Features,
    /// The form of a sample's target.
    pub target: Target,
    /// Digest over the content (files: names and bytes; generators: parameters); `None` if the data is not generated yet.
    pub fingerprint: Option<String>,
    /// Whether training batches and their targets are mixed (`MixUp`, `CutMix`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mixes: bool,
    /// Warnings for readers of results, one sentence each: rows that are in several splits, features that determine the
    /// target, images that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

impl DatasetFacts {
    /// The facts of an absent dataset: no samples.
    pub fn none() -> Self {
        Self::new([0; 3], Features::Vector { len: 0 }, Target::None, None)
    }

    /// The facts of a dataset with these numbers of samples to train, validate and test on.
    pub(crate) fn new(
        [train, validation, test]: [usize; 3],
        features: Features,
        target: Target,
        fingerprint: Option<String>,
    ) -> Self {
        Self {
            samples: train + validation + test,
            train_samples: train,
            validation_samples: validation,
            test_samples: test,
            features,
            target,
            fingerprint,
            mixes: false,
            remarks: Vec::new(),
        }
    }
}

/// The smallest error that a generator's noise allows: a result significantly below it indicates a leak.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseFloor {
    /// Mean squared error in units of the target's standard deviation.
    pub mse: f64,
    /// Mean squared error in original units.
    pub mse_original: f64,
    /// Number of rows of the test split and of the second, generated test set; it determines the sampling error of the
    /// floor.
    pub rows: usize,
}

impl NoiseFloor {
    /// The coefficient of determination at the floor: `1 − mse`.
    pub fn r2(&self) -> f64 {
        1.0 - self.mse
    }
}
