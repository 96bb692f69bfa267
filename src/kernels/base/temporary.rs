//! Files under a temporary name: locked while they are written, and removed if a killed program left them behind.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::time::Duration;

use tempfile::NamedTempFile;

/// Prefix of the names of temporary files.
const PREFIX: &str = ".writing-";

/// Age at which a temporary file counts as abandoned, on file systems without locks.
const OLD: Duration = Duration::from_mins(1);

/// Creates a temporary file in `folder`, and locks it, so that [`remove_abandoned`] in another program does not remove
/// it.
///
/// # Errors
/// Those of creating a file.
pub fn create(folder: &Path) -> io::Result<NamedTempFile> {
    loop {
        let file = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempfile_in(folder)?;
        // A failure is ignored: some file systems have no locks, and then the file's age decides.
        let _ = file.as_file().lock();
        // Another program may have removed the file before it was locked.
        if file.path().exists() {
            return Ok(file);
        }
    }
}

/// Creates a temporary file, as [`create`] does, in the folder of `path`.
///
/// # Errors
/// As [`create`].
pub fn create_in_folder_of(path: &Path) -> io::Result<NamedTempFile> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => create(folder),
        _ => create(Path::new(".")),
    }
}

/// Replaces `path` by what `write` writes: a reader sees the old file or the new one, never a part, and an interrupted
/// write leaves the old one.
///
/// # Errors
/// Those of writing; the old file is unchanged then.
pub fn replace(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut file = create_in_folder_of(path)?;
    write(file.as_file_mut())?;
    // A full disk is detected here at the latest, before the old file is replaced.
    file.as_file().sync_all()?;
    keep_as(file, path)
}

/// Gives a complete file its name, and the permissions of an ordinary file: a temporary one is readable by its owner
/// only.
///
/// # Errors
/// Those of renaming a file.
pub fn keep_as(file: NamedTempFile, path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.as_file()
            .set_permissions(fs::Permissions::from_mode(0o644))?;
    }
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Removes temporary files that a killed program left in `folder`, which need not exist.
///
/// A failure is ignored: a file that stays has no effect, and the next call tries again.
pub fn remove_abandoned(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_temporary = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_temporary
            && is_file
            && let Some(_locked) = left(&entry.path())
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Opens and locks a temporary file that a killed program left behind; `None` if another program is writing it. On a
/// file system without locks, the file counts as left behind from the age [`OLD`] on.
fn left(path: &Path) -> Option<File> {
    let file = File::open(path).ok()?;
    match file.try_lock() {
        Ok(()) => Some(file),
        Err(TryLockError::WouldBlock) => None,
        Err(TryLockError::Error(_)) => {
            let age = file.metadata().ok()?.modified().ok()?.elapsed().ok()?;
            (age >= OLD).then_some(file)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_writer_left_is_removed_and_what_is_being_written_stays() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::write(folder.join(".writing-left"), "half").unwrap();
        fs::write(folder.join("kept"), "whole").unwrap();
        let file = create(folder).unwrap();
        let open = file.path().file_name().unwrap().to_owned();
        remove_abandoned(folder);
        let names = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [open, "kept".into()]);
        // A missing folder is no error.
        remove_abandoned(&folder.join("missing"));
    }

    #[test]
    fn a_file_that_is_created_is_there_whoever_removes_what_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for number in 0..50 {
                        remove_abandoned(folder);
                        let file = create(folder).unwrap();
                        assert!(file.path().exists(), "{number}");
                    }
                });
            }
        });
    }
}
