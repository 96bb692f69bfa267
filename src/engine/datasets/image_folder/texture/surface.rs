//! [`Surface`]: brushed metal, fabric, leather, concrete, wood and granite.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::noise::{Noise, between, smoothstep};

/// A point of a surface.
#[derive(Debug, Clone, Copy)]
pub(super) struct Point {
    /// Height in units of the image (40 wide).
    pub(super) height: f64,
    /// Fractions of red, green and blue light that are reflected.
    pub(super) colour: [f64; 3],
    /// Factor by which the material's gloss is multiplied.
    pub(super) gloss: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Material {
    Metal,
    Fabric,
    Leather,
    Concrete,
    Wood,
    Granite,
}

/// A material with random colour, rotation and scale.
#[derive(Debug)]
pub(super) struct Surface {
    material: Material,
    noise: Noise,
    fine: Noise,
    sin: f64,
    cos: f64,
    /// Size of the material's pattern, where an image is 40 wide.
    pattern: f64,
    relief: f64,
    colour: [f64; 3],
    second: [f64; 3],
}

const METALS: [[f64; 3]; 4] = [
    [0.52, 0.54, 0.56],
    [0.62, 0.63, 0.64],
    [0.62, 0.53, 0.35],
    [0.60, 0.43, 0.34],
];
const CLOTHS: [[f64; 3]; 5] = [
    [0.62, 0.57, 0.48],
    [0.34, 0.42, 0.55],
    [0.50, 0.50, 0.50],
    [0.55, 0.30, 0.28],
    [0.38, 0.46, 0.36],
];
const LEATHERS: [[f64; 3]; 4] = [
    [0.50, 0.33, 0.21],
    [0.63, 0.48, 0.33],
    [0.28, 0.25, 0.24],
    [0.46, 0.24, 0.19],
];
const CONCRETES: [[f64; 3]; 3] = [[0.60, 0.59, 0.57], [0.66, 0.62, 0.55], [0.50, 0.51, 0.52]];
const WOODS: [[f64; 3]; 4] = [
    [0.68, 0.50, 0.32],
    [0.55, 0.36, 0.22],
    [0.74, 0.60, 0.42],
    [0.45, 0.30, 0.20],
];
const GRANITES: [[f64; 3]; 3] = [[0.58, 0.56, 0.55], [0.62, 0.50, 0.46], [0.45, 0.46, 0.48]];

impl Surface {
    pub(super) fn draw(rng: &mut ChaCha8Rng) -> Self {
        let (material, colours, pattern): (Material, &[[f64; 3]], [f64; 2]) =
            match rng.gen_range(0..6_u32) {
                0 => (Material::Metal, &METALS, [0.8, 1.4]),
                1 => (Material::Fabric, &CLOTHS, [3.0, 4.6]),
                2 => (Material::Leather, &LEATHERS, [2.4, 4.2]),
                3 => (Material::Concrete, &CONCRETES, [5.0, 9.0]),
                4 => (Material::Wood, &WOODS, [4.0, 7.5]),
                _ => (Material::Granite, &GRANITES, [1.8, 3.0]),
            };
        let (sin, cos) = libm::sincos(between(rng, 0.0, std::f64::consts::PI));
        let shade = between(rng, 0.9, 1.1);
        let colour = colours[rng.gen_range(0..colours.len() as u32) as usize];
        let colour = colour.map(|c| c * shade * between(rng, 0.97, 1.03));
        let darker = between(rng, 0.62, 0.85);
        Self {
            material,
            noise: Noise::new(rng),
            fine: Noise::new(rng),
            sin,
            cos,
            pattern: between(rng, pattern[0], pattern[1]),
            relief: between(rng, 0.8, 1.25),
            colour,
            second: colour.map(|c| c * darker),
        }
    }

    pub(super) fn gloss(&self) -> f64 {
        match self.material {
            Material::Metal => 0.15,
            Material::Leather => 0.14,
            Material::Wood | Material::Granite => 0.08,
            Material::Fabric | Material::Concrete => 0.0,
        }
    }

    pub(super) fn at(&self, x: f64, y: f64) -> Point {
        let (u, v) = (self.cos * x + self.sin * y, self.cos * y - self.sin * x);
        let (height, colour) = match self.material {
            Material::Metal => self.metal(u, v),
            Material::Fabric => self.fabric(u, v),
            Material::Leather => self.leather(u, v),
            Material::Concrete => self.concrete(u, v),
            Material::Wood => self.wood(u, v),
            Material::Granite => self.granite(u, v),
        };
        Point {
            height: height * self.relief,
            colour,
            gloss: 1.0,
        }
    }

    /// Height and colour of metal: long fine streaks along `u`.
    fn metal(&self, u: f64, v: f64) -> (f64, [f64; 3]) {
        let streak = self.noise.octaves(u * 0.03, v / self.pattern, 3);
        let hair = self.fine.octaves(u * 0.09, v * 2.3, 2);
        let cloud = self.fine.smooth(u * 0.06 + 9.0, v * 0.06);
        let tone = 1.0 + 0.13 * streak + 0.06 * hair + 0.05 * cloud;
        (0.10 * streak + 0.05 * hair, self.colour.map(|c| c * tone))
    }

    /// Height and colour of fabric, a plain weave: two sets of threads that alternate over and under each other.
    fn fabric(&self, u: f64, v: f64) -> (f64, [f64; 3]) {
        let wobble = 0.35 * self.noise.smooth(u * 0.12, v * 0.12);
        let (a, b) = (u / self.pattern + wobble, v / self.pattern - wobble);
        let (i, j) = (a.floor(), b.floor());
        let (a, b) = (2.0 * (a - i) - 1.0, 2.0 * (b - j) - 1.0);
        let is_warp = (i as i64 + j as i64).rem_euclid(2) == 0;
        let (across, along, thread) = if is_warp {
            (a, b, i)
        } else {
            (b, a, j + 1000.0)
        };
        let round = (1.0 - 0.9 * across * across).sqrt() - 0.3 * along * along;
        let fibre = self.fine.octaves(u * 1.4, v * 1.4, 2);
        let dye = 1.0 + 0.10 * self.noise.hash(thread as i64, 5) + 0.09 * fibre;
        let shadow = 0.55 + 0.45 * smoothstep(0.0, 0.75, round);
        let colour = if is_warp { self.colour } else { self.second };
        (0.55 * round, colour.map(|c| c * dye * shadow))
    }

    /// Height and colour of leather: rounded grains between creases.
    fn leather(&self, u: f64, v: f64) -> (f64, [f64; 3]) {
        let bend = 0.5 * self.fine.smooth(u * 0.2, v * 0.2);
        let (first, second, id) = self
            .noise
            .worley(u / self.pattern + bend, v / self.pattern - bend);
        let crease = smoothstep(0.0, 0.34, second - first);
        let pores = self.fine.octaves(u * 0.9, v * 0.9, 3);
        let tone = 0.80 + 0.20 * crease + 0.06 * (id - 0.5) + 0.06 * pores;
        let height = 0.38 * crease + 0.10 * pores - 0.2 * first;
        (height, self.colour.map(|c| c * tone))
    }

    /// Height and colour of concrete: cloudy, rough, with pores.
    fn concrete(&self, u: f64, v: f64) -> (f64, [f64; 3]) {
        let cloud = self.noise.octaves(u / self.pattern, v / self.pattern, 4);
        let rough = self.fine.octaves(u * 0.8, v * 0.8, 3);
        let (distance, _, id) = self.fine.worley(u * 0.16, v * 0.16);
        let radius = 0.03 + 0.07 * id;
        let pore = 1.0 - smoothstep(radius * 0.5, radius, distance);
        let tone = (1.0 + 0.13 * cloud + 0.09 * rough) * (1.0 - 0.25 * pore);
        let height = 0.22 * rough + 0.2 * cloud - 0.35 * pore;
        (height, self.colour.map(|c| c * tone))
    }

    /// Height and colour of wood: bent growth rings, with fibres along `u`.
    fn wood(&self, u: f64, v: f64) -> (f64, [f64; 3]) {
        let bend = 3.2 * self.noise.octaves(u * 0.035, v * 0.07, 2);
        let ring = (v + bend) / self.pattern;
        let ring = ring - ring.floor();
        let late = smoothstep(0.25, 0.9, ring) * (1.0 - smoothstep(0.93, 1.0, ring));
        let fibre = self.fine.octaves(u * 0.07, v * 1.5, 3);
        let vessel = smoothstep(0.45, 0.85, self.fine.smooth(u * 0.13 + 50.0, v * 1.9));
        let tone = 1.0 + 0.11 * fibre - 0.16 * vessel;
        let colour = std::array::from_fn(|c| {
            (self.colour[c] + (self.second[c] - self.colour[c]) * late) * tone
        });
        (0.08 * fibre - 0.14 * vessel + 0.06 * late, colour)
    }

    /// Height and colour of granite: grains of several minerals.
    fn granite(&self, u: f64, v: f64) -> (f64, [f64; 3]) {
        let bend = 0.35 * self.fine.octaves(u * 0.5, v * 0.5, 2);
        let (first, second, id) = self
            .noise
            .worley(u / self.pattern + bend, v / self.pattern - bend);
        let seam = smoothstep(0.0, 0.12, second - first);
        let mineral = match id {
            id if id < 0.16 => [0.56, 0.56, 0.59],
            id if id < 0.42 => [1.22, 1.20, 1.18],
            id if id < 0.68 => [0.84, 0.84, 0.85],
            _ => [1.0, 0.98, 0.97],
        };
        let speck = 1.0 + 0.10 * self.fine.octaves(u * 1.2, v * 1.2, 2);
        let tone = speck * (0.9 + 0.1 * seam);
        let colour = std::array::from_fn(|c| self.colour[c] * mineral[c] * tone);
        (0.05 * seam - 0.04 * first, colour)
    }
}
