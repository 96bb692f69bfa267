//! Loads batches from datasets: order of the rows, worker threads, a bounded queue, times of waiting and working.
//!
//! Owns [`LoaderSpec`], [`Batch`] and [`Loader`]. Batches do not depend on the number of workers, bit for bit. Start
//! from [`Loader::new`] and [`Loader::epoch`]. All memory is host memory.

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
    /// Options for training: order of the rows and augmentation as the settings say.
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

    /// Options for validation and testing: every row once, in the split's order, without augmentation.
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
    /// Settings of the manifest: workers, prefetch, persistent, weighted, cache.
    pub spec: LoaderSpec,
    /// Number of samples per batch.
    pub batch_size: usize,
    /// Whether a last batch with fewer samples is dropped.
    pub drop_last: bool,
    /// Whether the order of rows is random and new in each epoch.
    pub shuffle: bool,
    /// Whether samples are augmented, if the dataset supports it.
    pub augment: bool,
    /// Maximum number of batches of an epoch; `None` for no maximum.
    pub max_batches: Option<usize>,
    /// Seed of the run, from which order and augmentation are drawn.
    pub seed: Seed,
}

/// The samples of one batch in host memory (with gradient accumulation: of one micro-step).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Batch {
    /// Number of samples.
    pub size: usize,
    /// Features `(size, …)`, row-major; images have their channels last.
    pub features: Vec<f32>,
    /// Numeric targets `(size, len)`; empty if the target is a class.
    pub values: Vec<f32>,
    /// Class indices `(size)`; zeros if the target is not a class.
    pub labels: Vec<u32>,
    /// Row number of each sample in the dataset.
    pub rows: Vec<u32>,
    /// For a batch mixed by `MixUp` or `CutMix`: the weight λ (0 to 1) of each sample's own target; `1 - λ` is the
    /// weight of the target of the sample before it (for the first sample: of the last one). `values` are mixed
    /// already, `labels` are not. `None` for a batch that is not mixed.
    pub own_share: Option<f64>,
}

#[cfg(test)]
mod image_tests;
#[cfg(test)]
mod tests;
