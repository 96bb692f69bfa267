//! CIFAR-10 and CIFAR-100 in their binary version.

mod files;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::split::validation_rows;
use super::table::Table;
use super::{
    AugmentSpec, DatasetError, DatasetFacts, Features, FingerprintCache, OpenDataset, Splits,
    Target, Targets,
};
use crate::base::Seed;
use crate::manifest::is_default;
use files::{Files, SIZE};

pub use files::CifarLabels;

/// CIFAR-10 or CIFAR-100 in the binary version, whichever is in the folder: images of 32 × 32 pixels, red, green and blue.
///
/// Values are `pixel / 127.5 - 1`. `test_batch.bin` (`test.bin`) is the test split; the other files are trained on, less
/// `validation.fraction` of every class drawn from the run's seed.
///
/// # Source
/// A. Krizhevsky: Learning Multiple Layers of Features from Tiny Images, 2009; <https://www.cs.toronto.edu/~kriz/cifar.html>,
/// "Binary version".
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CifarSpec {
    /// Folder with `data_batch_1.bin` to `data_batch_5.bin`, `test_batch.bin` and `batches.meta.txt` (CIFAR-10), or with `train.bin`,
    /// `test.bin` and `fine_label_names.txt` or `coarse_label_names.txt` (CIFAR-100), relative to the manifest.
    pub path: PathBuf,
    /// Classes of CIFAR-100: the 100 fine or the 20 coarse ones.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend("default" = "fine"))]
    pub labels: CifarLabels,
    /// Random changes of training images; without it there are none. docs/images.md.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub augment: Option<AugmentSpec>,
}

impl CifarSpec {
    pub(super) fn facts(
        &self,
        validation_fraction: f64,
        cache: &mut FingerprintCache,
    ) -> Result<DatasetFacts, DatasetError> {
        let files = self.files()?;
        let named = files.named_paths();
        let fingerprint = cache.files_digest(named.iter().map(|(name, path)| (*name, &**path)))?;
        let [train, test] = files.rows(cache)?;
        let classes = files.class_names()?.len();
        let validation = validation_rows(train, validation_fraction)?;
        let facts = DatasetFacts::new(
            [train - validation, validation, test],
            Features::Image(SIZE),
            Target::Class { classes },
            Some(fingerprint),
        );
        Ok(DatasetFacts {
            mixes: self.augment.as_ref().is_some_and(AugmentSpec::mixes),
            ..facts
        })
    }

    pub(super) fn open(
        &self,
        seed: Seed,
        validation_fraction: f64,
    ) -> Result<OpenDataset, DatasetError> {
        let files = self.files()?;
        let images = files.read()?;
        let class_names = files.class_names()?;
        let test_rows = images.labels.len() - images.train_rows;
        let mut splits = Splits::consecutive([images.train_rows, 0, test_rows]);
        let count = validation_rows(images.train_rows, validation_fraction)?;
        splits.move_to_validation(count, &images.labels, seed);
        let targets = Targets::of_classes(images.labels, class_names);
        let table = Table::of_pixels(SIZE, images.pixels, (127.5, 127.5), targets);
        Ok(OpenDataset::new(
            table.augmented(self.augment.as_ref()),
            splits,
        ))
    }

    fn files(&self) -> Result<Files, DatasetError> {
        Files::of(&self.path, self.labels)
    }
}

#[cfg(test)]
mod tests;
