//! Files under a temporary name: marked while they are written, removed where a killed program left them.

use std::fs::{self, File, TryLockError};
use std::path::Path;
use std::time::Duration;

/// How the names of temporary files begin.
pub const PREFIX: &str = ".writing-";

/// Age from which a file is taken for left over where the file system has no locks.
const OLD: Duration = Duration::from_mins(1);

/// Marks a new temporary file as being written: until it is closed, [`remove_left`] of another program leaves it.
pub fn mark(file: &File) {
    // Not every file system has locks; there the file's age decides.
    let _ = file.lock();
}

/// Removes temporary files that a killed program left in `folder`, which need not exist.
///
/// A failure is ignored: a file that stays has no effect, and the next call tries again.
pub fn remove_left(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_temporary = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_temporary && is_file && is_left(&entry.path()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether no program is writing the file.
fn is_left(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    match file.try_lock() {
        Ok(()) => true,
        Err(TryLockError::WouldBlock) => false,
        Err(TryLockError::Error(_)) => {
            let modified = file.metadata().and_then(|data| data.modified());
            modified.is_ok_and(|time| time.elapsed().is_ok_and(|age| age >= OLD))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_writer_left_is_removed_and_what_is_being_written_stays() {
        let name = format!("fieldtrial-temporary-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let [left, open] = [".writing-left", ".writing-open"].map(|name| folder.join(name));
        fs::write(&left, "half").unwrap();
        let file = File::create(&open).unwrap();
        mark(&file);
        fs::write(folder.join("kept"), "whole").unwrap();
        remove_left(&folder);
        let names = fs::read_dir(&folder).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [".writing-open", "kept"]);
        drop(file);
        remove_left(&folder);
        assert!(!open.exists());
        fs::remove_dir_all(&folder).unwrap();
        // There is nothing to remove, which is no error.
        remove_left(&folder);
    }
}
