//! [`ImageFolderSpec`]: the settings of a dataset of images in a folder.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::{DatasetError, Features, ImageSize, Target, TargetColumns};
use super::augment::AugmentSpec;
use super::damaged::DamagedImages;
use super::decode::DecodeOptions;
use super::size::{self, Size};
use crate::manifest::is_default;

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
    /// Whether the column of `labels` holds classes (each distinct text is one); with several columns, whether each is
    /// a label that an image has or not: 1 or 0, `true` or `false`. Otherwise columns are numbers to predict,
    /// normalised by the training rows' mean and standard deviation.
    #[serde(default, skip_serializing_if = "is_default")]
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
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend("default" = false))]
    pub exif: bool,
    /// What is done with images that cannot be decoded.
    #[serde(default, skip_serializing_if = "is_default")]
    #[schemars(extend("default" = "error"))]
    pub damaged: DamagedImages,
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
        #[schemars(range(min = 8, max = 2048))]
        size: usize,
        /// Seed of the generator.
        seed: u64,
    },
}

impl ImageFolderSpec {
    /// The specification of the class folders in `path`, with default values of all other settings.
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            labels: None,
            target: TargetColumns::default(),
            classes: false,
            size: default_size(),
            channels: default_channels(),
            exif: false,
            damaged: DamagedImages::default(),
            augment: AugmentSpec::default(),
            generate: None,
        }
    }

    /// Whether targets are numbers, not classes.
    pub(in super::super) fn predicts_numbers(&self) -> bool {
        self.labels.is_some() && !self.classes
    }

    /// Whether each target column is a label that an image has or not.
    pub(in super::super) fn predicts_labels(&self) -> bool {
        self.labels.is_some() && self.classes && self.target.len() > 1
    }

    /// The form of a target; `classes` is the number of classes.
    pub(super) fn target_of(&self, classes: usize) -> Target {
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

    pub(super) fn check(&self) -> Result<(), DatasetError> {
        self.check_labels()?;
        if self.predicts_numbers() {
            self.augment.check_numbers("numbers")?;
        }
        if self.predicts_labels() {
            self.augment.check_numbers("labels")?;
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
                "`labels` describe existing images, but `generate` makes new ones: set only one of them"
            }
            _ => return Ok(()),
        };
        Err(DatasetError::Mismatch(wrong.to_owned()))
    }

    pub(super) fn decoding(&self) -> DecodeOptions {
        DecodeOptions {
            channels: self.channels,
            is_upright: self.exif,
        }
    }

    /// The form of an image's features.
    pub(super) fn features(&self) -> Features {
        Features::Image(ImageSize {
            height: self.size.height,
            width: self.size.width,
            channels: self.channels,
        })
    }
}
