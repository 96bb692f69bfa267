//! Reference values from `SciPy`, `statsmodels` and `NumPy`, written by `tests/reference/compare/make.py`.

use serde::Deserialize;

use crate::base::statistics::{median, quantile};

use super::{Evidence, anytime_interval, holm, mann_whitney, sign_flip, student_quantile};

#[derive(Deserialize)]
struct Expected {
    mann_whitney: Vec<TwoSides>,
    sign_flip: Vec<Differences>,
    holm: Vec<Family>,
    quantiles: Vec<Sample>,
    student: Vec<Student>,
    sign_bets: Vec<Bets>,
}

#[derive(Deserialize)]
struct TwoSides {
    before: Vec<f64>,
    after: Vec<f64>,
    p: f64,
    ties: bool,
}

#[derive(Deserialize)]
struct Differences {
    differences: Vec<f64>,
    p: f64,
}

#[derive(Deserialize)]
struct Family {
    p: Vec<f64>,
    adjusted: Vec<f64>,
}

#[derive(Deserialize)]
struct Sample {
    values: Vec<f64>,
    median: f64,
    shares: Vec<f64>,
    quantiles: Vec<f64>,
}

#[derive(Deserialize)]
struct Student {
    share: f64,
    freedom: usize,
    t: f64,
}

#[derive(Deserialize)]
struct Bets {
    log_ratios: Vec<f64>,
    threshold: f64,
    effect: f64,
    beyond: [f64; 2],
    within: [f64; 2],
    interval: Option<[f64; 2]>,
}

fn expected() -> Expected {
    let text = include_str!("../../../../tests/reference/compare/expected.json");
    serde_json::from_str(text).expect("the reference file")
}

fn assert_close(found: f64, expected: f64, tolerance: f64, what: &str) {
    let is_close = (found - expected).abs() <= tolerance;
    assert!(is_close, "{what}: {found}, expected {expected}");
}

#[test]
fn mann_whitney_is_scipys_exact_with_ties_and_without_and_asymptotic_for_many_runs() {
    let cases = expected().mann_whitney;
    assert!(cases.iter().filter(|case| case.ties).count() >= 20);
    for case in cases {
        let found = mann_whitney(&case.before, &case.after).expect("values");
        let what = format!("{} and {} values", case.before.len(), case.after.len());
        assert_close(found, case.p, 1e-12, &what);
    }
}

#[test]
fn signs_are_counted_as_scipy_does_and_over_all_patterns_with_ties() {
    for case in expected().sign_flip {
        let found = sign_flip(&case.differences).expect("differences");
        assert_close(found, case.p, 1e-12, &format!("{:?}", case.differences));
    }
}

#[test]
fn holm_is_that_of_statsmodels() {
    for case in expected().holm {
        let found = holm(&case.p);
        assert_eq!(found.len(), case.adjusted.len());
        for (found, expected) in found.iter().zip(&case.adjusted) {
            assert_close(*found, *expected, 1e-15, "Holm");
        }
    }
}

#[test]
fn medians_and_percentiles_are_those_of_numpy() {
    for case in expected().quantiles {
        assert_close(
            median(&case.values).expect("values"),
            case.median,
            1e-15,
            "median",
        );
        for (share, expected) in case.shares.iter().zip(&case.quantiles) {
            let found = quantile(&case.values, *share).expect("values");
            assert_close(found, *expected, 1e-14, &format!("quantile {share}"));
        }
    }
}

#[test]
fn quantiles_of_students_t_are_scipys() {
    for case in expected().student {
        let found = student_quantile(case.share, case.freedom);
        let what = format!("t({}; {})", case.share, case.freedom);
        assert_close(found, case.t, 1e-9 * case.t.abs().max(1.0), &what);
    }
}

#[test]
fn bets_on_signs_follow_their_definition() {
    let cases = expected().sign_bets;
    assert!(cases.iter().any(|case| case.effect > 1000.0));
    for case in cases {
        let found = Evidence::of(&case.log_ratios, case.threshold);
        let n = case.log_ratios.len();
        let pairs = [
            (found.effect, case.effect),
            (found.beyond.0, case.beyond[0]),
            (found.beyond.1, case.beyond[1]),
            (found.within.0, case.within[0]),
            (found.within.1, case.within[1]),
        ];
        for (found, expected) in pairs {
            assert_close(found, expected, 1e-9 * expected, &format!("{n} pairs"));
        }
        let interval = anytime_interval(&case.log_ratios, 0.05);
        assert_eq!(interval.is_some(), case.interval.is_some(), "{n} pairs");
        let Some(((low, high), expected)) = interval.zip(case.interval) else {
            continue;
        };
        assert_close(low, expected[0], 1e-9, "lower end");
        assert_close(high, expected[1], 1e-9, "upper end");
    }
}
