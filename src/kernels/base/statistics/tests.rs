//! Expected values are from `NumPy`.

use super::*;
use crate::base::{Purpose, Seed};

const VALUES: [f64; 7] = [3.1, 1.2, 9.7, 4.4, 2.5, 8.8, 4.1];

#[test]
fn quantiles_are_those_of_numpy() {
    // v = [3.1, 1.2, 9.7, 4.4, 2.5, 8.8, 4.1]; numpy.median(v), numpy.quantile(v, [0, 0.1, 0.25, 0.9, 1])
    assert_eq!(median(&VALUES), Some(4.1));
    let expected = [1.2, 1.98, 2.8, 9.16, 9.7];
    for (share, expected) in [0.0, 0.1, 0.25, 0.9, 1.0].into_iter().zip(expected) {
        let found = quantile(&VALUES, share).unwrap_or(f64::NAN);
        assert!((found - expected).abs() < 1e-12, "{share}: {found}");
    }
    // numpy.median(v[:4])
    assert_eq!(median(&VALUES[..4]), Some(3.75));
    assert_eq!(median(&[]), None);
}

#[test]
fn the_geometric_mean_is_that_of_numpy() {
    // numpy.exp(numpy.mean(numpy.log(v)))
    let found = geometric_mean(&VALUES).unwrap_or(f64::NAN);
    assert!((found - 3.923_833_362_394_296_5).abs() < 1e-12);
    assert_eq!(geometric_mean(&[1.0, 0.0]), None);
}

#[test]
fn a_power_law_is_numpys_line_through_logarithms() {
    // x = [8, 16, 32, 64]; y = [110, 205, 420, 790]
    // p, c = numpy.polyfit(log(x), log(y), 1, cov=True); p, exp(p[1]), sqrt(diag(c))
    let points = [(8.0, 110.0), (16.0, 205.0), (32.0, 420.0), (64.0, 790.0)];
    let fit = fit_power_law(&points).expect("four points");
    assert!((fit.exponent - 0.956_781_28).abs() < 1e-8, "{fit:?}");
    assert!((fit.factor - 14.873_608_315).abs() < 1e-8, "{fit:?}");
    let error = fit.exponent_error.expect("two degrees of freedom");
    assert!((error - 0.018_501_71).abs() < 1e-8, "{fit:?}");
    assert!((fit.residual - 0.028_676_253).abs() < 1e-8, "{fit:?}");
}

#[test]
fn two_points_leave_no_error_and_one_no_line() {
    let fit = fit_power_law(&[(1.0, 2.0), (2.0, 4.0)]).expect("two points");
    assert!((fit.exponent - 1.0).abs() < 1e-12);
    assert_eq!(fit.exponent_error, None);
    assert_eq!(fit_power_law(&[(1.0, 2.0), (1.0, 3.0)]), None);
    assert_eq!(fit_power_law(&[]), None);
}

#[test]
fn a_bootstrap_interval_holds_the_median_and_repeats() {
    let draw = || {
        let mut rng = Seed(1).stream(Purpose::Bootstrap);
        bootstrap_median(&VALUES, 0.95, 2000, &mut rng)
    };
    let (low, high) = draw().expect("seven values");
    assert!(low <= 4.1 && 4.1 <= high, "{low} {high}");
    assert!(low >= 1.2 && high <= 9.7);
    assert_eq!(draw(), Some((low, high)));
}

#[test]
fn a_value_beyond_the_fences_is_an_outlier() {
    assert_eq!(outliers(&[1.0, 1.1, 0.9, 1.0, 5.0]), 1);
    assert_eq!(outliers(&[1.0, 5.0, 9.0]), 0);
}

#[test]
fn a_straight_line_is_numpys() {
    // x = [8, 16, 32, 64]; y = [424, 677, 1189, 2188]
    // p = numpy.polyfit(x, y, 1); residual over n − 2; s √(1 + 1/n + (128 − mean)² / spread)
    let points = [(8.0, 424.0), (16.0, 677.0), (32.0, 1189.0), (64.0, 2188.0)];
    let line = least_squares(&points).expect("four points");
    assert!((line.slope - 31.502_173_913).abs() < 1e-8, "{line:?}");
    assert!((line.offset - 174.434_782_6).abs() < 1e-6, "{line:?}");
    assert!((line.residual - 5.338_131_9).abs() < 1e-6, "{line:?}");
    let error = line
        .prediction_error(128.0)
        .expect("two degrees of freedom");
    assert!((error - 13.577_720_0).abs() < 1e-6, "{error}");
    assert_eq!(least_squares(&points[..1]), None);
    let two = least_squares(&points[..2]).expect("two points");
    assert_eq!(two.prediction_error(128.0), None);
}
