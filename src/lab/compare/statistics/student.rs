//! The tail of the normal distribution and quantiles of Student's t.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2};

/// `P(Z ≥ z)` of a standard normal `Z`.
pub(super) fn normal_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z * FRAC_1_SQRT_2)
}

/// Returns the quantile `share` of Student's t with `freedom` degrees of freedom.
///
/// # Source
/// `scipy.stats.t.ppf`; the distribution function is Abramowitz & Stegun 1964, 26.7.3 and 26.7.4.
pub fn student_quantile(share: f64, freedom: usize) -> f64 {
    bisect(|t| 0.5 * (1.0 + between(t, freedom.max(1))), share)
}

/// `P(|T| ≥ t)` of Student's t with `freedom` degrees of freedom, for `t ≥ 0`.
pub(super) fn student_tails(t: f64, freedom: usize) -> f64 {
    (1.0 - between(t, freedom)).max(0.0)
}

/// `P(−t ≤ T ≤ t)`, negative for negative `t`, by the finite sums for integer degrees of freedom.
fn between(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let is_odd = freedom % 2 == 1;
    // Terms of cos θ + ⅔ cos³ θ + … for odd, of 1 + ½ cos² θ + … for even degrees of freedom.
    let mut term = if is_odd { cosine } else { 1.0 };
    let mut sum = 0.0;
    let mut k = if is_odd { 3 } else { 2 };
    while k <= freedom {
        sum += term;
        term *= cosine * cosine * (k - 1) as f64 / k as f64;
        k += 2;
    }
    if is_odd {
        (angle + sine * sum) / FRAC_PI_2
    } else {
        sine * sum
    }
}

/// Finds where an increasing function takes a value, between −10⁸ and 10⁸.
fn bisect(function: impl Fn(f64) -> f64, value: f64) -> f64 {
    let (mut low, mut high) = (-1e8, 1e8);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if function(middle) < value {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}
