//! MNIST in IDX files.

mod idx;

use std::path::{Path, PathBuf};

use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::split::{take_stratified, validation_rows};
use super::{
    Dataset, DatasetError, DatasetFacts, Features, FingerprintCache, ImageSize, Normalisation,
    OpenDataset, SampleMut, Splits, Target,
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
    form: Features,
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
        self.same_form([train.form, test.form])?;
        let validation = validation_rows(train.rows, validation_fraction)?;
        let sizes = [train.rows - validation, validation, test.rows];
        let classes = train.classes.max(test.classes);
        let target = Target::Class { classes };
        Ok(DatasetFacts::new(
            sizes,
            train.form,
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
        let (train_form, mut pixels, mut labels) = train.read()?;
        let train_rows = labels.len();
        let (test_form, test_pixels, test_labels) = test.read()?;
        self.same_form([train_form, test_form])?;
        pixels.extend(test_pixels);
        labels.extend(test_labels);
        let count = validation_rows(train_rows, validation_fraction)?;
        let classes = classes(&labels);
        let mut train: Vec<u32> = (0..train_rows as u32).collect();
        let validation = take_stratified(&mut train, &labels, classes, count, 0, seed);
        let splits = Splits {
            train,
            validation,
            test: (train_rows as u32..labels.len() as u32).collect(),
        };
        let dataset = Bytes {
            form: train_form,
            pixels,
            labels,
            class_names: (0..classes).map(|class| class.to_string()).collect(),
        };
        Ok(OpenDataset::new(dataset, splits))
    }

    fn pair(&self, split: &str) -> Result<Pair, DatasetError> {
        Ok(Pair {
            images: find(&self.path, &format!("{split}-images-idx3-ubyte"))?,
            labels: find(&self.path, &format!("{split}-labels-idx1-ubyte"))?,
        })
    }

    fn same_form(&self, [train, test]: [Features; 2]) -> Result<(), DatasetError> {
        if train == test {
            return Ok(());
        }
        Err(DatasetError::Mismatch(format!(
            "the training and the test images in `{}` differ in size",
            self.path.display()
        )))
    }
}

/// `name` or `name.gz` in `folder`.
fn find(folder: &Path, name: &str) -> Result<PathBuf, DatasetError> {
    let packed = format!("{name}.gz");
    let candidates = [folder.join(name), folder.join(&packed)];
    let found = candidates.into_iter().find(|path| path.is_file());
    found.ok_or_else(|| DatasetError::Unreadable {
        path: folder.display().to_string(),
        reason: format!("it has neither `{name}` nor `{packed}`"),
    })
}

fn form(dimensions: &[usize]) -> Features {
    Features::Image(ImageSize {
        height: dimensions[1],
        width: dimensions[2],
        channels: 1,
    })
}

fn classes(labels: &[u32]) -> usize {
    labels.iter().max().map_or(0, |&last| last as usize + 1)
}

impl Pair {
    fn read(&self) -> Result<(Features, Vec<u8>, Vec<u32>), DatasetError> {
        let (dimensions, pixels) = idx::read(&self.images, 3)?;
        let labels = self.read_labels(dimensions[0])?;
        Ok((form(&dimensions), pixels, labels))
    }

    /// Size, form and classes of the two files. Each file is read once, then the cache is used.
    fn outline(&self, cache: &mut FingerprintCache) -> Result<Outline, DatasetError> {
        let (images, _) = sizes(&self.images, 3, cache)?;
        let (labels, largest) = sizes(&self.labels, 1, cache)?;
        self.same_count(images[0], labels[0])?;
        Ok(Outline {
            rows: images[0],
            form: form(&images),
            classes: largest.map_or(0, |largest| largest + 1),
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

/// Sizes of the dimensions of an IDX file, and its largest byte; `cache` stores both.
fn sizes(
    path: &Path,
    dimensions: usize,
    cache: &mut FingerprintCache,
) -> Result<(Vec<usize>, Option<usize>), DatasetError> {
    let known = cache.cached_fact(path, &format!("idx {dimensions}"), || {
        let (sizes, bytes) = idx::read(path, dimensions)?;
        let largest = bytes.into_iter().max().map(usize::from);
        let numbers = sizes.into_iter().chain(largest);
        let numbers: Vec<String> = numbers.map(|number| number.to_string()).collect();
        Ok(numbers.join(" "))
    })?;
    let mut sizes: Vec<usize> = known.split(' ').filter_map(|n| n.parse().ok()).collect();
    if sizes.len() < dimensions {
        // The cached text has another format.
        sizes = idx::header(path, dimensions)?;
    }
    let largest = sizes.get(dimensions).copied();
    sizes.truncate(dimensions);
    Ok((sizes, largest))
}

/// Images as bytes: a quarter of the memory of floats.
struct Bytes {
    form: Features,
    pixels: Vec<u8>,
    labels: Vec<u32>,
    class_names: Vec<String>,
}

impl Dataset for Bytes {
    fn rows(&self) -> usize {
        self.labels.len()
    }

    fn features(&self) -> Features {
        self.form
    }

    fn target(&self) -> Target {
        Target::Class {
            classes: self.class_names.len(),
        }
    }

    fn labels(&self) -> &[u32] {
        &self.labels
    }

    fn class_names(&self) -> &[String] {
        &self.class_names
    }

    fn normalisation(&self) -> Normalisation {
        Normalisation::of_pixels(0.0, 255.0)
    }

    fn read(
        &self,
        row: u32,
        _augmentation: Option<&mut ChaCha8Rng>,
        sample: SampleMut<'_>,
    ) -> Result<(), DatasetError> {
        let len = self.form.len();
        let pixels = &self.pixels[row as usize * len..][..len];
        for (feature, &pixel) in sample.features.iter_mut().zip(pixels) {
            *feature = f32::from(pixel) / 255.0;
        }
        *sample.label = self.labels[row as usize];
        Ok(())
    }
}

#[cfg(test)]
mod tests;
