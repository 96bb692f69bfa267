//! Class folders of PNG or JPEG files.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Class folders of PNG or JPEG files: one folder a class, in alphabetical order; every image resized to `size`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ImageFolderSpec {
    /// The folder, relative to the manifest.
    pub path: PathBuf,
    /// Height and width in pixels that images are resized to (bilinear).
    #[serde(default = "default_size")]
    pub size: usize,
    /// Augmentation of training images.
    #[serde(default)]
    pub augment: AugmentSpec,
    /// Writes the folder when it is not there.
    #[serde(default)]
    pub generate: Option<GenerateSpec>,
}

fn default_size() -> usize {
    40
}

/// Random changes of a training image, drawn anew for every epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AugmentSpec {
    /// Probability of a horizontal flip.
    pub flip: f64,
    /// Largest rotation in degrees, either way (nearest pixel, zero fill).
    pub rotation: f64,
    /// Brightness factor from `1 - brightness` to `1 + brightness`.
    pub brightness: f64,
    /// Contrast factor from `1 - contrast` to `1 + contrast`.
    pub contrast: f64,
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

/// A generator of image files.
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
        size: usize,
        /// Seed of the generator.
        seed: u64,
    },
}

use super::{DatasetError, DatasetFacts, FingerprintCache, OpenDataset};
use crate::base::Seed;
impl ImageFolderSpec {
    pub(super) fn facts(
        &self,
        _f: f64,
        _c: &mut FingerprintCache,
    ) -> Result<DatasetFacts, DatasetError> {
        Err(DatasetError::Mismatch("not built yet".to_owned()))
    }
    pub(super) fn open(&self, _seed: Seed, _f: f64) -> Result<OpenDataset, DatasetError> {
        Err(DatasetError::Mismatch("not built yet".to_owned()))
    }
    pub(super) fn prepare(
        &self,
        _progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<bool, DatasetError> {
        Ok(false)
    }
}
