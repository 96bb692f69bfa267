//! What can go wrong with results files, in the user's words.

use std::path::PathBuf;

use crate::base::shell;

/// A results folder that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ResultsError {
    /// A file of the folder is not there.
    #[error(
        "`{}` is missing; `{}` writes it again from what is finished",
        path.display(), shell::command("run MANIFEST")
    )]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The system refuses to read.
    #[error("cannot read `{}`: {reason}", path.display())]
    Unreadable {
        /// File or folder.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// The system refuses to write; what was there before is still there.
    #[error("cannot write `{}`: {reason}", path.display())]
    Unwritable {
        /// File or folder.
        path: PathBuf,
        /// The system's reason.
        reason: String,
    },
    /// The results are of another format.
    #[error(
        "`{}` has format version {found}, this program reads version {expected}; \
         run the manifest again with this program, or report with the program that wrote it",
        path.display()
    )]
    Version {
        /// `plan.json`.
        path: PathBuf,
        /// Its version.
        found: u64,
        /// Ours.
        expected: u32,
    },
    /// A place in a file is not what the format says.
    #[error("`{}`, {place}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where: "line 3, column `steps`".
        place: String,
        /// What is expected, and what is there.
        reason: String,
    },
}
