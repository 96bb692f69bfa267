//! [`AugmentSpec`]: random augmentations of training images, as in torchvision's transforms.
//!
//! ```text
//!  decoded image ─flip, rotation, brightness, contrast─▶ resized ─crop─▶ values in [-1, 1] ─erase─▶ features
//!  features of a batch ─mixup or cutmix (`crate::loader`)─▶ mixed features
//! ```

mod erase;
mod whole;

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::DatasetError;
use super::Size;
use super::pixels::Image;
use crate::manifest::is_default;
use erase::Rectangle;

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
    /// Black pixels around the resized image, from which a part of its size is then cut out at a random place: torchvision's
    /// `RandomCrop(size, padding=crop)`.
    #[schemars(range(min = 0, max = 1_000_000), extend("default" = 0))]
    #[serde(skip_serializing_if = "is_default")]
    pub crop: usize,
    /// Probability that a random rectangle is set to 0, the middle of the range of values: torchvision's
    /// `RandomErasing(p=erase)`, 2 to 33 % of the area, 0.3 to 3.3 times as high as wide.
    #[schemars(range(min = 0, max = 1), extend("default" = 0.0))]
    #[serde(skip_serializing_if = "is_default")]
    pub erase: f64,
    /// α of torchvision's `MixUp(alpha)`, 0 for none: every batch is `λ x + (1 - λ) x.roll(1, 0)` with λ of Beta(α, α), and its
    /// targets likewise. For `mlp` and `layers`.
    #[schemars(range(min = 0, max = 100), extend("default" = 0.0))]
    #[serde(skip_serializing_if = "is_default")]
    pub mixup: f64,
    /// α of torchvision's `CutMix(alpha)`, 0 for none: in every batch a rectangle of a share of Beta(α, α) comes from
    /// `x.roll(1, 0)`, and as large a share of the targets. For classes, and for `mlp` and `layers`. Where `mixup` is set too, each
    /// batch takes one of the two with probability 1/2.
    #[schemars(range(min = 0, max = 100), extend("default" = 0.0))]
    #[serde(skip_serializing_if = "is_default")]
    pub cutmix: f64,
}

impl AugmentSpec {
    /// No augmentation.
    pub const NONE: Self = Self {
        flip: 0.0,
        rotation: 0.0,
        brightness: 0.0,
        contrast: 0.0,
        crop: 0,
        erase: 0.0,
        mixup: 0.0,
        cutmix: 0.0,
    };

    pub(crate) fn is_identity(&self) -> bool {
        *self == Self::NONE
    }

    /// Whether batches are mixed (`mixup` or `cutmix`) after the images were augmented.
    pub(crate) fn mixes(&self) -> bool {
        self.mixup > 0.0 || self.cutmix > 0.0
    }

    /// Checks that the augmentation is possible for targets that are numbers or labels: `CutMix` is not, since such
    /// targets cannot be mixed by area. `targets` names the targets in the message.
    pub(in super::super) fn check_numbers(&self, targets: &str) -> Result<(), DatasetError> {
        if self.cutmix == 0.0 {
            return Ok(());
        }
        Err(DatasetError::Mismatch(format!(
            "`augment.cutmix` is for classes, the targets are {targets}; use `augment.mixup`"
        )))
    }

    /// Whether images are augmented before they are resized.
    pub(super) fn changes_originals(&self) -> bool {
        let all = [self.flip, self.rotation, self.brightness, self.contrast];
        all.iter().any(|amount| *amount != 0.0)
    }
}

impl Default for AugmentSpec {
    fn default() -> Self {
        Self {
            flip: 0.5,
            rotation: 15.0,
            brightness: 0.1,
            contrast: 0.1,
            ..Self::NONE
        }
    }
}

/// The random parameters with which one image is augmented.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in super::super) struct Draw {
    is_flipped: bool,
    /// Angle in degrees, counter-clockwise.
    rotation: f64,
    brightness: f32,
    contrast: f32,
    /// Rows and columns from the upper left corner of the padded image to that of the crop.
    crop: [usize; 2],
    /// Padding on each side in pixels.
    padding: usize,
    erased: Option<Rectangle>,
}

impl Draw {
    /// Draws the parameters. Six numbers are always drawn before those of an erased rectangle, so that disabling one
    /// augmentation does not alter the others; `size` is the size of the resized image.
    pub(in super::super) fn new(spec: &AugmentSpec, size: Size, rng: &mut ChaCha8Rng) -> Self {
        let flip: f64 = rng.r#gen();
        let mut symmetric = |most: f64| most * (2.0 * rng.r#gen::<f64>() - 1.0);
        Self {
            is_flipped: flip < spec.flip,
            rotation: symmetric(spec.rotation),
            brightness: (1.0 + symmetric(spec.brightness)) as f32,
            contrast: (1.0 + symmetric(spec.contrast)) as f32,
            crop: [(); 2].map(|()| rng.gen_range(0..=2 * spec.crop as u32) as usize),
            padding: spec.crop,
            erased: Rectangle::draw(spec.erase, size, rng),
        }
    }

    /// Sets the rectangle to erase, if there is one, to 0; `features` are `(height, width, channels)` of an image of
    /// `size`.
    pub(in super::super) fn erase(self, size: Size, features: &mut [f32]) {
        if let Some(rectangle) = self.erased {
            rectangle.erase(size, features);
        }
    }

    /// Changes the resized image: pads it with black pixels, and cuts out a part of its size.
    ///
    /// # Source
    /// torchvision's `RandomCrop(size, padding=crop)`.
    pub(in super::super) fn cropped(self, image: Image) -> Image {
        let (padding, [down, right]) = (self.padding, self.crop);
        if down == padding && right == padding {
            return image;
        }
        let (width, channels) = (image.width, image.channels);
        let mut pixels = vec![0; image.pixels.len()];
        // First column that is copied from the image, and the column of the result to which it is copied.
        let (from, to) = (right.saturating_sub(padding), padding.saturating_sub(right));
        let columns = width.saturating_sub(from.max(to)) * channels;
        for row in 0..image.height {
            let above = (row + down).checked_sub(padding);
            let Some(above) = above.filter(|above| *above < image.height && columns > 0) else {
                continue;
            };
            let source = &image.pixels[(above * width + from) * channels..][..columns];
            pixels[(row * width + to) * channels..][..columns].copy_from_slice(source);
        }
        Image { pixels, ..image }
    }
}

#[cfg(test)]
mod tests;
