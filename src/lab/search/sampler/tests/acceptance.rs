//! Compares the optima found by the samplers with Optuna's, on the problems of `tests/reference/search/make_samplers.py`.

use std::f64::consts::PI;

use serde::Deserialize;

use crate::base::statistics::median;
use crate::compare::mann_whitney;
use crate::plan::search::{Point, SamplerSpec, Space, TpeSection, Value};
use crate::search::TrialRecord;

use crate::search::sampler::Sampler;
use crate::search::sampler::testing::{
    choice, float, float_step, int, int_log, log_float, nsga2, of, random, records, space, when,
};

/// Number of seeds per sample; Optuna's samples have the same number.
const SEEDS: u64 = 30;

#[derive(Deserialize)]
struct Reference {
    trials: usize,
    trials_of_two: usize,
    population: usize,
    corner: [f64; 2],
    tpe_best: Best,
    tpe_hypervolume: Vec<f64>,
    nsga2_hypervolume: Vec<f64>,
    probes: Probes,
}

#[derive(Deserialize)]
struct Best {
    branin: Vec<f64>,
    rosenbrock: Vec<f64>,
    mixed: Vec<f64>,
}

#[derive(Deserialize)]
struct Probes {
    branin: f64,
    rosenbrock: f64,
    mixed: f64,
    zdt1: Vec<f64>,
}

fn reference() -> Reference {
    let text = include_str!("../../../../../tests/reference/search/samplers.json");
    serde_json::from_str(text).expect("the reference file")
}

/// Branin's function minus its minimum.
fn branin(x: f64, y: f64) -> f64 {
    let a = y - 5.1 / (4.0 * PI * PI) * x * x + 5.0 / PI * x - 6.0;
    a * a + 10.0 * (1.0 - 1.0 / (8.0 * PI)) * x.cos() + 10.0 - 0.397_887_357_729_738_16
}

fn rosenbrock(x: &[f64]) -> f64 {
    let terms = x.windows(2).map(|pair| {
        let bend = pair[1] - pair[0] * pair[0];
        100.0 * bend * bend + (1.0 - pair[0]) * (1.0 - pair[0])
    });
    terms.sum()
}

/// An artificial loss of a network: rate, hidden, layers, clip, activation, kind, and momentum if kind is 1.
fn mixed(x: &[f64]) -> f64 {
    let [rate, hidden, layers, clip, activation, kind, ..] = x else {
        return f64::NAN;
    };
    let bend = rate.log10() + 3.0 + 0.2 * (layers - 5.0);
    let mut value = 0.5 * bend * bend;
    value += (hidden.log2() - 8.0).powi(2) / 8.0;
    value += ((layers - 5.0) / 3.0).powi(2) * 0.3 + 0.2 * (clip - 1.25).powi(2);
    value += [0.3, 0.0, 0.2, 0.5][*activation as usize];
    value
        + if *kind == 0.0 {
            0.15
        } else {
            2.0 * (x[6] - 0.9).powi(2)
        }
}

fn zdt1(x: &[f64]) -> Vec<f64> {
    let g = 1.0 + 9.0 * x[1..].iter().sum::<f64>() / (x.len() - 1) as f64;
    vec![x[0], g * (1.0 - (x[0] / g).sqrt())]
}

fn numbers(point: &Point) -> Vec<f64> {
    point
        .values
        .iter()
        .map(|v| v.map_or(0.0, Value::as_f64))
        .collect()
}

fn mixed_space() -> Space {
    let space = space([
        log_float(1e-5, 1e-1),
        int_log(16, 1024),
        int(1, 8, 1),
        float_step(0.5, 2.0, 0.25),
        choice(4),
        choice(2),
        float(0.0, 0.99),
    ]);
    when(space, 6, 5, &[1])
}

fn tpe(seed: u64) -> Sampler {
    let settings = TpeSection {
        startup_trials: 10,
        candidates: 24,
    };
    of(SamplerSpec::Tpe(settings), seed)
}

/// The smallest value of each search.
fn bests(
    sampler: impl Fn(u64) -> Sampler,
    space: &Space,
    lag: usize,
    value: fn(&[f64]) -> f64,
) -> Vec<f64> {
    let trials = reference().trials;
    (0..SEEDS)
        .map(|seed| {
            records(&sampler(seed), space, trials, lag, |point| {
                vec![value(&numbers(point))]
            })
            .iter()
            .filter_map(|record| record.values().map(|values| values[0]))
            .fold(f64::INFINITY, f64::min)
        })
        .collect()
}

/// The hypervolume (area) between the front of each search and the reference point.
fn areas(seeds: u64, sampler: impl Fn(u64) -> Sampler) -> Vec<f64> {
    let Reference {
        trials_of_two,
        corner,
        ..
    } = reference();
    let space = space(vec![float(0.0, 1.0); 5]);
    (0..seeds)
        .map(|seed| {
            let past = records(&sampler(seed), &space, trials_of_two, 0, |point| {
                zdt1(&numbers(point))
            });
            area(&past, corner)
        })
        .collect()
}

fn area(past: &[TrialRecord], [right, top]: [f64; 2]) -> f64 {
    let mut values: Vec<&[f64]> = past.iter().filter_map(TrialRecord::values).collect();
    values.sort_by(|a, b| a[0].total_cmp(&b[0]));
    let (mut area, mut floor) = (0.0, top);
    for value in values {
        if value[0] < right && value[1] < floor {
            area += (right - value[0]) * (floor - value[1]);
            floor = value[1];
        }
    }
    area
}

fn assert_no_worse_than_optuna(
    name: &str,
    space: &Space,
    value: fn(&[f64]) -> f64,
    optuna: &[f64],
) {
    let found = bests(tpe, space, 0, value);
    let lagged = bests(tpe, space, 4, value);
    let random = bests(random, space, 0, value);
    let middle = |values: &[f64]| median(values).expect("values");
    let (ours, theirs) = (middle(&found), middle(optuna));
    let p = mann_whitney(&found, optuna).expect("values");
    let p_random = mann_whitney(&found, &random).expect("values");
    println!(
        "{name}: median regret {ours:.4}, lag 4 {:.4}, Optuna {theirs:.4} (p {p:.2}), random {:.4} (p {p_random:.1e})",
        middle(&lagged),
        middle(&random),
    );
    assert!(
        ours <= 1.25 * theirs || p > 0.05,
        "{name}: {ours}, Optuna {theirs}, p {p}"
    );
    for (values, what) in [(&found, "lag 0"), (&lagged, "lag 4")] {
        let p = mann_whitney(values, &random).expect("values");
        assert!(
            middle(values) < middle(&random) && p < 0.05,
            "{name}, {what}: p {p}"
        );
    }
}

#[test]
fn the_problems_are_those_of_the_reference() {
    let probes = reference().probes;
    let close = |found: f64, expected: f64| (found - expected).abs() < 1e-9;
    assert!(close(branin(2.5, 7.5), probes.branin));
    assert!(close(
        rosenbrock(&[0.5, -1.0, 1.5, 0.25]),
        probes.rosenbrock
    ));
    assert!(close(
        mixed(&[2e-4, 100.0, 3.0, 0.75, 2.0, 1.0, 0.5]),
        probes.mixed
    ));
    let found = zdt1(&[0.3, 0.1, 0.9, 0.4, 0.0]);
    assert!(found.iter().zip(&probes.zdt1).all(|(a, b)| close(*a, *b)));
}

#[test]
fn tpe_is_optunas_on_branin() {
    let space = space([float(-5.0, 10.0), float(0.0, 15.0)]);
    let value = |x: &[f64]| branin(x[0], x[1]);
    assert_no_worse_than_optuna("branin", &space, value, &reference().tpe_best.branin);
}

#[test]
fn tpe_is_optunas_on_rosenbrock() {
    let space = space(vec![float(-2.048, 2.048); 4]);
    assert_no_worse_than_optuna(
        "rosenbrock",
        &space,
        rosenbrock,
        &reference().tpe_best.rosenbrock,
    );
}

#[test]
fn tpe_is_optunas_on_a_mixed_space() {
    assert_no_worse_than_optuna("mixed", &mixed_space(), mixed, &reference().tpe_best.mixed);
}

/// `found` is better than random search, and not significantly worse than Optuna.
fn assert_area_is_optunas(name: &str, found: &[f64], optuna: &[f64]) {
    let random = areas(SEEDS, random);
    let middle = |values: &[f64]| median(values).expect("values");
    let p = mann_whitney(found, optuna).expect("values");
    let p_random = mann_whitney(found, &random).expect("values");
    let (ours, theirs, drawn) = (middle(found), middle(optuna), middle(&random));
    println!(
        "{name}: area {ours:.3}, Optuna {theirs:.3} (p {p:.2}), random {drawn:.3} (p {p_random:.1e})"
    );
    assert!(ours > drawn && p_random < 0.05, "{name}: p {p_random}");
    assert!(
        ours >= theirs || p > 0.05,
        "{name}: {ours}, Optuna {theirs}, p {p}"
    );
}

#[test]
fn nsga2_is_optunas_on_two_objectives() {
    let reference = reference();
    let population = reference.population;
    let found = areas(SEEDS, |seed| nsga2(seed, population));
    assert_area_is_optunas("nsga2", &found, &reference.nsga2_hypervolume);
}

#[test]
fn tpe_is_optunas_on_two_objectives() {
    let found = areas(SEEDS / 2, tpe);
    assert_area_is_optunas("tpe", &found, &reference().tpe_hypervolume);
}
