//! [`OpenDataset`]: a dataset with its splits.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Dataset, Splits, Target};

/// A dataset ready to train on, with its splits for one seed.
#[derive(Clone)]
pub struct OpenDataset {
    /// The samples, read by row number.
    pub dataset: Arc<dyn Dataset>,
    /// The rows of each split.
    pub splits: Splits,
    /// A second test set from another random stream, if the dataset is generated: no row was trained on, and features
    /// and target are normalised like the training rows ([`Dataset::normalisation`]).
    pub fresh: Option<Arc<dyn Dataset>>,
}

impl OpenDataset {
    /// Number of training rows of each class; empty if the target is not a class.
    pub fn training_rows_by_class(&self) -> Vec<usize> {
        let Target::Class { classes } = self.dataset.target() else {
            return Vec::new();
        };
        let mut counts = vec![0; classes];
        let labels = self.dataset.labels();
        let trained = self.splits.train.iter();
        for label in trained.filter_map(|row| labels.get(*row as usize)) {
            if let Some(count) = counts.get_mut(*label as usize) {
                *count += 1;
            }
        }
        counts
    }

    pub(super) fn new(dataset: impl Dataset + 'static, splits: Splits) -> Self {
        Self {
            dataset: Arc::new(dataset),
            splits,
            fresh: None,
        }
    }

    /// Writes a CSV file `row,part`: the name of every row in its source ([`super::Dataset::source`]), and its split,
    /// `train`, `validation` or `test`.
    ///
    /// # Errors
    /// Those of writing a file.
    pub fn write_split(&self, path: &Path) -> io::Result<()> {
        let Splits {
            train,
            validation,
            test,
        } = &self.splits;
        let parts = [("train", train), ("validation", validation), ("test", test)];
        let rows = parts
            .into_iter()
            .flat_map(|(part, rows)| rows.iter().map(move |&row| (row, part)));
        let mut rows: Vec<(u32, &str)> = rows.collect();
        rows.sort_unstable();
        let mut table = csv::Writer::from_path(path)?;
        table.write_record(["row", "part"])?;
        for (row, part) in rows {
            table.write_record([self.dataset.source(row).as_str(), part])?;
        }
        table.flush()
    }
}
