//! MNIST in IDX files.

mod idx;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::split::{take_stratified, validation_rows};
use super::table::gather;
use super::{
    Dataset, DatasetError, DatasetFacts, Features, FingerprintCache, Normalisation, OpenDataset,
    SampleMut, SamplesMut, Splits, Target,
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

/// Images and labels of one split.
struct Pair {
    images: PathBuf,
    labels: PathBuf,
}

impl MnistSpec {
    pub(super) fn facts(
        &self,
        validation_fraction: f64,
        cache: &mut FingerprintCache,
    ) -> Result<DatasetFacts, DatasetError> {
        let pairs = [self.pair("train")?, self.pair("t10k")?];
        let mut labels = Vec::new();
        let mut sizes = [0; 2];
        let mut forms = [Features::Vector { len: 0 }; 2];
        for (index, pair) in pairs.iter().enumerate() {
            let dimensions = idx::header(&pair.images, 3)?;
            labels.extend(pair.read_labels(dimensions[0])?);
            sizes[index] = dimensions[0];
            forms[index] = form(&dimensions);
        }
        self.same_form(forms)?;
        let validation = validation_rows(sizes[0], validation_fraction)?;
        let files = pairs.iter().flat_map(|pair| [&pair.images, &pair.labels]);
        let names = ["train-images", "train-labels", "t10k-images", "t10k-labels"];
        Ok(DatasetFacts {
            samples: sizes[0] + sizes[1],
            train_samples: sizes[0] - validation,
            validation_samples: validation,
            test_samples: sizes[1],
            features: forms[0],
            target: Target::Class {
                classes: classes(&labels),
            },
            fingerprint: Some(cache.files(names.into_iter().zip(files.map(PathBuf::as_path)))?),
        })
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
        Ok(OpenDataset {
            dataset: Arc::new(dataset),
            splits,
            fresh: None,
        })
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
    Features::Image {
        height: dimensions[1],
        width: dimensions[2],
        channels: 1,
    }
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

    fn read_labels(&self, images: usize) -> Result<Vec<u32>, DatasetError> {
        let (dimensions, labels) = idx::read(&self.labels, 1)?;
        if dimensions[0] == images {
            return Ok(labels.into_iter().map(u32::from).collect());
        }
        let reason = format!(
            "{} labels for the {images} images of `{}`",
            dimensions[0],
            self.images.display()
        );
        Err(DatasetError::damaged(&self.labels, "at byte 4", reason))
    }
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

    fn read_rows(&self, rows: &[u32], samples: SamplesMut<'_>) -> Result<(), DatasetError> {
        let len = self.form.len();
        for (features, &row) in samples.features.chunks_exact_mut(len.max(1)).zip(rows) {
            let pixels = &self.pixels[row as usize * len..][..len];
            for (feature, &pixel) in features.iter_mut().zip(pixels) {
                *feature = f32::from(pixel) / 255.0;
            }
        }
        gather(&self.labels, 1, rows, samples.labels);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
