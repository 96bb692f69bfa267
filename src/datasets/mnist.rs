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
