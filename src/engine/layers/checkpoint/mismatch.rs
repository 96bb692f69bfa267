//! Errors of checkpoints; all mismatches are reported at once.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::layers::names::UnmatchedPatterns;
use crate::ops::OpError;

/// Why weights could not be read, written or loaded into a model.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The file cannot be read or written.
    #[error("cannot access `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// The file is not a valid safetensors file.
    #[error("`{}` is no valid safetensors file: {message}", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// The error of the safetensors library.
        message: String,
    },
    /// Weights that do not fit the model.
    #[error("{}", describe(path.as_deref(), mismatches))]
    Mismatch {
        /// The file, if the weights come from one.
        path: Option<PathBuf>,
        /// A sentence about each tensor that does not fit.
        mismatches: Vec<String>,
    },
    /// Patterns of parameters in the manifest that match no name.
    #[error(transparent)]
    Unmatched(#[from] UnmatchedPatterns),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] OpError),
}

impl CheckpointError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        let path = path.to_owned();
        Self::Io { path, source }
    }

    pub(crate) fn format(path: &Path, error: &dyn fmt::Display) -> Self {
        let (path, message) = (path.to_owned(), error.to_string());
        Self::Format { path, message }
    }

    pub(super) fn mismatch(mismatches: Vec<String>) -> Self {
        let path = None;
        Self::Mismatch { path, mismatches }
    }

    pub(super) fn in_file(self, file: &Path) -> Self {
        match self {
            Self::Mismatch { mismatches, .. } => Self::Mismatch {
                path: Some(file.to_owned()),
                mismatches,
            },
            other => other,
        }
    }
}

/// Maximum number of mismatches in a message: weights of a model of another width differ in every tensor.
const SHOWN: usize = 20;

fn describe(path: Option<&Path>, mismatches: &[String]) -> String {
    use std::fmt::Write as _;
    let source = path.map_or("the weights do".to_owned(), |path| {
        format!("`{}` does", path.display())
    });
    let mut text = format!(
        "{source} not fit the model, {} of its tensors:",
        mismatches.len()
    );
    for mismatch in mismatches.iter().take(SHOWN) {
        let _ = write!(text, "\n  {mismatch}");
    }
    if mismatches.len() > SHOWN {
        let _ = write!(text, "\n  and {} more", mismatches.len() - SHOWN);
    }
    text
}
