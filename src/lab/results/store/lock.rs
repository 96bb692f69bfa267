//! [`Lock`]: only one program at a time writes to a results folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::results::ResultsError;

const TRIES: u32 = 6;
const TRY_EVERY: Duration = Duration::from_millis(100);

/// A locked file; the operating system unlocks it when the program ends, even after a crash.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "holds the lock for as long as it lives")] File);

impl Lock {
    pub(super) fn acquire(results: &Path, path: &Path) -> Result<Self, ResultsError> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let file = options.open(path);
        let mut file = file.map_err(ResultsError::system("write", path))?;
        match try_to_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let folder = results.to_owned();
                let holder = holder(&mut file);
                return Err(ResultsError::Locked { folder, holder });
            }
            Err(TryLockError::Error(source)) => {
                return Err(ResultsError::system("lock", path)(source));
            }
        }
        // The content only informs a program that finds the lock taken: a failed write is ignored.
        let note = format!("process {}", std::process::id());
        let emptied = file.set_len(0);
        let _ = emptied.and_then(|()| file.write_all(note.as_bytes()));
        Ok(Self(file))
    }
}

/// Locks the file; tries again for half a second, since a reader, or a child process of a program that has just ended,
/// may briefly hold the lock.
pub(super) fn try_to_lock(file: &File) -> Result<(), TryLockError> {
    for _ in 1..TRIES {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => thread::sleep(TRY_EVERY),
            done => return done,
        }
    }
    file.try_lock()
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text) {
        Ok(1..) => text.trim().to_owned(),
        _ => "another process".into(),
    }
}
