//! Functions shared by data generators: fingerprint, random numbers.
//!
//! Random numbers are computed with the crate `libm`, so that the bytes are the same on every machine.

use std::f64::consts::TAU;

use rand::RngCore;
use rand_chacha::ChaCha8Rng;

/// Digest of a generator's parameters.
pub(super) fn digest(parameters: &str) -> String {
    blake3::hash(parameters.as_bytes()).to_hex().to_string()
}

/// A random number, uniform in 0 ≤ u < 1, with 53 random bits.
pub(super) fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Two independent standard normal variates.
///
/// `sqrt(-2 ln u) (cos 2πv, sin 2πv)` with `u` in (0, 1], `v` in [0, 1).
///
/// # Source
/// Box & Muller 1958.
pub(super) fn normal_pair(rng: &mut ChaCha8Rng) -> (f64, f64) {
    let radius = (-2.0 * libm::log(1.0 - uniform(rng))).sqrt();
    let (sin, cos) = libm::sincos(TAU * uniform(rng));
    (radius * cos, radius * sin)
}
