//! Changes of a whole image before it is resized, as by torchvision's transforms on Pillow images.

use super::super::pixels::{Image, luma};
use super::Draw;

impl Draw {
    /// Applies flip, rotation, brightness and contrast, in this order.
    #[expect(
        clippy::float_cmp,
        reason = "exactly 0 or 1 changes nothing and is left out"
    )]
    pub(in super::super::super) fn apply(self, mut image: Image) -> Image {
        if self.is_flipped {
            flip(&mut image);
        }
        if self.rotation != 0.0 {
            image = match image.channels {
                1 => rotate::<1>(&image, self.rotation),
                _ => rotate::<3>(&image, self.rotation),
            };
        }
        if self.brightness != 1.0 {
            blend(&mut image, 0.0, self.brightness);
        }
        if self.contrast != 1.0 {
            let grey = mean_grey(&image);
            blend(&mut image, grey, self.contrast);
        }
        image
    }
}

fn flip(image: &mut Image) {
    for row in image.pixels.chunks_exact_mut(image.width * image.channels) {
        row.reverse(); // also reverses the channels
        for pixel in row.chunks_exact_mut(image.channels) {
            pixel.reverse();
        }
    }
}

/// Rotates an image of `C` channels about the centre; nearest pixel, black outside.
///
/// # Source
/// Pillow's `Image.rotate(angle, NEAREST)`: maps the centre of every output pixel to the input.
fn rotate<const C: usize>(image: &Image, degrees: f64) -> Image {
    let (sin, cos) = libm::sincos(degrees.to_radians());
    let (center_x, center_y) = (image.width as f64 / 2.0, image.height as f64 / 2.0);
    let mut pixels = vec![0; image.pixels.len()];
    for (row, line) in pixels.chunks_exact_mut(C * image.width).enumerate() {
        let y = row as f64 + 0.5 - center_y;
        for (column, pixel) in line.chunks_exact_mut(C).enumerate() {
            let x = column as f64 + 0.5 - center_x;
            let from_x = floor(cos * x - sin * y + center_x);
            let from_y = floor(sin * x + cos * y + center_y);
            // Negative coordinates wrap to large unsigned numbers and fail the bounds check.
            if from_x < image.width && from_y < image.height {
                let from = (from_y * image.width + from_x) * C;
                pixel.copy_from_slice(&image.pixels[from..from + C]);
            }
        }
    }
    Image { pixels, ..*image }
}

/// Floor of `x`; a negative one becomes a large number (two's complement). `f64::floor` would be two calls of the C
/// library per pixel on x86-64 without SSE 4.1.
#[inline]
fn floor(x: f64) -> usize {
    let cut = x as i64;
    (cut - i64::from((cut as f64) > x)) as usize
}

/// `base + factor (pixel - base)`, clamped to 0..=255 and truncated.
///
/// # Source
/// Pillow's `ImageEnhance`: brightness blends with black, contrast with the mean grey.
fn blend(image: &mut Image, base: f32, factor: f32) {
    let table: [u8; 256] = std::array::from_fn(|pixel| {
        (base + factor * (pixel as f32 - base)).clamp(0.0, 255.0) as u8
    });
    for pixel in &mut image.pixels {
        *pixel = table[usize::from(*pixel)];
    }
}

/// Mean luma of all pixels, rounded: the mean of Pillow's `convert("L")`.
fn mean_grey(image: &Image) -> f32 {
    let pixels = image.pixels.chunks_exact(image.channels);
    let sum: u64 = pixels.map(|pixel| u64::from(luma(pixel))).sum();
    let count = (image.width * image.height).max(1);
    (sum as f64 / count as f64 + 0.5).floor() as f32
}
