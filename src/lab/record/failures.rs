//! `failures/`: the standard error of failed runs, one file per run (not in git).

use std::fs;
use std::io;
use std::path::Path;

use crate::event::RunOutcome;
use crate::results::store::RunKeys;

/// Writes the log of a failed run, or removes the log of an earlier failure.
pub(super) fn keep_log(folder: &Path, keys: &RunKeys, outcome: &RunOutcome) -> io::Result<()> {
    let name = format!("{}-{}-{}.log", keys.cell_hash, keys.seed, keys.block);
    let path = folder.join("failures").join(name);
    if outcome.status.is_failure() && !outcome.stderr.is_empty() {
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        return fs::write(&path, &outcome.stderr);
    }
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
