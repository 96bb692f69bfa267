//! Rendered images of surfaces, as from a camera over a production line; some have a defect.
//!
//! A surface has a height and a colour at every point ([`surface`]); a defect changes both ([`defect`]); this module shades
//! them to an image. Lengths are in units: an image is 40 units wide at any size in pixels.
//! Sine, cosine and exponential come from the crate `libm`, noise from integer hashes: the same bytes on every machine.

mod defect;
mod noise;
mod surface;

use rand_chacha::ChaCha8Rng;

use super::pixels::Image;
use crate::base::{Purpose, Seed};
use defect::Defect;
use noise::{IMAGE_WIDTH, Noise, between};
use surface::{Point, Surface};

/// Samples along each side of a pixel.
const OVERSAMPLING: usize = 3;

/// Whether a surface has a defect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Normal,
    Abnormal,
}

impl Class {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Abnormal => "abnormal",
        }
    }
}

/// Renders image `index` of `class`; every image has its own random stream.
pub(super) fn render(class: Class, index: u64, size: usize, seed: u64) -> Image {
    let mut rng = Seed(seed).stream_at(Purpose::Data, &[class as u64, index]);
    let surface = Surface::draw(&mut rng);
    let light = Light::draw(&mut rng, surface.gloss());
    let defect = (class == Class::Abnormal).then(|| Defect::draw(&mut rng));
    let scene = Scene {
        surface,
        defect,
        light,
        grain: Noise::new(&mut rng),
    };
    scene.picture(size)
}

/// Illumination and optics: a lamp from the side, ambient light, a lens.
struct Light {
    direction: [f64; 3],
    half: [f64; 3],
    ambient: f64,
    diffuse: f64,
    gloss: f64,
    /// Relative change of brightness from one edge of the image to the opposite one, along x and y.
    gradient: [f64; 2],
    exposure: f64,
    warmth: f64,
}

impl Light {
    fn draw(rng: &mut ChaCha8Rng, gloss: f64) -> Self {
        let (sin, cos) = libm::sincos(between(rng, 0.0, std::f64::consts::TAU));
        let elevation = between(rng, 0.6, 1.0);
        let (up, across) = libm::sincos(elevation);
        let direction = [cos * across, sin * across, up];
        let strength = between(rng, 0.05, 0.28);
        Self {
            direction,
            half: unit([direction[0], direction[1], direction[2] + 1.0]),
            ambient: 0.42,
            diffuse: 0.62 / up,
            gloss,
            gradient: [cos * strength, sin * strength],
            exposure: between(rng, 0.82, 1.12),
            warmth: between(rng, -0.03, 0.03),
        }
    }

    /// Colour of `point` at (x, y) with this slope under the light.
    fn shade(&self, point: &Point, slope: [f64; 2], x: f64, y: f64) -> [f64; 3] {
        let normal = unit([-slope[0], -slope[1], 1.0]);
        let diffuse = self.diffuse * dot(normal, self.direction).max(0.0);
        let shine = libm::pow(dot(normal, self.half).max(0.0), 24.0) * self.gloss * point.gloss;
        let (u, v) = (x / IMAGE_WIDTH - 0.5, y / IMAGE_WIDTH - 0.5);
        let falloff = 1.0 + 2.0 * (self.gradient[0] * u + self.gradient[1] * v);
        let vignette = 1.0 - 0.22 * (u * u + v * v);
        let lit = (self.ambient + diffuse) * falloff * vignette * self.exposure;
        let tint = [1.0 + self.warmth, 1.0, 1.0 - self.warmth];
        std::array::from_fn(|c| point.colour[c] * tint[c] * lit + shine * falloff)
    }
}

struct Scene {
    surface: Surface,
    defect: Option<Defect>,
    light: Light,
    grain: Noise,
}

impl Scene {
    fn at(&self, x: f64, y: f64) -> Point {
        let mut point = self.surface.at(x, y);
        if let Some(defect) = &self.defect {
            defect.apply_to(x, y, &mut point);
        }
        point
    }

    /// Renders an image: shades a grid finer than the pixels, and averages (supersampling).
    fn picture(&self, size: usize) -> Image {
        let side = size * OVERSAMPLING;
        let unit = IMAGE_WIDTH / side as f64;
        let points: Vec<Point> = (0..(side + 1) * (side + 1))
            .map(|i| {
                self.at(
                    (i % (side + 1)) as f64 * unit,
                    (i / (side + 1)) as f64 * unit,
                )
            })
            .collect();
        let mut sums = vec![[0.0; 3]; size * size];
        for row in 0..side {
            for column in 0..side {
                let here = row * (side + 1) + column;
                let height = |index: usize| points[index].height;
                let slope = [
                    (height(here + 1) - height(here)) / unit,
                    (height(here + side + 1) - height(here)) / unit,
                ];
                let (x, y) = (column as f64 * unit, row as f64 * unit);
                let colour = self.light.shade(&points[here], slope, x, y);
                let sum = &mut sums[row / OVERSAMPLING * size + column / OVERSAMPLING];
                for (sum, colour) in sum.iter_mut().zip(colour) {
                    *sum += colour;
                }
            }
        }
        self.expose(&sums, size)
    }

    /// Averages each pixel's samples, adds sensor noise, and converts to bytes.
    fn expose(&self, sums: &[[f64; 3]], size: usize) -> Image {
        let samples = (OVERSAMPLING * OVERSAMPLING) as f64;
        let mut pixels = Vec::with_capacity(sums.len() * 3);
        for (index, sum) in sums.iter().enumerate() {
            let (x, y) = ((index % size) as f64, (index / size) as f64);
            for (channel, value) in sum.iter().enumerate() {
                let grain = self.grain.point(x, y + (channel * size) as f64) * 0.012;
                let value = (value / samples + grain).clamp(0.0, 1.0);
                pixels.push((value * 255.0).round() as u8);
            }
        }
        Image {
            width: size,
            height: size,
            channels: 3,
            pixels,
        }
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn unit(v: [f64; 3]) -> [f64; 3] {
    let length = dot(v, v).sqrt();
    v.map(|x| x / length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_defect_can_be_seen() {
        for index in 0..60 {
            let mut rng = Seed(7).stream_at(Purpose::Data, &[Class::Abnormal as u64, index]);
            let surface = Surface::draw(&mut rng);
            let mut scene = Scene {
                light: Light::draw(&mut rng, surface.gloss()),
                surface,
                defect: Some(Defect::draw(&mut rng)),
                grain: Noise::new(&mut rng),
            };
            let with = scene.picture(40);
            scene.defect = None;
            let without = scene.picture(40);
            let pairs = with.pixels.chunks(3).zip(without.pixels.chunks(3));
            let changed = pairs
                .filter(|(a, b)| (0..3).any(|c| a[c].abs_diff(b[c]) > 24))
                .count();
            assert!(changed >= 6, "image {index}: {changed} pixels");
        }
    }
}
