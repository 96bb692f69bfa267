//! [`Noise`]: smooth random functions of a point; also random numbers and smooth steps.

use rand::{Rng, RngCore};
use rand_chacha::ChaCha8Rng;

/// Width of an image in the unit of length of textures.
pub(super) const IMAGE_WIDTH: f64 = 40.0;
/// A random number, uniform from `low` to `high`.
pub(super) fn between(rng: &mut ChaCha8Rng, low: f64, high: f64) -> f64 {
    low + (high - low) * rng.r#gen::<f64>()
}

/// A smooth step: 0 below `low`, 1 above `high`, smooth in between.
pub(super) fn smoothstep(low: f64, high: f64, value: f64) -> f64 {
    let t = ((value - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Random numbers at the points of a lattice, interpolated between them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noise(u64);

impl Noise {
    pub(super) fn new(rng: &mut ChaCha8Rng) -> Self {
        Self(rng.next_u64())
    }

    /// The random number at a lattice point, uniform from -1 to 1, independent of other points.
    pub(super) fn point(self, x: f64, y: f64) -> f64 {
        2.0 * self.hash(x as i64, y as i64) - 1.0
    }

    /// The random number at a lattice point, uniform from 0 to 1.
    ///
    /// # Source
    /// The finalizer of `SplitMix64` (Steele, Lea & Flood 2014).
    pub(super) fn hash(self, x: i64, y: i64) -> f64 {
        let mut h = self
            .0
            .wrapping_add((x as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
            .wrapping_add((y as u64).wrapping_mul(0xC2B2_AE3D_27D4_EB4F));
        h = (h ^ (h >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        h = (h ^ (h >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((h ^ (h >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Smooth noise from -1 to 1, about one bump per unit.
    pub(super) fn smooth(self, x: f64, y: f64) -> f64 {
        let (left, top) = (x.floor(), y.floor());
        let ease = |t: f64| t * t * t * (t * (6.0 * t - 15.0) + 10.0);
        let (u, v) = (ease(x - left), ease(y - top));
        let (i, j) = (left as i64, top as i64);
        let mix = |a: f64, b: f64, t: f64| a + (b - a) * t;
        let upper = mix(self.hash(i, j), self.hash(i + 1, j), u);
        let lower = mix(self.hash(i, j + 1), self.hash(i + 1, j + 1), u);
        2.0 * mix(upper, lower, v) - 1.0
    }

    /// Sum of `octaves` smooth noises, each twice as fine and half as strong; about -1 to 1.
    pub(super) fn octaves(self, x: f64, y: f64, octaves: u32) -> f64 {
        let (mut sum, mut weight, mut total, mut scale) = (0.0, 1.0, 0.0, 1.0);
        for octave in 0..octaves {
            let shift = f64::from(octave) * 37.31;
            sum += weight * self.smooth(x * scale + shift, y * scale - shift);
            total += weight;
            weight *= 0.5;
            scale *= 2.0;
        }
        1.5 * sum / total
    }

    /// Distances from (x, y) to the nearest and second nearest of random points (one in each unit square), and a random
    /// number that belongs to the nearest point.
    ///
    /// # Source
    /// Worley 1996.
    pub(super) fn worley(self, x: f64, y: f64) -> (f64, f64, f64) {
        let (i, j) = (x.floor() as i64, y.floor() as i64);
        let (mut first, mut second, mut nearest) = (f64::MAX, f64::MAX, 0.0);
        for (di, dj) in (-1..=1).flat_map(|di| (-1..=1).map(move |dj| (di, dj))) {
            let (ci, cj) = (i + di, j + dj);
            let dx = ci as f64 + self.hash(ci, cj) - x;
            let dy = cj as f64 + self.hash(ci + 7919, cj - 104_729) - y;
            let distance = (dx * dx + dy * dy).sqrt();
            if distance < first {
                (second, first) = (first, distance);
                nearest = self.hash(ci - 31, cj + 17);
            } else if distance < second {
                second = distance;
            }
        }
        (first, second, nearest)
    }
}
