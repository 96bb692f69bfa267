//! MNIST in IDX files.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// MNIST, or anything in its IDX format, gzip or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MnistSpec {
    /// Folder with `train-images-idx3-ubyte`, `train-labels-idx1-ubyte` and the `t10k-…` pair (each also as `.gz`).
    pub path: PathBuf,
}

use super::{DatasetError, DatasetFacts, FingerprintCache, OpenDataset};
use crate::base::Seed;
impl MnistSpec {
    pub(super) fn facts(
        &self,
        validation_fraction: f64,
        _c: &mut FingerprintCache,
    ) -> Result<DatasetFacts, DatasetError> {
        Err(DatasetError::Mismatch("not built yet".to_owned()))
    }
    pub(super) fn open(
        &self,
        _seed: Seed,
        validation_fraction: f64,
    ) -> Result<OpenDataset, DatasetError> {
        Err(DatasetError::Mismatch("not built yet".to_owned()))
    }
}
