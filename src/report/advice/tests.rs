//! Tests of the rules: what each one recommends where it applies, and that it recommends nothing elsewhere.

use serde_json::{Value, json};

use crate::event::{PhaseTimes, RunTimes};
use crate::results::ResultSet;
use crate::results::golden::ddpm;

use super::advice_data::AdviceData;
use super::outcome::Outcome;
use super::recommendation::{Predicted, Recommendation};
use super::study::WorkGroup;
use super::*;
use crate::plan::{Claim, Verdict};
use crate::report::view::View;

/// The golden results with another baseline; `change` changes a run's times and also gets its batch size and number of
/// workers.
fn set(baseline: &Value, change: impl Fn(&mut RunTimes, f64, f64)) -> ResultSet {
    let mut set = ddpm();
    set.plan.report = json!({"templates": ["analysis"], "baseline": baseline});
    set.change_times(|key, times| {
        let value = |name: &str| -> f64 {
            let part = key.split(',').find_map(|part| part.strip_prefix(name));
            part.and_then(|text| text.parse().ok()).expect("a number")
        };
        change(times, value("batch-size="), value("workers="));
    });
    set
}

/// The same results, but trained by a program whose command line contains no setting.
fn of_command(mut set: ResultSet) -> ResultSet {
    let model = json!({"kind": "command", "run": ["python3", "train.py"]});
    for cell in &mut set.plan.cells {
        cell.spec["model"] = model.clone();
    }
    set
}

/// Recommendations of a rule.
fn of(set: &ResultSet, rule: &str) -> Vec<Recommendation> {
    let view = View::of(set);
    let advice_data = AdviceData::of(&view);
    let own = advice_data
        .recommendations
        .into_iter()
        .filter(|one| one.rule == rule);
    own.collect()
}

fn first(set: &ResultSet, rule: &str) -> Recommendation {
    let mut found = of(set, rule).into_iter();
    found
        .next()
        .unwrap_or_else(|| panic!("{rule} found nothing"))
}

fn estimate(one: &Recommendation) -> f64 {
    one.predicted.estimate.expect("an estimate")
}

/// Lower and upper bound of a prediction without an estimate.
fn bounds(one: &Recommendation) -> [f64; 2] {
    assert_eq!(one.predicted.estimate, None, "{one:?}");
    [one.predicted.low, one.predicted.high]
}

fn small() -> Value {
    json!({"batch-size": 8, "workers": 0})
}

/// Lengthens a phase to the fraction `share` of the step, and the step by the same time; the throughput falls
/// accordingly.
fn lengthen(times: &mut RunTimes, phase: fn(&mut RunTimes) -> &mut f64, share: f64) {
    let rest = times.step_mean_ms - *phase(times);
    let longer = rest * share / (1.0 - share);
    *phase(times) = longer;
    times.samples_per_s *= times.step_mean_ms / (rest + longer);
    times.step_mean_ms = rest + longer;
}

#[test]
fn the_knee_is_recommended_with_the_gain_of_the_fit() {
    let set = set(&small(), |_, _, _| {});
    let one = first(&set, "batch-size");
    assert_eq!((&one.from, &one.to), (&json!(8), &json!(16)));
    let speed = |batch: &str| {
        let key = format!("model=unet,device=cpu,batch-size={batch},workers=0");
        let row = set
            .timings
            .iter()
            .find(|row| row.key == key)
            .expect("a row");
        row.values["samples_per_s"].median
    };
    let Predicted {
        estimate,
        low,
        high,
    } = one.predicted;
    let ratio = estimate.expect("an estimate");
    let measured = speed("16") / speed("8");
    assert!((ratio / measured - 1.0).abs() < 0.03, "{ratio} {measured}");
    assert!(low < ratio && ratio < high);
}

#[test]
fn a_curve_that_still_rises_is_followed_beyond_its_end() {
    let set = set(&small(), |times, batch, _| {
        times.step_mean_ms = 900.0 + batch + (times.step_mean_ms % 1.0);
        times.samples_per_s = batch / times.step_mean_ms * 1e3;
    });
    let found = of(&set, "batch-size");
    let sizes: Vec<&Value> = found.iter().map(|one| &one.to).collect();
    assert!(
        sizes.contains(&&json!(64)) && found[0].gain() > 5.0,
        "{found:?}"
    );
    let memory = first(&set, "memory-headroom");
    assert_eq!(memory.claim, Claim::Value);
    assert!(memory.predicted.estimate > Some(1.0), "{memory:?}");
}

#[test]
fn waiting_calls_for_workers_up_to_its_share() {
    let set = set(&small(), |times, _, workers| {
        if workers == 0.0 {
            lengthen(times, |times| &mut times.phases.data_wait_ms, 0.3);
        }
    });
    let one = first(&set, "workers");
    assert_eq!(one.setting, "loader.workers");
    let found = one.predicted;
    assert!((found.high - 1.0 / 0.7).abs() < 0.01, "{one:?}");
    assert_eq!(found.estimate, None, "a bound is no estimate");
    let tiny = self::set(&small(), |times, _, _| {
        times.step_mean_ms = 0.02;
        times.phases = PhaseTimes {
            data_wait_ms: 0.006,
            forward_ms: 0.014,
            ..PhaseTimes::default()
        };
    });
    // The wait is shorter than a worker needs to hand over a batch.
    assert_eq!(of(&tiny, "workers"), []);
    assert_eq!(of(&self::set(&small(), |_, _, _| {}), "workers"), []);
}

#[test]
fn workers_that_cost_more_than_they_save_are_too_many() {
    let baseline = json!({"batch-size": 8, "workers": 4});
    let set = set(&baseline, |times, _, workers| {
        times.train_s *= if workers > 0.0 { 1.3 } else { 1.0 };
    });
    let one = first(&set, "workers");
    assert_eq!((&one.from, &one.to), (&json!(4), &json!(0)));
    assert!((estimate(&one) - 0.79).abs() < 0.05, "{one:?}");
}

#[test]
fn validation_that_takes_much_is_done_less_often() {
    let set = set(&small(), |times, _, _| {
        times.validation_s = 4.0;
        times.total_s = 20.0;
    });
    let one = first(&set, "validation-cost");
    assert_eq!((&*one.setting, &one.to), ("validation.every", &json!(2)));
    assert!((bounds(&one)[0] - 0.9).abs() < 1e-9, "{one:?}");
    let short = self::set(&small(), |times, _, _| times.validation_s = 0.1);
    assert_eq!(of(&short, "validation-cost"), []);
    assert_eq!(of(&of_command(set), "validation-cost"), []);
}

#[test]
fn a_long_optimizer_calls_for_a_larger_batch() {
    let slow = set(&small(), |times, _, _| {
        lengthen(times, |times| &mut times.phases.optimizer_ms, 0.4);
        times.samples_per_s = 10.0;
    });
    let one = first(&slow, "optimizer-bound");
    assert_eq!((&*one.setting, &one.to), ("train.batch-size", &json!(16)));
    assert!((bounds(&one)[1] - 1.25).abs() < 0.01, "{one:?}");
}

#[test]
fn workers_that_start_longer_than_they_load_are_left_out() {
    let baseline = json!({"batch-size": 8, "workers": 4});
    let of_work = |work_s: f64| {
        set(&baseline, |times, _, workers| {
            times.train_s = 1.0;
            times.loader.work_s = work_s;
            times.loader.wait_s = 0.0;
            times.loader.start_ms = 10.0 * workers;
            times.loader.stop_ms = 0.0;
        })
    };
    let one = first(&of_work(0.01), "small-data-loader");
    assert_eq!((&*one.setting, &one.to), ("loader.workers", &json!(0)));
    assert!((bounds(&one)[0] - 0.85).abs() < 1e-9, "{one:?}");
    // A program does not report how long its workers compute; this is not the same as 0 s.
    assert_eq!(of(&of_work(0.0), "small-data-loader"), []);
}

#[test]
fn a_curve_that_was_best_early_calls_for_early_stopping() {
    let mut set = set(&small(), |_, _, _| {});
    let key = set.plan.cells[0].key.clone();
    let row = set
        .epochs
        .iter()
        .find(|row| row.key == key)
        .expect("a row")
        .clone();
    set.epochs.retain(|row| row.key != key);
    for epoch in 0..20 {
        let mut row = row.clone();
        row.epoch.epoch = epoch;
        let loss = if epoch < 5 {
            1.0 - 0.1 * epoch as f64
        } else {
            0.7
        };
        row.epoch.validation.insert("val_loss".into(), Some(loss));
        set.epochs.push(row);
    }
    for run in set.runs.iter_mut().filter(|run| run.key == key) {
        run.facts.as_mut().expect("facts").epochs = 20;
    }
    let one = first(&set, "early-stopping");
    assert_eq!(one.to, json!({"patience": 3}));
    assert!((estimate(&one) - 8.0 / 20.0).abs() < 1e-9, "{one:?}");
    assert_eq!(
        one.reasoning,
        "Now the weights of the last epoch are kept, with a validation loss of 0.7000 (median over seeds). Early stopping keeps those \
         of the best epoch, with 0.6000."
    );
    assert_eq!(of(&of_command(set), "early-stopping"), []);
}

#[test]
fn what_was_measured_to_be_worse_is_not_recommended() {
    let set = set(&small(), |times, batch, _| {
        lengthen(times, |times| &mut times.phases.optimizer_ms, 0.4);
        times.samples_per_s = 100.0 / batch;
    });
    assert_eq!(of(&set, "optimizer-bound"), []);
}

#[test]
fn a_bound_is_called_one_and_stands_behind_what_is_estimated() {
    let set = set(&small(), |times, _, workers| {
        if workers == 0.0 {
            lengthen(times, |times| &mut times.phases.data_wait_ms, 0.9);
        }
    });
    let advice = Advice::of(&View::of(&set));
    let (last, rest) = advice.recommendations.split_last().expect("several");
    assert_eq!(last.rule, "workers");
    assert_eq!(
        last.predicted,
        "at most 10.0× the throughput (a bound, no estimate)"
    );
    assert!(!rest.is_empty() && rest.iter().all(|one| !one.predicted.contains("bound")));
}

#[test]
fn what_was_refuted_is_dropped() {
    let mut set = set(&small(), |_, _, _| {});
    set.plan.report["tested"] = json!([{"rule": "batch-size", "setting": "train.batch-size", "from": "8", "to": "16",
        "verdict": "refuted"}]);
    assert_eq!(of(&set, "batch-size"), []);
}

#[test]
fn what_is_confirmed_is_where_advice_starts() {
    let mut set = set(&small(), |_, _, _| {});
    set.plan.report["predictions"] = json!([{"rule": "batch-size", "setting": "train.batch-size", "from": "8",
        "to": "16", "origin": "a", "against": {"batch-size": 8, "workers": 0}, "cell": {"batch-size": 16, "workers": 0},
        "column": "samples_per_s", "claim": "gain", "predicted": 1.05, "low": 1.01, "high": 1.1, "reasoning": "r"}]);
    let view = View::of(&set);
    let outcomes = Outcome::all(&view);
    assert_eq!(outcomes[0].verdict, Verdict::Confirmed, "{outcomes:?}");
    let studies = WorkGroup::all(&view, &outcomes);
    assert!(
        studies[0]
            .anchor
            .info
            .key
            .contains("batch-size=16,workers=0")
    );
}

#[test]
fn every_rule_stands_in_the_documentation() {
    let text = include_str!("../../../docs/recommendations.md");
    for rule in RULES {
        assert!(text.contains(&format!("| `{}` |", rule.id)), "{}", rule.id);
    }
}

mod tested;
mod threads;
