//! [`StoreError`]: why a store cannot be used; and the entries of its folders.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Version of the store's layout and of its files.
pub(super) const STORE_VERSION: u32 = 1;

/// A store that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another program is writing to the store.
    #[error("`{}` is in use by {holder}", folder.display())]
    Locked {
        /// The results folder.
        folder: PathBuf,
        /// Content of the lock file.
        holder: String,
    },
    /// The store has another layout version.
    #[error("`{}` has format {found}, this program reads and writes format {STORE_VERSION}", folder.display())]
    OtherVersion {
        /// The store.
        folder: PathBuf,
        /// The version found.
        found: String,
    },
    /// The operating system refuses an operation; `doing` is "write", "create", "read".
    #[error("cannot {doing} `{}`: {source}", path.display())]
    System {
        /// The attempted operation.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
}

impl StoreError {
    pub(super) fn system(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::System {
            doing,
            path,
            source,
        }
    }
}

/// Entries of a folder, sorted by name; none if it does not exist.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let list = match fs::read_dir(folder) {
        Ok(list) => list,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(StoreError::system("read", folder)(error)),
    };
    let mut paths: Vec<PathBuf> = list.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}
