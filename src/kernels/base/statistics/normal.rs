//! The standard normal distribution.

use std::f64::consts::FRAC_1_SQRT_2;

/// Returns the probability of a standard normal variable between `low` and `high`; the relative error is small in the
/// tails too, where both ends have the same sign.
pub fn normal_mass(low: f64, high: f64) -> f64 {
    let above = |z: f64| 0.5 * libm::erfc(z * FRAC_1_SQRT_2);
    // Uses the tail on the side of the interval; on the other side, subtracting two numbers near 1 would lose
    // precision.
    if low + high > 0.0 {
        above(low) - above(high)
    } else {
        above(-high) - above(-low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_normal_probability_is_that_of_scipy() {
        // from scipy.special import ndtr; ndtr(high) - ndtr(low), for the upper tail ndtr(-low) - ndtr(-high)
        let expected = [
            (-1.0, 1.0, 0.682_689_492_137_085_9),
            (-0.5, 2.0, 0.668_712_329_325_833_9),
            (3.0, 4.0, 0.001_318_226_789_796_973_5),
            (-9.0, -8.0, 6.219_831_985_865_787e-16),
            (10.0, 11.0, 7.619_661_958_203_02e-24),
        ];
        for (low, high, mass) in expected {
            let error = normal_mass(low, high) / mass - 1.0;
            assert!(error.abs() < 1e-9, "{low} {high}: {error:e}");
        }
    }
}
