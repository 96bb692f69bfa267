//! Batches from datasets: order, worker threads, a bounded queue, waiting and working time.
//!
//! Owns [`LoaderSpec`] and [`Batch`]. The same batches with the same bytes come for every number of workers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How batches are loaded (`[loader]`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LoaderSpec {
    /// Threads that decode, augment and collate ahead; 0 loads in the training thread.
    pub workers: usize,
    /// Batches that each worker may be ahead.
    pub prefetch: usize,
    /// Whether threads live on between epochs.
    pub persistent: bool,
    /// Whether samples are drawn with replacement by inverse class frequency.
    pub weighted: bool,
    /// Whether decoded samples are kept in memory after the first epoch (before augmentation).
    pub cache: bool,
}

impl Default for LoaderSpec {
    fn default() -> Self {
        Self {
            workers: 0,
            prefetch: 2,
            persistent: false,
            weighted: false,
            cache: false,
        }
    }
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
}
