//! Finds the stores (finished runs, on disk) of the other results folders beside this one in `reports/`: their run
//! times serve estimates.

use std::fs;
use std::path::{Path, PathBuf};

use crate::results::files::entries;

use super::Store;

/// A neighbouring store with more cells than this is not read for estimates: a long search would take too long to read.
const CELLS: usize = 1000;

impl Store {
    /// The stores of the neighbouring results folders, as far as they can be read.
    pub fn siblings(&self) -> Vec<Self> {
        let results = self.folder.parent();
        let Some(root) = results.and_then(Path::parent) else {
            return Vec::new();
        };
        let folders = entries(root).unwrap_or_default().into_iter();
        let is_readable = |folder: &PathBuf| {
            let cells = fs::read_dir(folder.join(".store/runs"));
            cells.is_ok_and(|cells| cells.count() <= CELLS)
        };
        let others = folders.filter(|folder| Some(folder.as_path()) != results);
        let readable = others.filter(is_readable);
        readable
            .filter_map(|folder| Self::read(&folder).ok())
            .collect()
    }
}
