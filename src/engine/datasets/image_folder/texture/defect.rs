//! [`Defect`]: scratches, cracks, pits, stains and chips.

use std::f64::consts::TAU;

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::noise::{IMAGE_WIDTH, Noise, between, smoothstep};
use super::surface::Point;

/// A defect of a surface, completely inside the image.
#[derive(Debug)]
pub(super) enum Defect {
    /// Grooves that are shiny or dull.
    Scratches { lines: Vec<Line>, tone: f64 },
    /// Dark, jagged lines that branch.
    Crack(Vec<Line>),
    /// Holes with a rim.
    Pits { holes: Vec<Blob>, noise: Noise },
    /// A spot of another colour, darker along its border.
    Stain {
        blobs: Vec<Blob>,
        tint: [f64; 3],
        noise: Noise,
    },
    /// The surface is chipped and shows the layer below.
    Chip {
        blob: Blob,
        under: [f64; 3],
        noise: Noise,
    },
}

/// A polyline of points `[x, y, width]`.
#[derive(Debug)]
pub(super) struct Line(Vec<[f64; 3]>);

#[derive(Debug)]
pub(super) struct Blob {
    x: f64,
    y: f64,
    radius: f64,
}

impl Blob {
    fn draw(rng: &mut ChaCha8Rng, least: f64, most: f64) -> Self {
        Self {
            x: IMAGE_WIDTH * between(rng, 0.22, 0.78),
            y: IMAGE_WIDTH * between(rng, 0.22, 0.78),
            radius: between(rng, least, most),
        }
    }

    /// Distance of (x, y) from the centre, in radii. Noise of amplitude `ragged` makes the border irregular.
    fn distance(&self, x: f64, y: f64, noise: Noise, ragged: f64) -> f64 {
        let (dx, dy) = (x - self.x, y - self.y);
        let bend = ragged * noise.octaves(x * 2.2 / self.radius, y * 2.2 / self.radius, 3);
        (dx * dx + dy * dy).sqrt() / self.radius + bend
    }
}

impl Line {
    /// A scratch as an arc that is thin at both ends.
    fn scratch(rng: &mut ChaCha8Rng) -> Self {
        let center = [between(rng, 0.35, 0.65), between(rng, 0.35, 0.65)].map(|c| c * IMAGE_WIDTH);
        let (sin, cos) = libm::sincos(between(rng, 0.0, TAU));
        let length = between(rng, 11.0, 27.0);
        let bow = between(rng, -3.0, 3.0);
        let width = between(rng, 0.65, 0.95);
        let points = (0..=16).map(|i| {
            let t = f64::from(i) / 16.0 - 0.5;
            let off = bow * (1.0 - 4.0 * t * t);
            let thin = (1.0 - 3.2 * t * t).max(0.2);
            [
                center[0] + cos * length * t - sin * off,
                center[1] + sin * length * t + cos * off,
                width * thin,
            ]
        });
        Self(points.collect())
    }

    /// A random walk of `steps` steps around the angle `direction`; it gets thinner along its way.
    fn jagged(
        rng: &mut ChaCha8Rng,
        start: [f64; 2],
        direction: f64,
        steps: u32,
        width: f64,
    ) -> Self {
        let mut points = vec![[start[0], start[1], width]];
        let [mut x, mut y] = start;
        for i in 1..=steps {
            let (sin, cos) = libm::sincos(direction + between(rng, -0.95, 0.95));
            let stride = between(rng, 1.4, 3.0);
            (x, y) = (x + cos * stride, y + sin * stride);
            points.push([x, y, width * (1.0 - 0.75 * f64::from(i) / f64::from(steps))]);
        }
        Self(points)
    }

    /// Distance to the line, in units of its width at the nearest point.
    fn distance(&self, x: f64, y: f64) -> f64 {
        let near = self.0.windows(2).map(|pair| {
            let ([ax, ay, aw], [bx, by, bw]) = (pair[0], pair[1]);
            let (dx, dy) = (bx - ax, by - ay);
            let t = ((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy).max(1e-9);
            let t = t.clamp(0.0, 1.0);
            let (px, py) = (x - ax - t * dx, y - ay - t * dy);
            (px * px + py * py).sqrt() / (aw + (bw - aw) * t)
        });
        near.fold(f64::MAX, f64::min)
    }
}

impl Defect {
    pub(super) fn draw(rng: &mut ChaCha8Rng) -> Self {
        match rng.gen_range(0..5_u32) {
            0 => Self::Scratches {
                tone: if rng.r#gen() {
                    between(rng, 1.5, 1.9)
                } else {
                    between(rng, 0.35, 0.5)
                },
                lines: (0..rng.gen_range(1..=3_u32))
                    .map(|_| Line::scratch(rng))
                    .collect(),
            },
            1 => Self::crack(rng),
            2 => Self::Pits {
                holes: (0..rng.gen_range(1..=5_u32))
                    .map(|_| Blob::draw(rng, 1.2, 3.2))
                    .collect(),
                noise: Noise::new(rng),
            },
            3 => Self::stain(rng),
            _ => Self::Chip {
                blob: Blob::draw(rng, 4.0, 7.5),
                under: if rng.r#gen() {
                    [0.80, 0.78, 0.74]
                } else {
                    [0.20, 0.18, 0.17]
                },
                noise: Noise::new(rng),
            },
        }
    }

    fn crack(rng: &mut ChaCha8Rng) -> Self {
        let direction = between(rng, 0.0, TAU);
        let (sin, cos) = libm::sincos(direction);
        let start = [20.0 - 14.0 * cos, 20.0 - 14.0 * sin].map(|c| c + between(rng, -4.0, 4.0));
        let width = between(rng, 0.55, 0.85);
        let trunk = Line::jagged(rng, start, direction, rng_steps(width), width);
        let mut lines = vec![trunk];
        for _ in 0..rng.gen_range(1..=3_u32) {
            let from = rng.gen_range(3..lines[0].0.len() as u32 - 2) as usize;
            let [x, y, width] = lines[0].0[from];
            let turn = between(rng, 0.6, 1.2) * if rng.r#gen() { 1.0 } else { -1.0 };
            lines.push(Line::jagged(rng, [x, y], direction + turn, 4, width * 0.8));
        }
        Self::Crack(lines)
    }

    fn stain(rng: &mut ChaCha8Rng) -> Self {
        const TINTS: [[f64; 3]; 4] = [
            [0.72, 0.45, 0.28], // rust
            [0.45, 0.44, 0.42], // oil
            [1.32, 1.32, 1.34], // bleach, lime
            [0.62, 0.66, 0.50], // mould
        ];
        let first = Blob::draw(rng, 5.0, 9.0);
        let (x, y) = (first.x, first.y);
        let mut blobs = vec![first];
        for _ in 0..rng.gen_range(0..=3_u32) {
            blobs.push(Blob {
                x: x + between(rng, -9.0, 9.0),
                y: y + between(rng, -9.0, 9.0),
                radius: between(rng, 1.2, 3.5),
            });
        }
        Self::Stain {
            blobs,
            tint: TINTS[rng.gen_range(0..TINTS.len() as u32) as usize],
            noise: Noise::new(rng),
        }
    }

    /// Applies the defect to `point`, which is at (x, y).
    pub(super) fn apply_to(&self, x: f64, y: f64, point: &mut Point) {
        match self {
            Self::Scratches { lines, tone } => {
                for line in lines {
                    groove(line.distance(x, y), *tone, 0.5, point);
                }
            }
            Self::Crack(lines) => {
                let near = lines.iter().map(|line| line.distance(x, y));
                groove(near.fold(f64::MAX, f64::min), 0.18, 0.8, point);
            }
            Self::Pits { holes, noise } => {
                for hole in holes {
                    pit(hole.distance(x, y, *noise, 0.22), hole.radius, point);
                }
            }
            Self::Stain { blobs, tint, noise } => {
                let near = blobs.iter().map(|blob| blob.distance(x, y, *noise, 0.32));
                discolour(near.fold(f64::MAX, f64::min), *tint, point);
            }
            Self::Chip { blob, under, noise } => {
                chip(
                    blob.distance(x, y, *noise, 0.45),
                    *under,
                    *noise,
                    [x, y],
                    point,
                );
            }
        }
    }
}

/// Number of steps of a crack of this width: a thicker crack has fewer.
fn rng_steps(width: f64) -> u32 {
    if width > 0.7 { 10 } else { 13 }
}

/// Changes `point`, `distance` line widths from a scratch or crack: a groove with raised material on both sides.
fn groove(distance: f64, tone: f64, depth: f64, point: &mut Point) {
    let inside = 1.0 - smoothstep(0.55, 1.25, distance);
    let beside = (1.0 - smoothstep(1.2, 2.4, distance)) * (1.0 - inside);
    point.height += depth * (0.35 * beside - inside);
    let tone = 1.0 + (tone - 1.0) * inside;
    point.colour = point.colour.map(|c| (c * tone).min(0.95));
}

fn pit(distance: f64, radius: f64, point: &mut Point) {
    let inside = 1.0 - smoothstep(0.65, 1.0, distance);
    let rim = (1.0 - smoothstep(1.0, 1.35, distance)) * (1.0 - inside);
    point.height += 0.3 * rim - inside * 0.4 * radius;
    point.gloss *= 1.0 - inside;
    point.colour = point.colour.map(|c| c * (1.0 - 0.62 * inside + 0.12 * rim));
}

fn discolour(distance: f64, tint: [f64; 3], point: &mut Point) {
    let inside = 1.0 - smoothstep(0.75, 1.0, distance);
    let border = smoothstep(0.55, 0.85, distance) * inside;
    let strength = 0.72 * inside + 0.28 * border;
    for (colour, tint) in point.colour.iter_mut().zip(tint) {
        *colour *= 1.0 + (tint - 1.0) * strength;
    }
    point.gloss *= 1.0 - 0.6 * inside;
}

fn chip(distance: f64, under: [f64; 3], noise: Noise, [x, y]: [f64; 2], point: &mut Point) {
    let inside = 1.0 - smoothstep(0.88, 0.96, distance);
    let rough = noise.octaves(x * 0.7, y * 0.7, 3);
    for (colour, under) in point.colour.iter_mut().zip(under) {
        *colour += (under * (1.0 + 0.14 * rough) - *colour) * inside;
    }
    point.gloss *= 1.0 - inside;
    point.height = point.height * (1.0 - inside) + inside * (0.12 * rough - 0.8);
}
