//! MNIST in IDX files.

mod idx;

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::split::validation_rows;
use super::table::Table;
use super::{
    DatasetError, DatasetFacts, Features, FingerprintCache, ImageSize, OpenDataset, Splits, Target,
    Targets,
};
use crate::base::Seed;

/// MNIST, or anything in its IDX format, gzip or not.
///
/// Pixels are divided by 255. The `train-…` pair is trained on, less `validation.fraction` of every class drawn from
/// the run's seed; the `t10k-…` pair is the test split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MnistSpec {
    /// Folder with `train-images-idx3-ubyte`, `train-labels-idx1-ubyte` and the `t10k-…` pair (each also as `.gz`).
    pub path: PathBuf,
}

struct Pair {
    images: PathBuf,
    labels: PathBuf,
}

struct Outline {
    rows: usize,
    size: ImageSize,
    classes: usize,
}

impl MnistSpec {
    pub(super) fn facts(
        &self,
        validation_fraction: f64,
        cache: &mut FingerprintCache,
    ) -> Result<DatasetFacts, DatasetError> {
        let pairs = [self.pair("train")?, self.pair("t10k")?];
        let files = pairs.iter().flat_map(|pair| [&pair.images, &pair.labels]);
        let names = ["train-images", "train-labels", "t10k-images", "t10k-labels"];
        let fingerprint = cache.files_digest(names.into_iter().zip(files.map(PathBuf::as_path)))?;
        let [train, test] = [pairs[0].outline(cache)?, pairs[1].outline(cache)?];
        self.same_size([train.size, test.size])?;
        let validation = validation_rows(train.rows, validation_fraction)?;
        let sizes = [train.rows - validation, validation, test.rows];
        let classes = train.classes.max(test.classes);
        let target = Target::Class { classes };
        Ok(DatasetFacts::new(
            sizes,
            Features::Image(train.size),
            target,
            Some(fingerprint),
        ))
    }

    pub(super) fn open(
        &self,
        seed: Seed,
        validation_fraction: f64,
    ) -> Result<OpenDataset, DatasetError> {
        let (train, test) = (self.pair("train")?, self.pair("t10k")?);
        let (size, mut pixels, mut labels) = train.read()?;
        let (of_test, test_pixels, test_labels) = test.read()?;
        self.same_size([size, of_test])?;
        let mut splits = Splits::consecutive([labels.len(), 0, test_labels.len()]);
        let count = validation_rows(labels.len(), validation_fraction)?;
        pixels.extend(test_pixels);
        labels.extend(test_labels);
        splits.move_to_validation(count, &labels, seed);
        let classes = labels.iter().max().map_or(0, |last| *last as usize + 1);
        let targets = Targets::of_numbered(labels, classes);
        let table = Table::of_pixels(size, pixels, (0.0, 255.0), targets);
        Ok(OpenDataset::new(table, splits))
    }

    fn pair(&self, split: &str) -> Result<Pair, DatasetError> {
        Ok(Pair {
            images: find(&self.path, &format!("{split}-images-idx3-ubyte"))?,
            labels: find(&self.path, &format!("{split}-labels-idx1-ubyte"))?,
        })
    }

    fn same_size(&self, [train, test]: [ImageSize; 2]) -> Result<(), DatasetError> {
        if train == test {
            return Ok(());
        }
        Err(DatasetError::Mismatch(format!(
            "the training and the test images in `{}` differ in size",
            self.path.display()
        )))
    }
}

/// The path of `name` or `name.gz` in `folder`; an error if neither exists.
fn find(folder: &Path, name: &str) -> Result<PathBuf, DatasetError> {
    let packed = format!("{name}.gz");
    let candidates = [folder.join(name), folder.join(&packed)];
    let found = candidates.into_iter().find(|path| path.is_file());
    found.ok_or_else(|| DatasetError::Unreadable {
        path: folder.display().to_string(),
        reason: format!("it has neither `{name}` nor `{packed}`"),
    })
}

fn size(dimensions: &[usize]) -> ImageSize {
    ImageSize {
        height: dimensions[1],
        width: dimensions[2],
        channels: 1,
    }
}

impl Pair {
    fn read(&self) -> Result<(ImageSize, Vec<u8>, Vec<u32>), DatasetError> {
        let (dimensions, pixels) = idx::read(&self.images, 3)?;
        let labels = self.read_labels(dimensions[0])?;
        Ok((size(&dimensions), pixels, labels))
    }

    /// Numbers of samples and classes, and image size, from the two files (images and labels). Cached, so that an
    /// unchanged file is read only once.
    fn outline(&self, cache: &mut FingerprintCache) -> Result<Outline, DatasetError> {
        let (images, _) = sizes(&self.images, 3, cache)?;
        let (labels, largest) = sizes(&self.labels, 1, cache)?;
        self.same_count(images[0], labels[0])?;
        Ok(Outline {
            rows: images[0],
            size: size(&images),
            classes: largest.map_or(0, |largest| usize::from(largest) + 1),
        })
    }

    fn read_labels(&self, images: usize) -> Result<Vec<u32>, DatasetError> {
        let (dimensions, labels) = idx::read(&self.labels, 1)?;
        self.same_count(images, dimensions[0])?;
        Ok(labels.into_iter().map(u32::from).collect())
    }

    fn same_count(&self, images: usize, labels: usize) -> Result<(), DatasetError> {
        if images == labels {
            return Ok(());
        }
        let reason = format!(
            "{labels} labels for the {images} images of `{}`",
            self.images.display()
        );
        Err(DatasetError::damaged(&self.labels, "at byte 4", reason))
    }
}

/// Sizes of the dimensions of an IDX file, and the largest of its bytes; both are cached in `cache`.
fn sizes(
    path: &Path,
    dimensions: usize,
    cache: &mut FingerprintCache,
) -> Result<(Vec<usize>, Option<u8>), DatasetError> {
    cache.cached_fact(path, &format!("idx {dimensions}"), || {
        let (sizes, bytes) = idx::read(path, dimensions)?;
        Ok((sizes, bytes.into_iter().max()))
    })
}

#[cfg(test)]
mod tests;
