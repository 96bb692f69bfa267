//! [`DatasetError`]: a dataset that cannot be read, in the user's words.

use std::io;
use std::path::Path;

/// A dataset that cannot be read, in the user's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DatasetError {
    /// A file or folder that cannot be read or written.
    #[error("cannot read `{path}`: {reason}")]
    Unreadable {
        /// The file or folder.
        path: String,
        /// The system's reason.
        reason: String,
    },
    /// A file or folder that cannot be written; nothing half-written is left.
    #[error("cannot write `{path}`: {reason}")]
    Unwritable {
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
    /// A loader thread panicked: our bug, reported as an error so that nothing waits for it for ever.
    #[error("a loader worker panicked: {0}")]
    Panicked(String),
}

impl DatasetError {
    pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::Unreadable {
            path: path.display().to_string(),
            reason: reason(error),
        }
    }

    pub(crate) fn unwritable(path: &Path, error: &io::Error) -> Self {
        Self::Unwritable {
            path: path.display().to_string(),
            reason: reason(error),
        }
    }

    pub(crate) fn damaged(
        path: &Path,
        place: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        Self::Damaged {
            path: path.display().to_string(),
            place: place.into(),
            reason: reason.into(),
        }
    }
}

/// The system's reason without Rust's "(os error 2)".
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}
