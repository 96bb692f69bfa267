//! [`DatasetError`]: why a dataset cannot be read.

use std::io;
use std::path::Path;

use super::faults::Faults;

/// Why a dataset cannot be read, in terms of the manifest and its files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DatasetError {
    /// A file or folder that cannot be read.
    #[error("cannot read `{path}`: {reason}")]
    Unreadable {
        /// The file or folder.
        path: String,
        /// The operating system's error.
        reason: String,
    },
    /// A file or folder that cannot be written; no partial file is left.
    #[error("cannot write `{path}`: {reason}")]
    Unwritable {
        /// The file or folder.
        path: String,
        /// The operating system's error.
        reason: String,
    },
    /// Files whose content is not valid in their format.
    #[error("`{path}` {what}{faults}")]
    Damaged {
        /// The file or folder.
        path: String,
        /// Predicate of the message after the path, such as "is damaged".
        what: &'static str,
        /// Position in the file and reason of each fault.
        faults: Faults,
    },
    /// A table has no column of this name.
    #[error("`{path}` has no column `{column}`; {advice}")]
    NoColumn {
        /// Path of the table's file.
        path: String,
        /// Name of the missing column.
        column: String,
        /// Advice: the most similar column name, or all column names.
        advice: String,
        /// Key of the dataset's section that names the column.
        key: &'static str,
    },
    /// The specification does not fit the data.
    #[error("{0}")]
    Mismatch(String),
    /// Several mistakes, about different settings.
    #[error("{}", .0.iter().map(Self::to_string).collect::<Vec<_>>().join("; "))]
    Several(Vec<Self>),
    /// A loader thread panicked (a bug), reported as an error so that no thread waits for it forever.
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

    /// This error and `other` as one error; faults of the same file are listed together.
    pub(crate) fn merge_errors(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (
                Self::Damaged { path, what, faults },
                Self::Damaged {
                    path: same,
                    faults: others,
                    ..
                },
            ) if path == same => Self::Damaged {
                path,
                what,
                faults: faults.append_faults(others),
            },
            (one, other) => Self::Mismatch(format!("{one}; {other}")),
        }
    }

    /// All values, or all errors combined into one.
    pub(crate) fn collect_all<T>(
        found: impl IntoIterator<Item = Result<T, Self>>,
    ) -> Result<Vec<T>, Self> {
        let (mut all, mut error) = (Vec::new(), None::<Self>);
        for one in found {
            match (one, error.take()) {
                (Ok(one), None) => all.push(one),
                (Ok(_), before) => error = before,
                (Err(other), None) => error = Some(other),
                (Err(other), Some(before)) => error = Some(before.merge_errors(other)),
            }
        }
        error.map_or(Ok(all), Err)
    }

    /// Both values, or the mistakes of both.
    pub(crate) fn both<A, B>(one: Result<A, Self>, other: Result<B, Self>) -> Result<(A, B), Self> {
        match (one, other) {
            (Ok(one), Ok(other)) => Ok((one, other)),
            (Err(error), Ok(_)) | (Ok(_), Err(error)) => Err(error),
            (Err(one), Err(other)) => Err(one.merge_errors(other)),
        }
    }

    /// `Ok` without errors, otherwise all errors as one.
    pub(crate) fn combine_errors(
        found: impl Iterator<Item = Result<(), Self>>,
    ) -> Result<(), Self> {
        let mut all: Vec<Self> = found.filter_map(Result::err).collect();
        match all.len() {
            0 => Ok(()),
            1 => Err(all.remove(0)),
            _ => Err(Self::Several(all)),
        }
    }

    /// The mistakes in [`Self::Several`]; for any other error, the error itself as the only one.
    pub(crate) fn single_errors(&self) -> &[Self] {
        match self {
            Self::Several(all) => all,
            one => std::slice::from_ref(one),
        }
    }

    /// The error in one line, the list of its faults (empty if there are none to list), and advice if there is any.
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
                ..
            } => (
                format!("`{path}` has no column `{column}`"),
                Vec::new(),
                Some(advice.clone()),
            ),
            other => (other.to_string(), Vec::new(), None),
        }
    }

    /// The error without the file name, for a sentence that already names the file.
    pub(crate) fn without_path(&self) -> String {
        match self {
            Self::Damaged { faults, .. } => {
                faults.to_string().trim_start_matches([' ', ':']).to_owned()
            }
            Self::Unreadable { reason, .. } => reason.clone(),
            other => other.to_string(),
        }
    }

    /// The key of the dataset's section that the error is about, if it is about a setting.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Damaged { faults, .. } => faults.key,
            Self::NoColumn { key, .. } => Some(key),
            // A message about a setting begins with the setting's name: "`generate.size` must be …".
            Self::Mismatch(text) => text.split(['`', '.']).nth(1),
            _ => None,
        }
    }
}

impl Faults {
    /// `Ok` without faults, otherwise an error about `path`; `what` is its predicate: "is damaged".
    pub(super) fn into_result(self, path: &Path, what: &'static str) -> Result<(), DatasetError> {
        if self.is_empty() {
            return Ok(());
        }
        Err(DatasetError::faulty(path, what, self))
    }
}

/// The operating system's message in lower case, without Rust's "(os error 2)".
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}
