//! `checkpoints/index.csv`: the cell and seed that each checkpoint file belongs to.

use std::path::Path;

use serde::Serialize;

use crate::base::temporary::remove_abandoned;

use super::ResultsError;
use super::files::{remove, write_if_changed};
use super::write::csv_of;

/// Folder of the checkpoints inside a results folder.
pub(super) const FOLDER: &str = "checkpoints";

/// A line of `checkpoints/index.csv`, for one checkpoint file that exists.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct CheckpointRow {
    /// Path of the file relative to `checkpoints/`, with `/` between folder and name.
    pub file: String,
    /// Readable key of the cell.
    pub key: String,
    /// Seed of the run.
    pub seed: u64,
    /// Which weights: `raw` or `average`.
    pub weights: &'static str,
    /// Name of the model in the manifest.
    pub model: String,
    /// Name of the dataset in the manifest.
    pub dataset: String,
}

/// Writes `checkpoints/index.csv` in the results folder: one line per checkpoint file, in the order of `rows`. Without
/// rows the index is removed; so are temporary files left by a killed program. The caller holds the store's lock.
///
/// # Errors
/// [`ResultsError::System`].
pub fn write_checkpoint_index(folder: &Path, rows: &[CheckpointRow]) -> Result<(), ResultsError> {
    let folder = folder.join(FOLDER);
    remove_abandoned(&folder);
    let path = folder.join("index.csv");
    if rows.is_empty() {
        return remove(&path);
    }
    write_if_changed(&path, &csv_of(rows)).map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_a_killed_writer_left_beside_the_index_is_removed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let checkpoints = folder.path().join(FOLDER);
        fs::create_dir(&checkpoints).expect("a folder");
        fs::write(checkpoints.join(".writing-83nx5W"), "fi").expect("writes");
        let row = CheckpointRow {
            file: "2f/mlp-seed1.safetensors".into(),
            key: "model=mlp".into(),
            seed: 1,
            weights: "raw",
            model: "mlp".into(),
            dataset: "plane".into(),
        };
        write_checkpoint_index(folder.path(), &[row]).expect("an index");
        let names = fs::read_dir(&checkpoints).expect("a folder");
        let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["index.csv"]);
    }
}
