//! [`image_grid`]: arranges images in a grid, one row per class.

use crate::datasets::ImageSize;
use crate::tasks::assess::Image;

/// Width in pixels of the space between images and around the grid.
const GAP: usize = 4;
const PAPER: u8 = 255;
/// Pixels that an image's longer side has at least in the grid; smaller images are enlarged by an integer factor.
const LEAST_SIDE: usize = 72;

/// Arranges images `(rows, columns, height, width, channels)` with values from -1 to 1 in one grid image.
///
/// One channel is grey, three are red, green and blue. Small images are enlarged by repeating pixels.
pub(in crate::tasks) fn image_grid(values: &[f32], columns: usize, size: ImageSize) -> Image {
    let (height, width, channels) = (size.height, size.width, size.channels);
    let count = values.len() / (height * width * channels).max(1);
    let rows = count.div_ceil(columns.max(1));
    let scale = LEAST_SIDE.div_ceil(height.max(width).max(1)).max(1);
    let (tall, wide) = (scale * height + GAP, scale * width + GAP);
    let (all_height, all_width) = (rows * tall + GAP, columns * wide + GAP);
    let mut pixels = vec![PAPER; all_height * all_width * 3];
    for (index, image) in values.chunks(height * width * channels).enumerate() {
        let (top, left) = (GAP + index / columns * tall, GAP + index % columns * wide);
        for y in 0..scale * height {
            for x in 0..scale * width {
                let from = (y / scale * width + x / scale) * channels;
                let to = ((top + y) * all_width + left + x) * 3;
                for colour in 0..3 {
                    pixels[to + colour] = byte(image[from + colour % channels]);
                }
            }
        }
    }
    Image {
        name: String::new(),
        caption: String::new(),
        width: all_width,
        height: all_height,
        pixels,
    }
}

/// Converts one image `(height, width, channels)` with values from -1 to 1, without enlarging it.
pub(in crate::tasks) fn to_image(values: &[f32], size: ImageSize) -> Image {
    let channels = size.channels;
    let colours = values.chunks(channels.max(1));
    let colours = colours.flat_map(|pixel| (0..3).map(|colour| byte(pixel[colour % channels])));
    Image {
        name: String::new(),
        caption: String::new(),
        width: size.width,
        height: size.height,
        pixels: colours.collect(),
    }
}

/// Maps -1 … 1 to 0 … 255: `(value + 1) · 127.5`, rounded and clipped.
fn byte(value: f32) -> u8 {
    ((value + 1.0) * 127.5).round().clamp(0.0, 255.0) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(height: usize, width: usize, channels: usize) -> ImageSize {
        ImageSize {
            height,
            width,
            channels,
        }
    }

    #[test]
    fn images_stand_in_rows_with_paper_between() {
        // Two images of one grey pixel in one row: enlarged to 72 × 72 each.
        let image = image_grid(&[-1.0, 1.0], 2, size(1, 1, 1));
        assert_eq!((image.width, image.height), (3 * GAP + 144, 2 * GAP + 72));
        let at = |x: usize, y: usize| image.pixels[(y * image.width + x) * 3];
        assert_eq!(at(0, 0), PAPER);
        assert_eq!((at(GAP, GAP), at(GAP + 71, GAP + 71)), (0, 0));
        assert_eq!(at(GAP + 72, GAP), PAPER);
        assert_eq!(at(2 * GAP + 72, GAP), 255);
    }

    #[test]
    fn colours_and_rows_keep_their_places() {
        let grey = |value: f32| [value; 3];
        let values: Vec<f32> = [grey(0.0), [1.0, -1.0, 0.5], grey(-1.0)].concat();
        let image = image_grid(&values, 2, size(1, 1, 3));
        let at = |x: usize, y: usize| &image.pixels[(y * image.width + x) * 3..][..3];
        assert_eq!(at(GAP, GAP), [128, 128, 128]);
        assert_eq!(at(2 * GAP + 72, GAP), [255, 0, 191]);
        assert_eq!(at(GAP, 2 * GAP + 72), [0, 0, 0]);
        assert_eq!(at(2 * GAP + 72, 2 * GAP + 72), [PAPER; 3]);
    }
}
