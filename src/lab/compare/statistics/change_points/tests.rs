use serde::Deserialize;

use super::*;

/// Values of Apache Otava, `SciPy` and statsmodels, written by `tests/reference/history/make.py`.
#[derive(Deserialize)]
struct Expected {
    splits: Vec<Split>,
    changes: Vec<Series>,
    residuals: Vec<Residuals>,
}

#[derive(Deserialize)]
struct Split {
    values: Vec<f64>,
    at: usize,
    energy: f64,
}

#[derive(Deserialize)]
struct Series {
    values: Vec<f64>,
    alpha: f64,
    least: f64,
    changes: Vec<Change>,
}

#[derive(Deserialize)]
struct Change {
    at: usize,
    before: f64,
    after: f64,
    p: f64,
}

#[derive(Deserialize)]
struct Residuals {
    values: Vec<f64>,
    places: Vec<usize>,
    p: Vec<f64>,
}

fn expected() -> Expected {
    let text = include_str!("../../../../../tests/reference/history/expected.json");
    serde_json::from_str(text).expect("the reference file")
}

#[track_caller]
fn assert_close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 1e-9,
        "{found}, expected {expected}"
    );
}

#[test]
fn splits_are_those_of_the_authors() {
    for case in expected().splits {
        let (energy, at) = best_split(&case.values).expect("a split");
        assert_eq!(at, case.at);
        assert_close(energy, case.energy);
    }
}

#[test]
fn changes_are_those_of_the_authors_with_the_t_test_of_scipy() {
    let mut count = 0;
    for case in expected().changes {
        let found = change_points(&case.values, case.alpha, case.least);
        assert_eq!(found.len(), case.changes.len());
        for (found, expected) in found.iter().zip(&case.changes) {
            assert_eq!(found.at, expected.at);
            assert_close(found.before, expected.before);
            assert_close(found.after, expected.after);
            assert_close(found.p, expected.p);
        }
        count += found.len();
    }
    assert!(count >= 20, "the cases have changes");
}

#[test]
fn deleted_residuals_are_those_of_statsmodels() {
    for case in expected().residuals {
        let found = deleted_residuals(&case.values, &case.places);
        assert_eq!(found.len(), case.p.len());
        for (found, p) in found.iter().zip(&case.p) {
            assert_close(found.p, *p);
        }
    }
}

/// `count` values between 0 and 1 with a period of eleven.
fn values(count: usize) -> Vec<f64> {
    (0..count).map(|n| (n * 7 % 11) as f64 / 10.0).collect()
}

#[test]
fn a_blip_is_away_and_back_and_hides_no_change() {
    let mut series = values(40);
    series[25..].iter_mut().for_each(|value| *value += 3.0);
    series[10] += 8.0;
    let found = changes_and_blips(&series, 1, 0.1);
    let places = |steps: &[Step]| steps.iter().map(|step| step.at).collect::<Vec<_>>();
    assert_eq!(places(&found.changes), [25]);
    assert_eq!(places(&found.blips), [10]);
    // Neither is found if `least` is larger than both.
    assert_eq!(changes_and_blips(&series, 1, 20.0), Found::default());
}

#[test]
fn the_last_values_are_no_blip_as_nothing_says_that_they_went_back() {
    for away in 1..SEGMENT {
        let mut series = values(30);
        series[30 - away..]
            .iter_mut()
            .for_each(|value| *value += 8.0);
        assert_eq!(changes_and_blips(&series, 1, 0.1).blips, []);
    }
}

#[test]
fn series_without_spread_or_with_few_values_have_an_answer() {
    for count in [0, 1, 5, 60] {
        assert_eq!(
            changes_and_blips(&vec![1.0; count], 1, 0.0),
            Found::default()
        );
    }
    let step = [vec![1.0; 10], vec![2.0; 10]].concat();
    let found = changes_and_blips(&step, 1, 0.0);
    assert_eq!((found.changes[0].at, found.changes[0].p), (10, 0.0));
}
