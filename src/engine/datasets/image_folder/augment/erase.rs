//! [`Rectangle`]: a part of an image that is erased.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::super::Size;

/// Smallest and largest area of a rectangle, as a fraction of the image's area.
const SHARES: [f64; 2] = [0.02, 0.33];
/// Smallest and largest ratio of height to width.
const RATIOS: [f64; 2] = [0.3, 3.3];
/// Largest number of attempts to draw a rectangle that is smaller than the image in both directions.
const TRIES: usize = 10;

/// A rectangular part of an image, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rectangle {
    top: usize,
    left: usize,
    size: Size,
}

impl Rectangle {
    /// With `probability` a random rectangle; otherwise, and if ten attempts are larger than the image, `None`.
    ///
    /// The fraction of the area is uniform in 0.02 … 0.33, the logarithm of height / width is uniform in ln 0.3 … ln
    /// 3.3.
    ///
    /// # Source
    /// torchvision's `RandomErasing(p=probability)` with its defaults.
    pub(super) fn draw(probability: f64, image: Size, rng: &mut ChaCha8Rng) -> Option<Self> {
        if probability == 0.0 || rng.r#gen::<f64>() >= probability {
            return None;
        }
        let [low, high] = RATIOS.map(libm::log);
        let size = (0..TRIES).find_map(|_| {
            let share = rng.gen_range(SHARES[0]..SHARES[1]);
            let ratio = libm::exp(rng.gen_range(low..high));
            sides(image, share, ratio)
        })?;
        Some(Self {
            top: rng.gen_range(0..=(image.height - size.height) as u32) as usize,
            left: rng.gen_range(0..=(image.width - size.width) as u32) as usize,
            size,
        })
    }

    /// Sets the rectangle to 0; `features` are `(height, width, channels)` of an image of `size`.
    pub(super) fn erase(self, size: Size, features: &mut [f32]) {
        let row = features.len() / size.height.max(1);
        let channels = row / size.width.max(1);
        let (from, length) = (self.left * channels, self.size.width * channels);
        let rows = features.chunks_exact_mut(row.max(1));
        for row in rows.skip(self.top).take(self.size.height) {
            row[from..from + length].fill(0.0);
        }
    }
}

/// Height and width for a fraction of the image's area and a ratio of height to width; `None` unless both are smaller
/// than the image's.
fn sides(image: Size, share: f64, ratio: f64) -> Option<Size> {
    let area = (image.height * image.width) as f64 * share;
    // Rounds halves to even, as Python's `round` does.
    let [height, width] =
        [area * ratio, area / ratio].map(|square| square.sqrt().round_ties_even() as usize);
    (height < image.height && width < image.width).then_some(Size { height, width })
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn size(height: usize, width: usize) -> Size {
        Size { height, width }
    }

    #[test]
    fn sides_are_torchvisions() {
        // T.RandomErasing.get_params(torch.zeros(1, H, W), (0.02, 0.33), (0.3, 3.3)) of torchvision 0.29, with its
        // calls of torch.empty(1).uniform_ replaced: the first returns the share, the second the logarithm of the ratio
        let cases = [
            ((24, 32), 0.02, 1.0, Some((4, 4))),
            ((24, 32), 0.33, 3.3, None),
            ((24, 32), 0.33, 0.3, Some((9, 29))),
            ((8, 8), 0.25, 1.0, Some((4, 4))),
            ((8, 8), 0.1, 3.0, Some((4, 1))),
            ((40, 40), 0.1, 0.5, Some((9, 18))),
            ((5, 9), 0.33, 0.3, Some((2, 7))),
            ((2, 2), 0.02, 1.0, Some((0, 0))),
            ((32, 32), 0.2, 0.75, Some((12, 17))),
            ((8, 8), 0.33, 3.0, None),
        ];
        for ((height, width), share, ratio, expected) in cases {
            let expected = expected.map(|(height, width)| size(height, width));
            let found = sides(size(height, width), share, ratio);
            assert_eq!(found, expected, "{height} × {width}, {share}, {ratio}");
        }
    }

    #[test]
    fn the_erased_share_has_torchvisions_moments() {
        // Of 20,000 times T.RandomErasing(p=1.0)(torch.ones(1, 16, 24)), the share of zeros has mean 0.1686, deviation
        // 0.0883
        let (image, mut rng) = (size(16, 24), ChaCha8Rng::seed_from_u64(5));
        let mut shares = Vec::new();
        for _ in 0..4000 {
            let mut features = vec![1.0; 16 * 24 * 3];
            let drawn = Rectangle::draw(1.0, image, &mut rng).unwrap();
            drawn.erase(image, &mut features);
            let erased = features.iter().filter(|value| **value == 0.0).count();
            assert_eq!(erased, 3 * drawn.size.height * drawn.size.width);
            shares.push(erased as f64 / features.len() as f64);
        }
        let mean = shares.iter().sum::<f64>() / 4000.0;
        let square = shares
            .iter()
            .map(|share| (share - mean).powi(2))
            .sum::<f64>()
            / 4000.0;
        assert!((mean - 0.1686).abs() < 0.005, "{mean}");
        assert!((square.sqrt() - 0.0883).abs() < 0.004, "{}", square.sqrt());
    }

    #[test]
    fn it_is_drawn_as_often_as_is_said() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let mut count = |probability| {
            let draws = (0..2000).map(|_| Rectangle::draw(probability, size(9, 9), &mut rng));
            draws.flatten().count()
        };
        assert_eq!(count(0.0), 0);
        let drawn = count(0.25);
        assert!((430..570).contains(&drawn), "{drawn}");
        // In an image of one pixel, only a rectangle without pixels can be drawn.
        let mut features = vec![1.0; 3];
        for _ in 0..50 {
            if let Some(drawn) = Rectangle::draw(1.0, size(1, 1), &mut rng) {
                drawn.erase(size(1, 1), &mut features);
            }
        }
        assert_eq!(features, [1.0; 3]);
    }
}
