//! The random draws of one event: the capture with its gammas, and the hits.

use std::f64::consts::TAU;

use rand_chacha::ChaCha8Rng;

use super::super::generator::uniform;
use super::DetectorEventsSpec;

/// Names of the 22 numbers of an event, in order: energies in keV, momenta in keV/c, positions in mm.
pub const PHI_COLUMNS: [&str; 22] = [
    "#gamma",
    "E_gamma_tot_keV",
    "gammaE1_keV",
    "gammaE2_keV",
    "gammaE3_keV",
    "gammaE4_keV",
    "gammapx1",
    "gammapx2",
    "gammapx3",
    "gammapx4",
    "gammapy1",
    "gammapy2",
    "gammapy3",
    "gammapy4",
    "gammapz1",
    "gammapz2",
    "gammapz3",
    "gammapz4",
    "matID",
    "xNC_mm",
    "yNC_mm",
    "zNC_mm",
];

/// Maximum number of gammas per capture.
const MOST_GAMMAS: usize = 4;
/// Column of the first gamma's energy. Energies, then momenta along x, y and z, take four columns each.
const FIRST_GAMMA: usize = 2;

/// Energy in keV released by a capture on hydrogen, argon, copper and gadolinium.
const MATERIALS_KEV: [f64; 4] = [2223.2, 6098.9, 7915.9, 7937.1];
/// Smallest fraction of the capture's energy that becomes gammas.
const SMALLEST_SHARE: f64 = 0.02;

/// A drawn event: the values that determine the distribution of its hits.
#[derive(Debug)]
pub(super) struct Drawn {
    pub(super) position_mm: [f64; 3],
    /// Mean number of hits of an event on the whole surface, before attenuation is applied.
    pub(super) hits: f64,
}

impl DetectorEventsSpec {
    /// Draws the numbers of a capture ([`PHI_COLUMNS`]) into `phi`, which must be zeros.
    pub(super) fn draw(&self, rng: &mut ChaCha8Rng, phi: &mut [f32]) -> Drawn {
        let position_mm = self.position(rng);
        let material = below(rng, MATERIALS_KEV.len());
        let share = SMALLEST_SHARE + (1.0 - SMALLEST_SHARE) * uniform(rng);
        let total_kev = share * MATERIALS_KEV[material];
        let count = 1 + below(rng, MOST_GAMMAS);
        phi[0] = count as f32;
        phi[1] = total_kev as f32;
        for (gamma, energy) in energies(rng, count, total_kev).into_iter().enumerate() {
            let direction = direction(rng);
            phi[FIRST_GAMMA + gamma] = energy as f32;
            for (axis, part) in direction.into_iter().enumerate() {
                phi[FIRST_GAMMA + (1 + axis) * MOST_GAMMAS + gamma] = (energy * part) as f32;
            }
        }
        phi[18] = material as f32;
        for (place, coordinate) in phi[19..].iter_mut().zip(position_mm) {
            *place = coordinate as f32;
        }
        Drawn {
            position_mm,
            hits: 1e-3 * total_kev * self.hits_per_mev,
        }
    }

    /// A position in mm, uniform in the cylinder.
    fn position(&self, rng: &mut ChaCha8Rng) -> [f64; 3] {
        let radius = self.radius_mm * uniform(rng).sqrt();
        let (sin, cos) = libm::sincos(TAU * uniform(rng));
        let z = self.height_mm * (uniform(rng) - 0.5);
        [radius * cos, radius * sin, z]
    }
}

/// `count` energies that sum to `total`, uniform among all such energies: exponential variables divided by their sum.
fn energies(rng: &mut ChaCha8Rng, count: usize, total: f64) -> Vec<f64> {
    let parts: Vec<f64> = (0..count).map(|_| waiting_time(rng)).collect();
    let sum: f64 = parts.iter().sum();
    parts.into_iter().map(|part| total * part / sum).collect()
}

/// A random unit vector, uniform on the sphere.
fn direction(rng: &mut ChaCha8Rng) -> [f64; 3] {
    let z = 2.0 * uniform(rng) - 1.0;
    let across = (1.0 - z * z).max(0.0).sqrt();
    let (sin, cos) = libm::sincos(TAU * uniform(rng));
    [across * cos, across * sin, z]
}

/// Adds Poisson hits with mean `hits · light[v]` to every voxel v of `x`, which must be zeros.
///
/// Draws one Poisson process on a line, on which voxel v is an interval whose length is its mean: one random number per
/// hit instead of one per voxel.
pub(super) fn draw_hits(rng: &mut ChaCha8Rng, light: &[f64], hits: f64, x: &mut [f32]) {
    let mut point = waiting_time(rng);
    let mut end = 0.0;
    for (light, x) in light.iter().zip(x) {
        end += hits * light;
        while point < end {
            *x += 1.0;
            point += waiting_time(rng);
        }
    }
}

fn below(rng: &mut ChaCha8Rng, count: usize) -> usize {
    ((uniform(rng) * count as f64) as usize).min(count - 1)
}

/// An exponential random number with mean 1; 0 with probability 2⁻⁵³.
fn waiting_time(rng: &mut ChaCha8Rng) -> f64 {
    -libm::log(1.0 - uniform(rng))
}
