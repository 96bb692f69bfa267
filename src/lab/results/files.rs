//! Writes whole files: under a temporary name, then renamed; skipped when the content would not change.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::base::temporary;
use crate::base::text::into_escaped;

use super::ResultsError;
use crate::base::file;

/// Writes `bytes` to `path` unless the file already has this content, and returns whether it wrote.
///
/// A reader sees the old file or the new one, never a part; an interrupted write leaves the old one. The file gets mode
/// 0644, so that everyone with access to the folder can read results.
///
/// # Errors
/// [`ResultsError::System`]; the old content is unchanged then.
pub fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<bool, ResultsError> {
    if file::read(path).is_ok_and(|old| old == bytes) {
        return Ok(false);
    }
    replace(path, |file| file.write_all(bytes))?;
    Ok(true)
}

/// Replaces `path` atomically by what `write` writes.
pub(super) fn replace(
    path: &Path,
    write: impl FnOnce(&mut fs::File) -> io::Result<()>,
) -> Result<(), ResultsError> {
    temporary::replace(path, write).map_err(ResultsError::unwritable(path))
}

/// Creates a folder and its missing parents.
///
/// # Errors
/// [`ResultsError::System`].
pub fn create_folder(folder: &Path) -> Result<(), ResultsError> {
    fs::create_dir_all(folder).map_err(ResultsError::unwritable(folder))
}

/// Removes a file, if there is one.
pub(super) fn remove(path: &Path) -> Result<(), ResultsError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(ResultsError::unwritable(path)(error))
        }
        _ => Ok(()),
    }
}

/// Entries of a folder, sorted by name; none if it does not exist.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, ResultsError> {
    let list = match fs::read_dir(folder) {
        Ok(list) => list,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ResultsError::system("read", folder)(error)),
    };
    let mut paths: Vec<PathBuf> = list.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

/// Removes the files with this extension that are not in `known`: a file of a removed cell would be mistaken for a
/// current one. The folder is removed if it is empty then.
pub(crate) fn remove_files_not_in(folder: &Path, extension: &str, known: &BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|own| own == extension) && !known.contains(&path) {
            // Failure is ignored: the next run tries again.
            let _ = fs::remove_file(path);
        }
    }
    // Fails, as intended, unless the folder is empty.
    let _ = fs::remove_dir(folder);
}

/// Reads a file as UTF-8 text.
///
/// # Errors
/// [`ResultsError::Missing`], [`ResultsError::System`], or [`ResultsError::Damaged`] if the file is not UTF-8.
pub(crate) fn read_text(path: &Path) -> Result<String, ResultsError> {
    let bytes = file::read(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => ResultsError::Missing {
            path: path.to_owned(),
        },
        _ => ResultsError::system("read", path)(error),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let lines = error.as_bytes()[..at].iter().filter(|&&b| b == b'\n');
        let place = format!("line {}", lines.count() + 1);
        ResultsError::damaged(path, place, "this is not UTF-8 text")
    })
}

/// Reads a CSV file. Other programs may have written it, so control characters are shown as their codes.
///
/// # Errors
/// Those of [`read_text`].
pub(crate) fn read_csv(path: &Path) -> Result<String, ResultsError> {
    read_text(path).map(into_escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unchanged_file_is_not_touched() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a.csv");
        assert!(write_if_changed(&path, b"x\n").expect("writes"));
        assert!(!write_if_changed(&path, b"x\n").expect("compares"));
        assert!(write_if_changed(&path, b"y\n").expect("replaces"));
        assert_eq!(fs::read(&path).expect("reads"), b"y\n");
        assert_eq!(fs::read_dir(folder.path()).expect("lists").count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn everyone_may_read_the_results() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a.csv");
        write_if_changed(&path, b"x").expect("writes");
        let mode = fs::metadata(&path).expect("exists").permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
    }
}
