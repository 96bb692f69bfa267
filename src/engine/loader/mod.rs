//! Batches from datasets: order, worker threads, a bounded queue, waiting and working time.
//!
//! Owns [`LoaderSpec`], [`Batch`] and [`Loader`]. Batches and their bytes do not depend on the number of workers. Start
//! from [`Loader::new`] and [`Loader::epoch`]. It holds host memory only.

mod epoch;
mod mixing;
mod order;
mod queue;
mod times;
mod work;

pub use epoch::{Epoch, Loader};
pub use times::{LoaderTimes, MadeBatch};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::Seed;

/// How batches are loaded (`[loader]`); beside each key the one of PyTorch's `DataLoader`.
#[expect(
    clippy::struct_excessive_bools,
    reason = "the manifest's own switches, each independent of the others"
)]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LoaderSpec {
    /// Threads that decode, augment and collate batches ahead (`num_workers`); 0 loads in the training thread.
    #[schemars(range(max = 1024))]
    pub workers: usize,
    /// Batches that each worker may be ahead (`prefetch_factor`).
    #[schemars(range(min = 1))]
    pub prefetch: usize,
    /// Whether the threads live on between epochs (`persistent_workers`).
    pub persistent: bool,
    /// Whether samples are drawn with replacement, so that every class is drawn as often (`WeightedRandomSampler`).
    pub weighted: bool,
    /// Whether decoded images are kept in memory after the first epoch, as they are before augmentation.
    pub cache: bool,
    /// Whether decoded images are kept in a file that later runs read too: in `$FIELDTRIAL_CACHE` or the user's cache folder,
    /// written by the first run and again when an image has changed. For image folders.
    #[serde(skip_serializing_if = "crate::manifest::is_default")]
    #[schemars(extend("default" = false))]
    pub cache_file: bool,
    /// Whether the samples of training come in a new random order in each epoch (`shuffle`); else in that of the split.
    #[serde(skip_serializing_if = "Clone::clone")]
    #[schemars(extend("default" = true))]
    pub shuffle: bool,
}

impl Default for LoaderSpec {
    fn default() -> Self {
        Self {
            workers: 0,
            prefetch: 2,
            persistent: false,
            weighted: false,
            cache: false,
            cache_file: false,
            shuffle: true,
        }
    }
}

impl LoaderSpec {
    /// Options for training: shuffled (or weighted, or neither), augmented.
    pub fn training(&self, batch_size: usize, drop_last: bool, seed: Seed) -> LoaderOptions {
        LoaderOptions {
            spec: self.clone(),
            batch_size,
            drop_last,
            shuffle: self.shuffle,
            augment: true,
            max_batches: None,
            seed,
        }
    }

    /// Options for validation and testing: every row once, in the split's order, unchanged.
    pub fn evaluation(&self, batch_size: usize) -> LoaderOptions {
        LoaderOptions {
            spec: Self {
                weighted: false,
                ..self.clone()
            },
            batch_size,
            drop_last: false,
            shuffle: false,
            augment: false,
            max_batches: None,
            seed: Seed(0),
        }
    }
}

/// Everything that determines the batches of a [`Loader`], and the threads that make them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoaderOptions {
    /// Workers, prefetch, persistent, weighted, cache.
    pub spec: LoaderSpec,
    /// Number of samples per batch.
    pub batch_size: usize,
    /// Whether a last batch that is not full is left out.
    pub drop_last: bool,
    /// Whether the order of rows is random and new in each epoch.
    pub shuffle: bool,
    /// Whether samples are augmented, if the dataset supports it.
    pub augment: bool,
    /// Cap on the batches of an epoch.
    pub max_batches: Option<usize>,
    /// The run's seed: order and augmentation.
    pub seed: Seed,
}

/// Samples gathered for one step, in host memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    /// Number of samples.
    pub size: usize,
    /// Features, `(size, …)` row-major, images channels last.
    pub features: Vec<f32>,
    /// Regression targets `(size, len)`; empty for classes.
    pub values: Vec<f32>,
    /// Classes `(size)`; zeros for regression.
    pub labels: Vec<u32>,
    /// Row numbers in the dataset.
    pub rows: Vec<u32>,
    /// For a batch mixed by `MixUp` or `CutMix`: the weight λ of each sample's own target, from 0 to 1. The rest
    /// belongs to the target of the sample before it (for the first sample, the last one). `labels` are not mixed,
    /// `values` are.
    pub own_share: Option<f64>,
}

#[cfg(test)]
mod image_tests;
#[cfg(test)]
mod tests;
