//! Class folders of PNG or JPEG files.
//!
//! ```text
//!  path ─listing─▶ classes, files ─decode─▶ RGB ─augment─▶ RGB ─resize─▶ numbers in [-1, 1]
//!                                    └─ kept in memory, or in a file that is mapped (`pixel_file`)
//!  generate ─texture─▶ the same folder, written once
//! ```

mod augment;
mod decode;
mod folder;
mod generate;
mod listing;
mod parts;
mod pixel_file;
mod pixels;
mod texture;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::split::{take_stratified, validation_rows};
use super::{
    DatasetError, DatasetFacts, Features, FingerprintCache, ImageSize, OpenDataset, Splits, Target,
};
use crate::base::Seed;
use folder::ImageFolder;
use generate::Presence;
use listing::Listing;
use parts::Part;

/// Class folders of PNG or JPEG files: one folder a class, in alphabetical order; every image resized to `size`.
///
/// Images are 8-bit RGB once decoded: grey and palette are expanded, 16 bits lose the lower eight, alpha is dropped
/// (as Pillow's `convert("RGB")` does), EXIF orientation is ignored. Values are `pixel / 127.5 - 1`.
///
/// Where `path` has a folder `train` and one of `val` (`valid`, `validation`) and `test`, these are the splits, each with class
/// folders; the classes are those of `train`. Without a folder to validate on, `validation.fraction` of every class is taken
/// from the rows to train on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ImageFolderSpec {
    /// The folder, relative to the manifest.
    pub path: PathBuf,
    /// Height and width in pixels that images are resized to (bilinear).
    #[serde(default = "default_size")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub size: usize,
    /// Random changes of training images.
    #[serde(default)]
    pub augment: AugmentSpec,
    /// Generates the images where the folder does not exist. A folder that was generated with other settings is an error;
    /// one that was not generated is used as it is.
    #[serde(default)]
    pub generate: Option<GenerateSpec>,
}

fn default_size() -> usize {
    40
}

/// Images as a model reads them.
fn features(size: usize) -> Features {
    Features::Image(ImageSize {
        height: size,
        width: size,
        channels: 3,
    })
}

/// Random changes of a training image, drawn anew for every epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AugmentSpec {
    /// Probability of a horizontal flip.
    #[schemars(range(min = 0, max = 1))]
    pub flip: f64,
    /// Largest rotation in degrees, in both directions (nearest pixel, zero fill).
    #[schemars(range(min = 0, max = 180))]
    pub rotation: f64,
    /// Brightness factor from `1 - brightness` to `1 + brightness`.
    #[schemars(range(min = 0, max = 1))]
    pub brightness: f64,
    /// Contrast factor from `1 - contrast` to `1 + contrast`.
    #[schemars(range(min = 0, max = 1))]
    pub contrast: f64,
}

impl AugmentSpec {
    fn is_identity(&self) -> bool {
        let all = [self.flip, self.rotation, self.brightness, self.contrast];
        all.iter().all(|&amount| amount == 0.0)
    }

    fn check(&self) -> Result<(), DatasetError> {
        let ranges = [
            ("flip", self.flip, 1.0),
            ("rotation", self.rotation, 180.0),
            ("brightness", self.brightness, 1.0),
            ("contrast", self.contrast, 1.0),
        ];
        match ranges
            .iter()
            .find(|(_, value, most)| !(0.0..=*most).contains(value))
        {
            None => Ok(()),
            Some((name, value, most)) => Err(DatasetError::Mismatch(format!(
                "`augment.{name}` must be from 0 to {most}, not {value}"
            ))),
        }
    }
}

impl Default for AugmentSpec {
    fn default() -> Self {
        Self {
            flip: 0.5,
            rotation: 15.0,
            brightness: 0.1,
            contrast: 0.1,
        }
    }
}

/// A generator of images (`generate` of an image folder).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum GenerateSpec {
    /// Surface textures, some with a defect.
    SurfaceTextures {
        /// Images without a defect.
        normal: usize,
        /// Images with a defect.
        abnormal: usize,
        /// Height and width in pixels.
        #[schemars(range(min = 1, max = 1_000_000))]
        size: usize,
        /// Seed of the generator.
        seed: u64,
    },
}

impl ImageFolderSpec {
    pub(super) fn facts(
        &self,
        validation_fraction: f64,
        cache: &mut FingerprintCache,
    ) -> Result<DatasetFacts, DatasetError> {
        self.check()?;
        if let Presence::ToBeGenerated(counts) = self.presence()? {
            let (samples, classes) = (counts.iter().sum(), counts.len());
            let validation = validation_rows(samples, validation_fraction)?;
            let sizes = [samples - validation, validation, 0];
            return Ok(self.facts_of(sizes, classes, None));
        }
        let listing = Listing::of(&self.path)?;
        let fingerprint = cache.files_digest(listing.named())?;
        listing.check_headers(&self.path, cache)?;
        let splits = splits(&listing, Seed(0), validation_fraction)?;
        let sizes = [splits.train, splits.validation, splits.test].map(|rows| rows.len());
        Ok(self.facts_of(sizes, listing.class_names.len(), Some(fingerprint)))
    }

    fn facts_of(
        &self,
        sizes: [usize; 3],
        classes: usize,
        fingerprint: Option<String>,
    ) -> DatasetFacts {
        let target = Target::Class { classes };
        DatasetFacts::new(sizes, features(self.size), target, fingerprint)
    }

    /// Whether there is a folder to validate on, so that `validation.fraction` takes nothing.
    pub(super) fn splits_itself(&self) -> bool {
        let folders = parts::folders(&self.path).unwrap_or_default();
        folders.iter().any(|(_, part)| *part == Part::Validation)
    }

    pub(super) fn prepare(
        &self,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<bool, DatasetError> {
        match (&self.generate, self.presence()?) {
            (Some(spec), Presence::ToBeGenerated(_)) => generate::write(spec, &self.path, progress),
            _ => Ok(false),
        }
    }

    pub(super) fn open(
        &self,
        seed: Seed,
        validation_fraction: f64,
    ) -> Result<OpenDataset, DatasetError> {
        self.check()?;
        let listing = Listing::of(&self.path)?;
        let splits = splits(&listing, seed, validation_fraction)?;
        let dataset = ImageFolder::new(listing, self.size, self.augment.clone());
        Ok(OpenDataset::new(dataset, splits))
    }

    fn presence(&self) -> Result<Presence, DatasetError> {
        match &self.generate {
            Some(spec) => generate::presence(spec, &self.path),
            None => Ok(Presence::There),
        }
    }

    fn check(&self) -> Result<(), DatasetError> {
        self.augment.check()?;
        if (1..=decode::MAX_SIDE).contains(&self.size) {
            return Ok(());
        }
        Err(DatasetError::Mismatch(format!(
            "`size` must be from 1 to {}, not {}",
            decode::MAX_SIDE,
            self.size
        )))
    }
}

/// The rows of each split: those that folders say; else `validation_fraction` of every class to validate on.
fn splits(listing: &Listing, seed: Seed, validation_fraction: f64) -> Result<Splits, DatasetError> {
    let [mut train, mut validation, test] =
        [Part::Train, Part::Validation, Part::Test].map(|part| listing.rows_of(part));
    let count = validation_rows(train.len(), validation_fraction)?;
    if !listing.has_validation {
        let classes = listing.class_names.len();
        validation = take_stratified(&mut train, &listing.labels, classes, count, 0, seed);
    }
    Ok(Splits {
        train,
        validation,
        test,
    })
}

#[cfg(test)]
mod tests;
