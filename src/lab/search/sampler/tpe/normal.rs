use std::f64::consts::{FRAC_1_SQRT_2, TAU};

use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// `1 / √(2 π)`, the density of the standard normal distribution at 0.
pub(super) const PEAK: f64 = 0.398_942_280_401_432_7;

/// Returns `∫ φ(z) dz` from `low` to `high`, accurate also in the tails.
pub(super) fn mass(low: f64, high: f64) -> f64 {
    let tail = |z: f64| 0.5 * libm::erfc(z * FRAC_1_SQRT_2);
    if low > 0.0 {
        tail(low) - tail(high)
    } else if high < 0.0 {
        tail(-high) - tail(-low)
    } else {
        0.5 * (libm::erf(high * FRAC_1_SQRT_2) - libm::erf(low * FRAC_1_SQRT_2))
    }
}

/// Draws a standard normal number.
///
/// # Source
/// Box & Muller 1958. `rand_distr` uses the system's logarithm, whose last digit differs between systems.
pub(super) fn draw(rng: &mut ChaCha8Rng) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - rng.gen_range(0.0..1.0)));
    radius * libm::cos(TAU * rng.gen_range(0.0..1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Purpose, Seed};

    #[test]
    fn draws_have_mean_0_and_variance_1() {
        let mut rng = Seed(1).stream(Purpose::Search);
        let draws: Vec<f64> = (0..20_000).map(|_| draw(&mut rng)).collect();
        let mean = |power: i32| draws.iter().map(|z| z.powi(power)).sum::<f64>() / 20_000.0;
        // Standard errors of the three moments: 0.007, 0.01, 0.07.
        assert!(mean(1).abs() < 0.025, "{}", mean(1));
        assert!((mean(2) - 1.0).abs() < 0.035, "{}", mean(2));
        assert!((mean(4) - 3.0).abs() < 0.25, "{}", mean(4));
    }

    #[test]
    fn masses_are_scipys() {
        // scipy.special.ndtr(high) - ndtr(low); above zero the symmetric interval in the lower tail
        for (low, high, expected) in [
            (-1.0, 1.0, 0.682_689_492_137_085_9),
            (-0.5, 2.0, 0.668_712_329_325_833_9),
            (3.0, 4.0, 0.001_318_226_789_796_973_5),
            (-9.0, -8.0, 6.219_831_985_865_787e-16),
            (10.0, 11.0, 7.619_661_958_203_02e-24),
        ] {
            let found = mass(low, high);
            assert!(
                (found / expected - 1.0).abs() < 1e-9,
                "{low} {high}: {found:e}"
            );
        }
        let peak = 1.0 / (2.0 * std::f64::consts::PI).sqrt();
        assert!((PEAK - peak).abs() < 1e-15);
    }
}
