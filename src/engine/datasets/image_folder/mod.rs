//! PNG or JPEG files of a folder: in class folders, or as a CSV file lists them.
//!
//! ```text
//!  path ─listing, labels─▶ files, targets, splits ─decode─▶ RGB or grey ─augment─▶ the same ─resize─▶ numbers in [-1, 1]
//!                                                           └─ kept in memory, or in a file that is mapped (`pixel_file`)
//!  generate ─texture─▶ the same folder, written once
//! ```

mod augment;
mod damaged;
mod decode;
mod folder;
mod generate;
mod labels;
mod listing;
mod new_images;
mod orientation;
mod parts;
mod pixel_file;
mod pixel_table;
mod pixels;
mod size;
mod texture;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Part;
use super::split::{take_stratified, validation_rows};
use super::{
    DatasetError, DatasetFacts, Features, FingerprintCache, ImageSize, OpenDataset, Splits, Target,
    TargetColumns,
};
use crate::base::Seed;
use decode::Decoding;
use folder::ImageFolder;
use generate::Presence;
use listing::Listing;

pub use augment::AugmentSpec;
pub use damaged::Damaged;
pub(super) use decode::MAX_SIDE;
pub(super) use pixel_table::{PixelTable, channels_last};
pub use size::Size;

/// PNG or JPEG files in class folders, one folder a class, in alphabetical order, or as `labels` lists them; every image resized to
/// `size`. docs/images.md.
///
/// Images are 8-bit RGB once decoded: grey and palette are expanded, 16-bit values become `value · 255 / 65535`, rounded, alpha is
/// dropped (as Pillow's `convert("RGB")` does), EXIF orientation is ignored unless `exif` is set. With `channels = 1` the luma of these values is taken, as
/// Pillow's `convert("L")`. Values are `pixel / 127.5 - 1`.
///
/// Where `path` has a folder `train`, and `val` (`valid`, `validation`) or `test` or both, these are the splits, each with class
/// folders; the classes are those of `train`. Without a folder to validate on, `validation.fraction` of every class is taken
/// from the rows to train on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ImageFolderSpec {
    /// The folder, relative to the manifest.
    pub path: PathBuf,
    /// A CSV file with a header, relative to `path`: the image in its first column, relative to `path` too, then what is to be
    /// predicted. Images then need no class folders, and those that it does not name are not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<PathBuf>,
    /// The column of `labels` that is to be predicted, or a list of columns of numbers or labels; not needed if it is the only one.
    #[serde(default, skip_serializing_if = "TargetColumns::is_empty")]
    pub target: TargetColumns,
    /// Whether the column of `labels` is a class, each different text one of them; of several columns, whether each is a label that an
    /// image has or not: 1 or 0, `true` or `false`. Otherwise it is a number to predict, which is normalised by the training rows' mean
    /// and standard deviation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub classes: bool,
    /// Pixels that images are resized to (bilinear): those of each side, or `[height, width]`.
    #[serde(default = "default_size")]
    #[schemars(schema_with = "size::schema")]
    pub size: Size,
    /// 3 for red, green and blue, 1 for grey values.
    #[serde(default = "default_channels", skip_serializing_if = "is_rgb")]
    #[schemars(range(min = 1, max = 3), extend("default" = 3))]
    pub channels: usize,
    /// Whether pictures are turned upright, as the orientation in their EXIF data says: Pillow's `ImageOps.exif_transpose`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[schemars(extend("default" = false))]
    pub exif: bool,
    /// What is done with images that cannot be decoded.
    #[serde(default, skip_serializing_if = "is_error")]
    #[schemars(extend("default" = "error"))]
    pub damaged: Damaged,
    /// Random changes of training images.
    #[serde(default)]
    pub augment: AugmentSpec,
    /// Generates the images where the folder does not exist. A folder that was generated with other settings is an error;
    /// one that was not generated is used as it is.
    #[serde(default)]
    pub generate: Option<GenerateSpec>,
}

const fn default_size() -> Size {
    Size::square(40)
}

const fn default_channels() -> usize {
    3
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_rgb(channels: &usize) -> bool {
    *channels == default_channels()
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_error(damaged: &Damaged) -> bool {
    *damaged == Damaged::Error
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
    /// The images in the class folders of `path` with all other settings as they are by default.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            labels: None,
            target: TargetColumns::default(),
            classes: false,
            size: default_size(),
            channels: default_channels(),
            exif: false,
            damaged: Damaged::default(),
            augment: AugmentSpec::default(),
            generate: None,
        }
    }

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
        let mut listing = self.listing()?;
        let labels = self.labels.as_ref().map(|labels| self.path.join(labels));
        let labels = labels.iter().map(|path| ("labels", path.as_path()));
        let fingerprint = cache.files_digest(listing.named().chain(labels))?;
        let remark = match self.damaged {
            Damaged::Error => {
                listing.check_headers(&self.path, cache)?;
                None
            }
            Damaged::LeaveOut => {
                let reasons = damaged::reasons(&listing.files, cache)?;
                let remark = listing.damaged(&reasons, " of all splits");
                let damaged: Vec<bool> = reasons.iter().map(|why| !why.is_empty()).collect();
                listing.leave_out(&damaged)?;
                remark
            }
        };
        let splits = splits(&listing, Seed(0), validation_fraction)?;
        let sizes = [splits.train, splits.validation, splits.test].map(|rows| rows.len());
        Ok(DatasetFacts {
            remarks: remark.into_iter().collect(),
            ..self.facts_of(sizes, listing.class_names.len(), Some(fingerprint))
        })
    }

    fn facts_of(
        &self,
        sizes: [usize; 3],
        classes: usize,
        fingerprint: Option<String>,
    ) -> DatasetFacts {
        DatasetFacts {
            mixes: self.augment.mixes(),
            ..DatasetFacts::new(sizes, self.features(), self.target_of(classes), fingerprint)
        }
    }

    fn listing(&self) -> Result<Listing, DatasetError> {
        match &self.labels {
            Some(labels) => labels::listing(self, labels),
            None => Listing::of(&self.path),
        }
    }

    /// Whether targets are numbers, not classes.
    pub(super) fn predicts_numbers(&self) -> bool {
        self.labels.is_some() && !self.classes
    }

    /// Whether each target column is a label that an image has or not.
    pub(super) fn predicts_labels(&self) -> bool {
        self.labels.is_some() && self.classes && self.target.len() > 1
    }

    /// The form of a target, with so many classes.
    fn target_of(&self, classes: usize) -> Target {
        if self.predicts_labels() {
            let len = self.target.len();
            return Target::Labels { len };
        }
        if self.predicts_numbers() {
            let len = self.target.len().max(1);
            return Target::Values { len };
        }
        Target::Class { classes }
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
        let mut listing = self.listing()?;
        if self.damaged == Damaged::LeaveOut {
            listing.leave_out(&damaged::found(&listing.files)?)?;
        }
        let splits = splits(&listing, seed, validation_fraction)?;
        let dataset = ImageFolder::new(listing, self.clone(), &splits.train);
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
        self.check_labels()?;
        if self.predicts_numbers() {
            self.augment.check_numbers("numbers")?;
        }
        if self.predicts_labels() {
            self.augment.check_numbers("labels")?;
        }
        let sides = 1..=MAX_SIDE;
        let Size { height, width } = self.size;
        for side in [height, width] {
            if !sides.contains(&side) {
                return Err(DatasetError::Mismatch(format!(
                    "`size` must be from 1 to {MAX_SIDE}, not {side}"
                )));
            }
        }
        if [1, 3].contains(&self.channels) {
            return Ok(());
        }
        Err(DatasetError::Mismatch(format!(
            "`channels` must be 3 (RGB) or 1 (grey), not {}",
            self.channels
        )))
    }

    fn check_labels(&self) -> Result<(), DatasetError> {
        let wrong = match &self.labels {
            None if !self.target.is_empty() => {
                "`target` names columns of `labels`, which is not set"
            }
            None if self.classes => "`classes` is for a column of `labels`, which is not set",
            Some(_) if self.generate.is_some() => {
                "`labels` are of images that are there, `generate` writes others"
            }
            _ => return Ok(()),
        };
        Err(DatasetError::Mismatch(wrong.to_owned()))
    }

    fn decoding(&self) -> Decoding {
        Decoding {
            channels: self.channels,
            is_upright: self.exif,
        }
    }

    /// Images as a model reads them.
    fn features(&self) -> Features {
        Features::Image(ImageSize {
            height: self.size.height,
            width: self.size.width,
            channels: self.channels,
        })
    }
}

/// The rows of each split: those that folders say; else `validation_fraction` of every class to validate on.
fn splits(listing: &Listing, seed: Seed, validation_fraction: f64) -> Result<Splits, DatasetError> {
    let [mut train, mut validation, test] = Part::ALL.map(|part| listing.rows_of(part));
    let count = validation_rows(train.len(), validation_fraction)?;
    if !listing.has_validation {
        // Numbers are drawn like images of one class.
        let one_class = vec![0; listing.files.len()];
        let (labels, classes) = match listing.class_names.len() {
            0 => (&one_class, 1),
            classes => (&listing.labels, classes),
        };
        validation = take_stratified(&mut train, labels, classes, count, 0, seed);
    }
    Ok(Splits {
        train,
        validation,
        test,
    })
}

#[cfg(test)]
mod tests;
