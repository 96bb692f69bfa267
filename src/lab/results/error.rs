//! Errors of results files, worded for the user.

use std::io;
use std::path::{Path, PathBuf};

use crate::base::shell;
use crate::base::text::one_line;

/// A results folder that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// A file of the folder is missing.
    #[error(
        "`{}` is missing; `{}` writes it again from what is finished",
        path.display(), shell::command("run MANIFEST")
    )]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refuses an operation; `doing` is "read", "write", "create" or "lock".
    #[error("cannot {doing} `{}`: {source}", path.display())]
    System {
        /// The attempted operation; one that fails leaves the previous content unchanged.
        doing: &'static str,
        /// File or folder.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
    /// Another program is writing to the store.
    #[error("`{}` is in use by {holder}", folder.display())]
    Locked {
        /// The results folder, or a journal.
        folder: PathBuf,
        /// Content of the lock file.
        holder: String,
    },
    /// The results, the store or a journal have another format version.
    #[error(
        "`{}` has format version {found}, this program reads version {expected}; use the program that wrote it, or remove it \
         to begin anew",
        path.display()
    )]
    OtherVersion {
        /// Path of `plan.json`, the store or the journal.
        path: PathBuf,
        /// The version found.
        found: String,
        /// Version of this program.
        expected: u32,
    },
    /// Something in a file does not follow the format.
    #[error("`{}`, {place}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Position in the file: "line 3, column `steps`".
        place: String,
        /// Expected and found content.
        reason: String,
    },
}

impl ResultsError {
    /// Converts an I/O error while `doing` something with `path`.
    pub fn system(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::System {
            doing,
            path,
            source,
        }
    }

    /// Converts an I/O error while writing `path`.
    pub fn unwritable(path: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::system("write", path)
    }

    /// Something in `path` that does not follow the format.
    pub fn damaged(path: &Path, place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            // Place and reason can quote a field of any length, so they are shortened to one line.
            place: one_line(&place.into()),
            reason: one_line(&reason.into()),
        }
    }
}
