//! [`Sample`]: an image from a costly evaluation.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// An image that a worker has completely written, under a temporary name, in [`super::Order::assess_into`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The sample's name, unique in its run: `ddim`.
    pub name: String,
    /// Content of the image, in one sentence.
    pub caption: String,
    /// The PNG file.
    pub path: PathBuf,
    /// Digest over the file's bytes.
    pub digest: String,
}
