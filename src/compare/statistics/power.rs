//! How large an effect a test would have found.

use std::f64::consts::PI;

use crate::base::statistics::median;

use super::bootstrap::Sides;
use super::student::student_quantile;

/// Power at which an effect counts as detectable.
const POWER: f64 = 0.8;
/// A normal distribution's standard deviation over its median absolute deviation.
const NORMAL_SCALE: f64 = 1.4826;

/// How far runs scatter, as it enters a rank test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::compare) struct RunSpread {
    /// Standard error of the logarithm of the ratio.
    pub error: f64,
    /// Degrees of freedom that it was estimated with.
    pub freedom: usize,
}

/// Returns the standard error of the shift that a rank test looks for; `None` where no freedom is left.
///
/// `s √(1/n + 1/m) √(π/3)` with `s` = 1.4826 × the median distance of logarithms from their side's median; with pairs,
/// `s √(1/n) √(π/3)` of the differences' distances from theirs. `s` is widened by `√(N / (N − sides))`. The median distance
/// is robust to single runs of twice the time; π/3 is what ranks cost under normal noise.
///
/// # Source
/// Hampel 1974 (median absolute deviation); Hodges & Lehmann 1956 (efficiency 3/π of rank tests).
pub(in crate::compare) fn run_spread(sides: Sides<'_>) -> Option<RunSpread> {
    let (residuals, groups, share) = if sides.is_paired {
        let differences = sides.differences();
        let share = 1.0 / differences.len() as f64;
        (from_median(&differences), 1, share)
    } else {
        let logarithms = |side: &[f64]| side.iter().map(|v| v.ln()).collect::<Vec<f64>>();
        let mut residuals = from_median(&logarithms(sides.before));
        residuals.extend(from_median(&logarithms(sides.after)));
        let (n, m) = (sides.before.len() as f64, sides.after.len() as f64);
        (residuals, 2, 1.0 / n + 1.0 / m)
    };
    let freedom = residuals.len().checked_sub(groups).filter(|&f| f > 0)?;
    let widening = residuals.len() as f64 / freedom as f64;
    let scale = NORMAL_SCALE * median(&residuals)? * widening.sqrt();
    Some(RunSpread {
        error: scale * (share * PI / 3.0).sqrt(),
        freedom,
    })
}

/// Returns the smallest relative effect (0.03 is 3 %) that is found with 80 % power: that is significant at `alpha`
/// (two-sided) and larger than `threshold`.
///
/// `exp(max(t(1 − α/2) e, ln(1 + threshold)) + t(0.8) e) − 1`, where `e` is the standard error and `t` quantiles of
/// Student's t with its freedom.
///
/// # Source
/// The usual formula for two means (Cohen 1988, §2), on logarithms.
pub(in crate::compare) fn detectable(spread: RunSpread, alpha: f64, threshold: f64) -> f64 {
    let of = |share| student_quantile(share, spread.freedom) * spread.error;
    let significant = of(1.0 - alpha / 2.0);
    (significant.max(threshold.ln_1p()) + of(POWER)).exp_m1()
}

fn from_median(values: &[f64]) -> Vec<f64> {
    let centre = median(values).unwrap_or_default();
    values.iter().map(|value| (value - centre).abs()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_that_of_the_formula() {
        let before = [1.0_f64, 1.1, 1.2].map(f64::exp);
        let after = [2.0_f64, 2.1, 2.2].map(f64::exp);
        let sides = Sides {
            before: &before,
            after: &after,
            is_paired: false,
        };
        let found = run_spread(sides).expect("a spread");
        // Distances 0.1, 0, 0.1 twice: median 0.1; six values, four degrees of freedom.
        let expected = 1.4826 * 0.1 * 1.5_f64.sqrt() * (2.0 / 3.0 * PI / 3.0).sqrt();
        assert_eq!(found.freedom, 4);
        assert!((found.error - expected).abs() < 1e-12, "{found:?}");
        let pairs = Sides {
            is_paired: true,
            ..sides
        };
        assert!(run_spread(pairs).expect("a spread").error < 1e-12);
    }

    #[test]
    fn an_effect_must_exceed_the_threshold_to_be_found() {
        let spread = RunSpread {
            error: 0.001,
            freedom: 18,
        };
        let found = detectable(spread, 0.05, 0.02);
        // scipy.stats.t.ppf(0.8, 18) = 0.862049
        assert!(
            (found - (1.02 * 0.000_862_049_f64.exp() - 1.0)).abs() < 1e-6,
            "{found}"
        );
        let coarse = RunSpread {
            error: 0.02,
            freedom: 18,
        };
        // scipy.stats.t.ppf(0.975, 18) = 2.100922
        let expected = (0.02 * (2.100_922 + 0.862_049_f64)).exp_m1();
        assert!((detectable(coarse, 0.05, 0.02) - expected).abs() < 1e-6);
    }
}
