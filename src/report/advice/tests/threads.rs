//! Tests of the rule `threads`: several measured numbers of threads, and a single one.

use super::*;

fn with_cores(mut set: ResultSet, cores: usize) -> ResultSet {
    for environment in set.environments.values_mut() {
        let fields = &mut environment.must_match;
        fields.insert("logical_cores".into(), cores.to_string());
    }
    set
}

#[test]
fn one_measured_number_of_threads_gives_no_recommendation_of_another() {
    for threads in [1, 2] {
        let mut set = set(&small(), |times, batch, _| {
            times.threads = threads;
            times.step_mean_ms = 0.05 * (1.0 + 1e-3 * (times.step_mean_ms % 1.0));
            times.samples_per_s = batch / times.step_mean_ms * 1e3;
        });
        for block in &mut set.blocks {
            let of_busy_threads = |seconds: f64| seconds * 0.95 * threads as f64;
            block.cpu_s = block.wall_s.map(of_busy_threads);
        }
        assert_eq!(of(&with_cores(set, 4), "threads"), []);
    }
}

/// The golden results with 1 thread in cells without workers and 2 threads in the others; a step takes
/// `step_ms(threads)` milliseconds. The baseline is a cell with `threads` threads.
fn of_threads(threads: usize, step_ms: impl Fn(f64) -> f64) -> ResultSet {
    let number = |workers: f64| if workers > 0.0 { 2 } else { 1 };
    let workers = if threads > 1 { 4 } else { 0 };
    let baseline = json!({"batch-size": 8, "workers": workers});
    let mut set = set(&baseline, |times, batch, workers| {
        times.threads = number(workers);
        let noise = 1.0 + 1e-3 * (times.step_mean_ms % 1.0);
        times.step_mean_ms = step_ms(number(workers) as f64) * noise;
        times.samples_per_s = batch / times.step_mean_ms * 1e3;
    });
    for cell in &mut set.plan.cells {
        let threads = number(cell.spec["loader"]["workers"].as_f64().unwrap_or(0.0));
        cell.spec["train"]["threads"] = json!(threads);
        cell.spec["loader"]["workers"] = json!(0);
    }
    set
}

#[test]
fn the_fastest_measured_number_of_threads_is_recommended_as_it_was_measured() {
    let one = first(
        &with_cores(of_threads(1, |threads| 10.0 / threads), 2),
        "threads",
    );
    assert_eq!((&one.from, &one.to), (&json!(1), &json!(2)));
    assert!((estimate(&one) - 2.0).abs() < 0.01, "{one:?}");
}

#[test]
fn all_cores_are_recommended_by_a_fit_to_two_measured_numbers_of_threads() {
    let set = of_threads(2, |threads| 2.0 + 8.0 / threads);
    let one = first(&with_cores(set.clone(), 4), "threads");
    assert_eq!((&one.from, &one.to), (&json!(2), &json!(4)));
    let Predicted { low, high, .. } = one.predicted;
    assert!((estimate(&one) - 1.5).abs() < 0.01, "{one:?}");
    assert!(low < estimate(&one) && estimate(&one) < high, "{one:?}");
    assert_eq!(of(&with_cores(set, 2), "threads"), []);
}

#[test]
fn threads_that_were_measured_to_be_of_no_use_are_too_many() {
    let one = first(&with_cores(of_threads(2, |_| 10.0), 2), "threads");
    assert_eq!((&one.to, one.claim), (&json!(1), Claim::NoWorse));
    assert!((estimate(&one) - 1.0).abs() < 0.01, "{one:?}");
}

#[test]
fn a_number_of_threads_that_its_test_refuted_is_not_predicted_by_the_fit_again() {
    let mut set = with_cores(of_threads(2, |threads| 2.0 + 8.0 / threads), 4);
    let refuted = |from: &str| {
        json!([{"rule": "threads", "setting": "train.threads", "from": from, "to": "4",
        "verdict": "refuted"}])
    };
    for from in ["1", "2"] {
        set.plan.report["tested"] = refuted(from);
        assert_eq!(of(&set, "threads"), []);
    }
}
