//! A table of numbers in a CSV file.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A table of numbers in a CSV file with a header: one column is the target, the others are features.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CsvSpec {
    /// The file, relative to the manifest.
    pub path: PathBuf,
    /// Name of the target column.
    pub target: String,
    /// Whether the target is a class (any text) instead of a number.
    #[serde(default)]
    pub classes: bool,
    /// Share of rows to validate on.
    #[serde(default = "default_share")]
    pub validation: f64,
    /// Share of rows to test on.
    #[serde(default = "default_share")]
    pub test: f64,
    /// Whether features (and a number target) are normalised by the training rows' mean and standard deviation.
    #[serde(default = "default_true")]
    pub normalise: bool,
}

fn default_share() -> f64 {
    0.15
}

fn default_true() -> bool {
    true
}

use super::{DatasetError, DatasetFacts, FingerprintCache, OpenDataset};
use crate::base::Seed;
impl CsvSpec {
    pub(super) fn facts(&self, _c: &mut FingerprintCache) -> Result<DatasetFacts, DatasetError> {
        Err(DatasetError::Mismatch("not built yet".to_owned()))
    }
    pub(super) fn open(&self, _seed: Seed) -> Result<OpenDataset, DatasetError> {
        Err(DatasetError::Mismatch("not built yet".to_owned()))
    }
}
