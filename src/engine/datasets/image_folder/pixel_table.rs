//! [`PixelTable`]: images of 8 bits in memory, for kinds of datasets that read whole files of pixels.

use rand_chacha::ChaCha8Rng;

use super::super::{
    Dataset, DatasetError, Features, ImageSize, Mixing, Normalisation, SampleMut, Target,
};
use super::Size;
use super::augment::{AugmentSpec, Draw};
use super::pixels::Image;

/// Images of one size as bytes, a quarter of the memory of floats. Values are `pixel / 127.5 - 1`; training images are changed
/// as those of an image folder are.
pub(in super::super) struct PixelTable {
    pub(in super::super) size: ImageSize,
    /// `(rows, height, width, channels)`
    pub(in super::super) pixels: Vec<u8>,
    pub(in super::super) target: Target,
    /// `(rows, target.values_len())`
    pub(in super::super) values: Vec<f32>,
    /// `(rows)`; empty for regression.
    pub(in super::super) labels: Vec<u32>,
    pub(in super::super) class_names: Vec<String>,
    pub(in super::super) normalisation: Normalisation,
    /// Random changes of training images, if there are any.
    pub(in super::super) augment: Option<AugmentSpec>,
}

impl PixelTable {
    /// How pixels become features.
    pub(in super::super) fn scale() -> Normalisation {
        Normalisation::of_pixels(127.5, 127.5)
    }

    fn image(&self, pixels: &[u8]) -> Image {
        Image {
            width: self.size.width,
            height: self.size.height,
            channels: self.size.channels,
            pixels: pixels.to_vec(),
        }
    }
}

impl Dataset for PixelTable {
    fn rows(&self) -> usize {
        self.pixels.len() / self.features().len().max(1)
    }

    fn features(&self) -> Features {
        Features::Image(self.size)
    }

    fn target(&self) -> Target {
        self.target
    }

    fn labels(&self) -> &[u32] {
        &self.labels
    }

    fn class_names(&self) -> &[String] {
        &self.class_names
    }

    fn normalisation(&self) -> Normalisation {
        self.normalisation.clone()
    }

    fn augments(&self) -> bool {
        let augment = self.augment.as_ref();
        augment.is_some_and(|augment| !augment.is_identity())
    }

    fn mixing(&self) -> Mixing {
        let augment = self.augment.as_ref();
        augment.map(AugmentSpec::mixing).unwrap_or_default()
    }

    fn read(
        &self,
        row: u32,
        augmentation: Option<&mut ChaCha8Rng>,
        sample: SampleMut<'_>,
    ) -> Result<(), DatasetError> {
        let (row, len) = (row as usize, sample.features.len());
        let pixels = &self.pixels[row * len..][..len];
        let size = Size {
            height: self.size.height,
            width: self.size.width,
        };
        match self.augment.as_ref().zip(augmentation) {
            None => super::pixels::write(pixels, sample.features),
            Some((augment, rng)) => {
                let draw = Draw::new(augment, size, rng);
                let image = draw.cropped(draw.apply(self.image(pixels)));
                image.write(sample.features);
                draw.erase(size, sample.features);
            }
        }
        let values = sample.values.len();
        sample
            .values
            .copy_from_slice(&self.values[row * values..][..values]);
        *sample.label = self.labels.get(row).copied().unwrap_or(0);
        Ok(())
    }
}

/// Images of planes, `(rows, channels, pixels)`, as `(rows, pixels, channels)`.
pub(in super::super) fn channels_last<T: Copy>(
    planes: &[T],
    channels: usize,
    pixels: usize,
) -> Vec<T> {
    let mut all = Vec::with_capacity(planes.len());
    for image in planes.chunks_exact((channels * pixels).max(1)) {
        for at in 0..pixels {
            all.extend((0..channels).map(|channel| image[channel * pixels + at]));
        }
    }
    all
}
