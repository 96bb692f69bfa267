//! Replaces `parquet.rs` in a build without the feature `parquet`.

use std::convert::Infallible;
use std::fs::File;
use std::path::Path;

use csv::StringRecord;

use super::super::DatasetError;

/// Rows of a Parquet file: uninhabited, since without the feature no file can be opened.
pub(super) struct Rows(Infallible);

impl Rows {
    /// # Errors
    /// Always: a message that the program was built without support for Parquet files.
    pub(super) fn open(path: &Path, _file: File) -> Result<(Self, Vec<String>), DatasetError> {
        Err(DatasetError::Mismatch(format!(
            "`{}` is a Parquet file, and this program was built without `parquet`: \
             `cargo install --locked --path . --features parquet` in its sources (docs/installing.md), or write a CSV file",
            path.display()
        )))
    }

    pub(super) fn next(
        &mut self,
        _path: &Path,
        _record: &mut StringRecord,
    ) -> Result<bool, DatasetError> {
        match self.0 {}
    }
}

/// Whether a panic of this thread is being converted into an error about a file.
pub fn is_converting_panic() -> bool {
    false
}
