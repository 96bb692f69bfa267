//! [`Rgb`]: an 8-bit image and its conversion to features.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};

/// An RGB image of 8 bits per channel, top row first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rgb {
    pub(super) width: usize,
    pub(super) height: usize,
    /// `(height, width, 3)`
    pub(super) pixels: Vec<u8>,
}

impl Rgb {
    /// Writes the image, resized to `size × size`, to `features`: `(size, size, 3)`, `pixel / 127.5 - 1`.
    pub(super) fn write(&self, size: usize, features: &mut [f32]) -> Result<(), String> {
        if (self.width, self.height) == (size, size) {
            scale(&self.pixels, features);
            return Ok(());
        }
        scale(&self.resized(size)?, features);
        Ok(())
    }

    pub(super) fn into_resized(self, size: usize) -> Result<Self, String> {
        if (self.width, self.height) == (size, size) {
            return Ok(self);
        }
        Ok(Self {
            width: size,
            height: size,
            pixels: self.resized(size)?,
        })
    }

    /// Bilinear, with a wider support when shrinking (antialiasing), as in Pillow.
    fn resized(&self, size: usize) -> Result<Vec<u8>, String> {
        let mut pixels = vec![0; 3 * size * size];
        let (width, height, size) = (self.width as u32, self.height as u32, size as u32);
        // The typed call: the untyped one compiles the kernels of every pixel type into this crate, which takes minutes.
        let from = TypedImageRef::<U8x3>::from_buffer(width, height, &self.pixels);
        let from = from.map_err(|error| error.to_string())?;
        let to = TypedImage::<U8x3>::from_buffer(size, size, &mut pixels);
        let mut to = to.map_err(|error| error.to_string())?;
        let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Bilinear));
        let resized = Resizer::new().resize_typed(&from, &mut to, &options);
        resized.map_err(|error| error.to_string())?;
        drop(to);
        Ok(pixels)
    }
}

fn scale(pixels: &[u8], features: &mut [f32]) {
    for (feature, &pixel) in features.iter_mut().zip(pixels) {
        *feature = f32::from(pixel) / 127.5 - 1.0;
    }
}
