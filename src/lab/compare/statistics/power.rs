//! The size of effect that a test would have detected.

use crate::base::statistics::{median, quantile};

use super::bootstrap::Sides;
use super::mann_whitney::critical_mann_whitney;
use super::sign_flip::critical_sign_flip;
use super::student::student_quantile;
use super::{Dice, percentiles};

/// Power at which an effect counts as detectable.
const POWER: f64 = 0.8;
const REPETITIONS: usize = 400;

/// Returns the smallest relative effect (0.03 is 3 %) of a cell that is detected with 80 % power: its test is significant at
/// `alpha` (two-sided), and its ratio of medians exceeds `least`, the smallest |ln ratio| that counts: the
/// threshold or, if larger, half the width of the interval of the ln ratio, which then does not contain 0. `None` if no effect can be detected.
///
/// Simulates the comparison on runs without an effect: residuals from the side's median (for the sign test, from the median
/// of the pairs' differences), drawn with replacement and widened by `√(N / (N − sides))`. In each repetition the smallest
/// sufficient shift of the logarithms has a closed form: a rank test becomes significant at an order statistic of the
/// differences between the sides (for signed ranks, of the pairwise means of the differences). The result is the 80 %
/// quantile of these shifts. This assumes no normal distribution, accounts for the discreteness of the test, and keeps
/// outliers.
///
/// # Source
/// Hodges & Lehmann 1963 (shift at which a rank test becomes significant); Collings & Hamilton 1988 (power by resampling).
pub(in crate::compare) fn detectable(
    sides: Sides<'_>,
    alpha: f64,
    least: f64,
    dice: &mut Dice,
) -> Option<f64> {
    let (n, m) = (sides.before.len(), sides.after.len());
    let around_log_median = |side: &[f64]| {
        let logarithms: Vec<f64> = side.iter().map(|v| v.ln()).collect();
        around_median(&logarithms)
    };
    let (mut noise, groups, critical) = if sides.is_paired {
        let noise = around_median(&sides.differences());
        (noise, 1, critical_sign_flip(n, alpha)?)
    } else {
        let noise = [sides.before, sides.after].map(around_log_median);
        (noise.concat(), 2, critical_mann_whitney(n, m, alpha)?)
    };
    // Sorted, so that the order of runs has no effect.
    noise.sort_by(f64::total_cmp);
    let freedom = noise.len().checked_sub(groups);
    let freedom = freedom.filter(|&freedom| freedom > 0)?;
    let widening = (noise.len() as f64 / freedom as f64).sqrt();
    let mut side = |count: usize| -> Vec<f64> {
        let drawn = (0..count).map(|_| widening * noise[dice.below(noise.len())]);
        drawn.collect()
    };
    let shift = |_| {
        let (turn, without) = if sides.is_paired {
            let differences = side(n);
            let turn = significant_sign_shift(&differences, critical);
            (turn, median(&differences)?)
        } else {
            let (before, after) = (side(n), side(m));
            let turn = significant_rank_shift(&before, &after, critical);
            (turn, median(&after)? - median(&before)?)
        };
        Some(turn.max(least - without))
    };
    let shifts: Option<Vec<f64>> = (0..REPETITIONS).map(shift).collect();
    Some(quantile(&shifts?, POWER)?.max(0.0).exp_m1())
}

/// Returns the smallest relative change of a mean of log ratios that is detected with 80 % power; `resampled` is its
/// bootstrap distribution.
///
/// `exp(max(t(1 − α/2) e, ln(1 + threshold)) + t(0.8) e) − 1` with `e` the half width of the 95 % interval divided by
/// `t(0.975)`.
///
/// # Source
/// The usual formula for a mean (Cohen 1988, §2), on logarithms.
pub(in crate::compare) fn detectable_mean(
    resampled: &[f64],
    freedom: usize,
    alpha: f64,
    threshold: f64,
) -> Option<f64> {
    let (low, high) = percentiles(resampled)?;
    let of = |share| student_quantile(share, freedom);
    let error = (high / low).ln() / (2.0 * of(0.975));
    let shift = (of(1.0 - alpha / 2.0) * error).max(threshold.ln_1p());
    Some((shift + of(POWER) * error).exp_m1())
}

/// Smallest shift of `after` beyond which, among all pairs of one value of each side, the value before is the larger
/// one in at most `critical` pairs.
fn significant_rank_shift(before: &[f64], after: &[f64], critical: usize) -> f64 {
    let differences = before.iter().flat_map(|b| after.iter().map(move |a| b - a));
    let mut differences: Vec<f64> = differences.collect();
    let (_, turn, _) = differences.select_nth_unstable_by(critical, |a, b| b.total_cmp(a));
    *turn
}

/// Shift beyond which the ranks of negative differences sum to at most `critical`.
fn significant_sign_shift(differences: &[f64], critical: usize) -> f64 {
    let means = differences.iter().enumerate().flat_map(|(index, a)| {
        let rest = differences[index..].iter();
        rest.map(|b| f64::midpoint(*a, *b))
    });
    let mut means: Vec<f64> = means.collect();
    let (_, turn, _) = means.select_nth_unstable_by(critical, f64::total_cmp);
    -*turn
}

fn around_median(values: &[f64]) -> Vec<f64> {
    let centre = median(values).unwrap_or_default();
    values.iter().map(|value| value - centre).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Purpose, Seed};
    use crate::compare::statistics::{mann_whitney, sign_flip};

    fn dice() -> Dice {
        Dice(Seed(1).stream(Purpose::Bootstrap))
    }

    #[test]
    fn a_rank_test_turns_at_the_shift_that_is_computed() {
        let before = [0.3, -0.1, 0.25, 0.0, -0.2, 0.11];
        let after = [0.02, -0.3, 0.21, 0.07, -0.15, 0.4];
        let critical = critical_mann_whitney(6, 6, 0.05).expect("six a side");
        let turn = significant_rank_shift(&before, &after, critical);
        let p = |shift: f64| mann_whitney(&before, &after.map(|a| a + shift)).expect("values");
        assert!(p(turn + 1e-6) <= 0.05 && p(turn - 1e-6) > 0.05);
    }

    #[test]
    fn a_test_of_signs_turns_at_the_shift_that_is_computed() {
        let differences = [0.3, -0.1, 0.25, 0.04, -0.2, 0.11, -0.31, 0.02];
        let critical = critical_sign_flip(8, 0.05).expect("eight pairs");
        let turn = significant_sign_shift(&differences, critical);
        let p = |shift: f64| sign_flip(&differences.map(|d| d + shift)).expect("values");
        assert!(p(turn + 1e-6) <= 0.05 && p(turn - 1e-6) > 0.05);
    }

    #[test]
    fn runs_without_noise_detect_what_exceeds_the_threshold() {
        let sides = Sides {
            before: &[10.0; 6],
            after: &[10.0; 6],
            is_paired: false,
        };
        let found = detectable(sides, 0.05, 1.02_f64.ln(), &mut dice()).expect("an effect");
        assert!((found - 0.02).abs() < 1e-12, "{found}");
        let three = Sides {
            before: &[10.0; 3],
            ..sides
        };
        assert_eq!(detectable(three, 0.001, 0.02, &mut dice()), None);
    }

    #[test]
    fn a_mean_is_detected_as_the_formula_says() {
        // A uniform grid on ±0.1 (central 95 %: ±0.095): e = 0.095 / t(0.975; 18), t(0.975; 18) = 2.100922, t(0.8; 18) = 0.862049.
        let grid: Vec<f64> = (-1000..=1000).map(|i| f64::from(i) * 1e-4).collect();
        let found = detectable_mean(&grid, 18, 0.05, 0.02).expect("an effect");
        let error = 0.095 / 2.100_922;
        let expected = (error * (2.100_922 + 0.862_049_f64)).exp_m1();
        assert!((found - expected).abs() < 1e-5, "{found}");
    }
}
