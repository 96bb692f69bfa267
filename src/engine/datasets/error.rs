//! [`DatasetError`]: a dataset that cannot be read, in the user's words.

use std::io;
use std::path::Path;

use super::faults::Faults;

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
    /// A file, or files of a folder, whose content is not what their format says.
    #[error("`{path}` {what}{faults}")]
    Damaged {
        /// The file or folder.
        path: String,
        /// What is the matter with it: "is damaged", "is ragged".
        what: &'static str,
        /// Where and why.
        faults: Faults,
    },
    /// A column that a table lacks.
    #[error("`{path}` has no column `{column}`; {advice}")]
    NoColumn {
        /// The table.
        path: String,
        /// The column.
        column: String,
        /// The nearest name, or all names.
        advice: String,
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
        let faults = Faults::one(place.into(), reason.into());
        Self::faulty(path, "is damaged", faults)
    }

    pub(crate) fn faulty(path: &Path, what: &'static str, faults: Faults) -> Self {
        Self::Damaged {
            path: path.display().to_string(),
            what,
            faults,
        }
    }

    /// The error in one line without a list of faults, that list, and what to do about it.
    pub fn parts(&self) -> (String, Vec<String>, Option<String>) {
        match self {
            Self::Damaged { path, what, faults } => (
                format!("`{path}` {what}{}", faults.title()),
                faults.list(),
                faults.help.clone(),
            ),
            Self::NoColumn {
                path,
                column,
                advice,
            } => (
                format!("`{path}` has no column `{column}`"),
                Vec::new(),
                Some(advice.clone()),
            ),
            other => (other.to_string(), Vec::new(), None),
        }
    }

    /// The error without the name of the file that it is about, where the sentence around it names that.
    pub(crate) fn within(&self) -> String {
        match self {
            Self::Damaged { faults, .. } => {
                faults.to_string().trim_start_matches([' ', ':']).to_owned()
            }
            Self::Unreadable { reason, .. } => reason.clone(),
            other => other.to_string(),
        }
    }

    /// The key of the dataset's section that the error concerns, if it is one of a setting.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Damaged { faults, .. } => faults.key,
            Self::NoColumn { .. } => Some("target"),
            // What is wrong with a setting begins with its name: "`generate.size` must be …".
            Self::Mismatch(text) => text.split(['`', '.']).nth(1),
            _ => None,
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
