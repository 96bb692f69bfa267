//! [`Image`]: an 8-bit image and its conversion to features.

use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::{U8, U8x3};
use fast_image_resize::{FilterType, PixelTrait, ResizeAlg, ResizeOptions, Resizer};

use super::super::Scale;
use super::size::Size;

/// An image of 8 bits per channel, top row first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct Image {
    pub(in super::super) width: usize,
    pub(in super::super) height: usize,
    /// Number of channels: 3 for RGB, 1 for grey.
    pub(in super::super) channels: usize,
    /// Pixel values, `(height, width, channels)` row-major.
    pub(in super::super) pixels: Vec<u8>,
}

impl Image {
    pub(in super::super) fn size(&self) -> Size {
        Size {
            height: self.height,
            width: self.width,
        }
    }

    /// Converts an RGB image to `channels` channels: 3, or 1 with the luma.
    pub(super) fn into_channels(self, channels: usize) -> Self {
        if channels == self.channels {
            return self;
        }
        Self {
            channels: 1,
            pixels: self.pixels.chunks_exact(3).map(luma).collect(),
            ..self
        }
    }

    /// The image in another size; bilinear, with a wider support when shrinking (antialiasing), as in Pillow.
    pub(super) fn resized(&self, size: Size) -> Result<Self, String> {
        let pixels = match self.channels {
            1 => self.resized_as::<U8>(size),
            _ => self.resized_as::<U8x3>(size),
        };
        Ok(Self {
            width: size.width,
            height: size.height,
            channels: self.channels,
            pixels: pixels?,
        })
    }

    fn resized_as<P: PixelTrait>(&self, size: Size) -> Result<Vec<u8>, String> {
        let mut pixels = vec![0; self.channels * size.height * size.width];
        // The typed call is used, since the untyped one compiles the kernels of every pixel type, which takes minutes.
        let (width, height) = (self.width as u32, self.height as u32);
        let from = TypedImageRef::<P>::from_buffer(width, height, &self.pixels);
        let from = from.map_err(|error| error.to_string())?;
        let (width, height) = (size.width as u32, size.height as u32);
        let to = TypedImage::<P>::from_buffer(width, height, &mut pixels);
        let mut to = to.map_err(|error| error.to_string())?;
        let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Bilinear));
        let resized = Resizer::new().resize_typed(&from, &mut to, &options);
        resized.map_err(|error| error.to_string())?;
        drop(to);
        Ok(pixels)
    }
}

/// Converts each pixel to a feature: `pixel / std - mean / std`.
pub(in super::super) fn write(pixels: &[u8], scale: Scale, features: &mut [f32]) {
    let (divisor, offset) = (scale.std as f32, (scale.mean / scale.std) as f32);
    for (feature, &pixel) in features.iter_mut().zip(pixels) {
        *feature = f32::from(pixel) / divisor - offset;
    }
}

/// Reorders images from `(rows, channels, pixels)` to `(rows, pixels, channels)`.
pub(crate) fn channels_last<T: Copy>(planes: &[T], channels: usize, pixels: usize) -> Vec<T> {
    let mut all = Vec::with_capacity(planes.len());
    for image in planes.chunks_exact((channels * pixels).max(1)) {
        for at in 0..pixels {
            all.extend((0..channels).map(|channel| image[channel * pixels + at]));
        }
    }
    all
}

/// The luma of a red, green and blue value, or a grey value unchanged.
///
/// `(19595 R + 38470 G + 7471 B + 32768) >> 16`: ITU-R 601 in 16-bit fixed point.
///
/// # Source
/// Pillow's `convert("L")`.
pub(super) fn luma(pixel: &[u8]) -> u8 {
    let &[red, green, blue] = pixel else {
        return pixel.first().copied().unwrap_or_default();
    };
    let [red, green, blue] = [red, green, blue].map(u32::from);
    ((red * 19_595 + green * 38_470 + blue * 7_471 + 0x8000) >> 16) as u8
}
