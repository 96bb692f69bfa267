//! The densities of Optuna's estimator, written by `tests/reference/search/make_samplers.py`.

use serde::Deserialize;

use crate::plan::search::{Domain, Value};
use crate::search::sampler::testing::{choice, float, float_step, int_log, log_float};

use super::mixture::Mixture;

#[derive(Deserialize)]
struct Expected {
    densities: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    rows: Vec<[f64; 5]>,
    points: Vec<[f64; 5]>,
    log_densities: Vec<f64>,
}

fn values(row: &[f64; 5]) -> Vec<Value> {
    vec![
        Value::Float(row[0]),
        Value::Float(row[1]),
        Value::Int(row[2] as i64),
        Value::Float(row[3]),
        Value::Choice {
            choice: row[4] as usize,
        },
    ]
}

#[test]
fn densities_are_optunas() {
    let text = include_str!("../../../../../tests/reference/search/samplers.json");
    let cases: Expected = serde_json::from_str(text).expect("the reference file");
    let domains: Vec<Domain> = vec![
        log_float(1e-5, 1e-1),
        float(-2.0, 3.0),
        int_log(16, 1024),
        float_step(0.5, 2.0, 0.025),
        choice(3),
    ];
    let domains: Vec<&Domain> = domains.iter().collect();
    // Our densities are over the unit interval, Optuna's over the logarithm of the first parameter and the value of the
    // second: they differ by a factor of both lengths.
    let lengths = (1e4_f64).ln() * 5.0;
    assert_eq!(cases.densities.len(), 4);
    for case in cases.densities {
        let rows: Vec<Vec<Value>> = case.rows.iter().map(values).collect();
        let points: Vec<Vec<Value>> = case.points.iter().map(values).collect();
        let found = Mixture::of_bad(&domains, &rows).densities(&domains, &points);
        for (found, expected) in found.iter().zip(&case.log_densities) {
            let found = (found / lengths).ln();
            assert!(
                (found - expected).abs() < 1e-9,
                "{} trials: {found}, expected {expected}",
                rows.len()
            );
        }
    }
}
