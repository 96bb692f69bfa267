//! Random augmentation of an image, as by torchvision's transforms on Pillow images.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::AugmentSpec;
use super::pixels::Rgb;

/// The random parameters of one image.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Draw {
    pub(super) is_flipped: bool,
    /// Degrees, counter-clockwise.
    pub(super) rotation: f64,
    pub(super) brightness: f32,
    pub(super) contrast: f32,
}

impl Draw {
    /// Always draws four numbers, so that turning one change off does not alter the others.
    pub(super) fn new(spec: &AugmentSpec, rng: &mut ChaCha8Rng) -> Self {
        let flip: f64 = rng.r#gen();
        let mut symmetric = |most: f64| most * (2.0 * rng.r#gen::<f64>() - 1.0);
        Self {
            is_flipped: flip < spec.flip,
            rotation: symmetric(spec.rotation),
            brightness: (1.0 + symmetric(spec.brightness)) as f32,
            contrast: (1.0 + symmetric(spec.contrast)) as f32,
        }
    }

    /// Flip, rotation, brightness, contrast, in this order.
    #[expect(
        clippy::float_cmp,
        reason = "exactly 0 or 1 changes nothing and is left out"
    )]
    pub(super) fn apply(self, mut image: Rgb) -> Rgb {
        if self.is_flipped {
            flip(&mut image);
        }
        if self.rotation != 0.0 {
            image = rotate(&image, self.rotation);
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

fn flip(image: &mut Rgb) {
    for row in image.pixels.chunks_exact_mut(image.width * 3) {
        row.reverse(); // also reverses the channels
        for pixel in row.chunks_exact_mut(3) {
            pixel.reverse();
        }
    }
}

/// Rotates about the centre; nearest pixel, black outside.
///
/// # Source
/// Pillow's `Image.rotate(angle, NEAREST)`: maps the centre of every output pixel to the input.
fn rotate(image: &Rgb, degrees: f64) -> Rgb {
    let (sin, cos) = libm::sincos(degrees.to_radians());
    let (center_x, center_y) = (image.width as f64 / 2.0, image.height as f64 / 2.0);
    let mut pixels = vec![0; image.pixels.len()];
    for (row, line) in pixels.chunks_exact_mut(3 * image.width).enumerate() {
        let y = row as f64 + 0.5 - center_y;
        for (column, pixel) in line.chunks_exact_mut(3).enumerate() {
            let x = column as f64 + 0.5 - center_x;
            let from_x = floor(cos * x - sin * y + center_x);
            let from_y = floor(sin * x + cos * y + center_y);
            // Negative coordinates wrap to large unsigned numbers and fail the bounds check.
            if from_x < image.width && from_y < image.height {
                let from = (from_y * image.width + from_x) * 3;
                pixel.copy_from_slice(&image.pixels[from..from + 3]);
            }
        }
    }
    Rgb { pixels, ..*image }
}

/// Floor of `x` in two's complement. `f64::floor` would be two calls of the C library per pixel on x86-64 without SSE 4.1.
#[inline]
fn floor(x: f64) -> usize {
    let cut = x as i64;
    (cut - i64::from((cut as f64) > x)) as usize
}

/// `base + factor (pixel - base)`, clamped to 0..=255 and truncated.
///
/// # Source
/// Pillow's `ImageEnhance`: brightness blends with black, contrast with the mean grey.
fn blend(image: &mut Rgb, base: f32, factor: f32) {
    let table: [u8; 256] = std::array::from_fn(|pixel| {
        (base + factor * (pixel as f32 - base)).clamp(0.0, 255.0) as u8
    });
    for pixel in &mut image.pixels {
        *pixel = table[usize::from(*pixel)];
    }
}

/// Mean of the luma of all pixels, rounded: Pillow's `convert("L")` (ITU-R 601, 16-bit fixed point) and its mean.
fn mean_grey(image: &Rgb) -> f32 {
    let luma = |pixel: &[u8]| {
        let [red, green, blue] = [pixel[0], pixel[1], pixel[2]].map(u64::from);
        (red * 19_595 + green * 38_470 + blue * 7_471 + 0x8000) >> 16
    };
    let sum: u64 = image.pixels.chunks_exact(3).map(luma).sum();
    let count = (image.width * image.height).max(1);
    (sum as f64 / count as f64 + 0.5).floor() as f32
}

#[cfg(test)]
mod tests;
