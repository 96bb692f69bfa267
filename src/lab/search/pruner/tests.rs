//! Recorded optimisation histories from `tests/reference/search/pruners.py`: every decision must equal Optuna's.

use std::io::Read;

use flate2::read::GzDecoder;
use serde::Deserialize;

use super::prune_decision;
use crate::plan::search::{
    FailedTrials, HalvingSection, MedianSection, NoSettings, ObjectiveDirection, ObjectiveSpec,
    Point, PrunedInfo, PrunerSpec, SamplerSpec, SearchSpec, Space,
};
use crate::search::{TrialRecord, TrialResult};

const HISTORIES: &[u8] = include_bytes!("../../../../tests/reference/search/pruners.jsonl.gz");

/// A recorded study; `tests/reference/search/pruners.py` explains the fields.
#[derive(Deserialize)]
struct History {
    pruner: PrunerSpec,
    direction: ObjectiveDirection,
    trials: Vec<RecordedTrial>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RecordedTrial {
    Pruned(char, Vec<(usize, Option<f64>)>, (Option<f64>, Vec<usize>)),
    Ended(char, Vec<(usize, Option<f64>)>),
}

fn histories() -> Vec<History> {
    let mut text = String::new();
    GzDecoder::new(HISTORIES)
        .read_to_string(&mut text)
        .expect("gzip");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a history"))
        .collect()
}

fn search(pruner: PrunerSpec, direction: ObjectiveDirection) -> SearchSpec {
    SearchSpec {
        space: Space::default(),
        sampler: SamplerSpec::Random(NoSettings {}),
        pruner,
        objectives: vec![ObjectiveSpec {
            column: "best_loss".to_owned(),
            direction,
            depends_on_clock: false,
            is_declared: false,
        }],
        trials: 1,
        jobs: 1,
        lag: 0,
        seed: 0,
        max_time_s: None,
        max_cost: None,
        regret: 0,
        ensemble: 0,
        failed: FailedTrials::default(),
        final_set: serde_json::Map::new(),
    }
}

fn record(number: usize, ending: TrialResult, curve: &[(usize, f64)]) -> TrialRecord {
    TrialRecord {
        number,
        point: Point::default(),
        ending,
        curve: curve.to_vec(),
    }
}

/// Equal to the last bit, also for NaN.
fn are_same(one: f64, other: f64) -> bool {
    // `+ 0.0` turns `−0` into `0`.
    (one + 0.0).total_cmp(&(other + 0.0)).is_eq() || one.is_nan() && other.is_nan()
}

/// Numbers of histories, decisions and prunings.
#[derive(Debug, Default, PartialEq)]
struct Count {
    histories: usize,
    decisions: usize,
    pruned: usize,
}

/// Replays the histories of the pruners selected by `is_meant`; panics if a decision differs from Optuna's.
fn replay(is_meant: fn(&PrunerSpec) -> bool) -> Count {
    let mut count = Count::default();
    for (index, history) in histories().into_iter().enumerate() {
        if !is_meant(&history.pruner) {
            continue;
        }
        count.histories += 1;
        let spec = search(history.pruner, history.direction);
        assert!(spec.pruner.prunes());
        let mut past: Vec<TrialRecord> = Vec::new();
        for (number, trial) in history.trials.into_iter().enumerate() {
            let (state, curve, expected) = match trial {
                RecordedTrial::Pruned(state, curve, expected) => (state, curve, Some(expected)),
                RecordedTrial::Ended(state, curve) => (state, curve, None),
            };
            let loss = |value: Option<f64>| history.direction.as_loss(value.unwrap_or(f64::NAN));
            let curve: Vec<(usize, f64)> = curve
                .into_iter()
                .map(|(step, value)| (step, loss(value)))
                .collect();
            for length in 1..=curve.len() {
                let verdict = prune_decision(&spec, &past, &curve[..length]);
                let wanted = expected.as_ref().filter(|_| length == curve.len());
                let place = format!("history {index}, trial {number}, report {length}");
                assert_eq!(verdict.is_some(), wanted.is_some(), "{place}: {verdict:?}");
                if let (Some(verdict), Some((threshold, trials))) = (verdict, wanted) {
                    let threshold = loss(*threshold);
                    assert!(
                        are_same(verdict.threshold, threshold),
                        "{place}: {verdict:?}"
                    );
                    assert_eq!(&verdict.trials, trials, "{place}");
                    assert_eq!(verdict.step, curve[length - 1].0, "{place}");
                    count.pruned += 1;
                }
                count.decisions += 1;
            }
            let ending = match state {
                'D' => TrialResult::Done(vec![0.0]),
                'P' => TrialResult::Pruned,
                _ => TrialResult::Failed,
            };
            past.push(record(number, ending, &curve));
        }
    }
    count
}

#[test]
fn the_median_pruner_decides_as_optuna_in_200_histories() {
    let count = replay(|spec| matches!(spec, PrunerSpec::Median(_)));
    assert_eq!(
        count,
        Count {
            histories: 200,
            decisions: 14518,
            pruned: 1208
        }
    );
}

#[test]
fn successive_halving_decides_as_optuna_in_60_histories() {
    let count = replay(|spec| matches!(spec, PrunerSpec::SuccessiveHalving(_)));
    assert_eq!(
        count,
        Count {
            histories: 60,
            decisions: 3081,
            pruned: 736
        }
    );
}

fn median(startup_trials: usize) -> SearchSpec {
    let settings = MedianSection {
        startup_trials,
        warmup_steps: 0,
        interval_steps: 1,
    };
    search(PrunerSpec::Median(settings), ObjectiveDirection::Minimize)
}

fn halving() -> SearchSpec {
    let settings = HalvingSection {
        min_resource: 1,
        reduction: 2,
        early_stopping_rate: 0,
    };
    let spec = PrunerSpec::SuccessiveHalving(settings);
    search(spec, ObjectiveDirection::Minimize)
}

#[test]
fn without_a_pruner_nothing_is_pruned() {
    let spec = search(
        PrunerSpec::None(NoSettings {}),
        ObjectiveDirection::Minimize,
    );
    assert_eq!(prune_decision(&spec, &[], &[(0, f64::NAN)]), None);
}

#[test]
fn the_median_is_of_done_trials_that_reported_at_this_step() {
    let done = || TrialResult::Done(vec![1.0]);
    let past = [
        record(0, done(), &[(0, 3.0), (1, 1.0)]),
        record(1, TrialResult::Pruned, &[(0, 9.0), (1, 0.1)]),
        record(2, TrialResult::Failed, &[(0, 9.0), (1, 0.1)]),
        record(4, done(), &[(0, 3.0)]),
        record(5, done(), &[(0, 3.0), (1, f64::NAN)]),
        record(7, done(), &[(0, 4.0), (1, 2.0)]),
    ];
    let curve = [(0, 1.75), (1, 2.5)];
    let expected = PrunedInfo {
        step: 1,
        metric: String::new(),
        value: 1.75,
        threshold: 1.5,
        trials: vec![0, 7],
    };
    assert_eq!(prune_decision(&median(4), &past, &curve), Some(expected));
    assert_eq!(prune_decision(&median(4), &past, &curve[..1]), None);
    assert_eq!(prune_decision(&median(5), &past, &curve), None);
    assert_eq!(prune_decision(&median(0), &past[1..3], &curve), None);
    assert_eq!(prune_decision(&median(0), &past, &[]), None);
}

#[test]
fn a_trial_that_is_no_better_than_the_median_goes_on() {
    let past = [record(0, TrialResult::Done(vec![1.0]), &[(0, 1.5)])];
    assert_eq!(prune_decision(&median(1), &past, &[(0, 1.5)]), None);
    assert!(prune_decision(&median(1), &past, &[(0, 1.5 + 1e-15)]).is_some());
}

#[test]
fn a_rung_counts_all_that_reached_it() {
    let past = [
        record(
            0,
            TrialResult::Done(vec![1.0]),
            &[(0, 9.0), (1, 3.0), (2, 2.0)],
        ),
        record(1, TrialResult::Pruned, &[(0, 9.0), (1, 4.0)]),
        record(2, TrialResult::Failed, &[(0, 9.0), (1, 2.0)]),
        // This trial has not reached the rung.
        record(3, TrialResult::Failed, &[(0, 0.1)]),
    ];
    // Of the values 2, 3, 3.5 and 4, the best two pass.
    let verdict = prune_decision(&halving(), &past, &[(0, 9.0), (1, 3.5)]).expect("ends");
    assert_eq!((verdict.threshold, verdict.trials), (3.0, vec![0, 1, 2]));
    assert_eq!(
        prune_decision(&halving(), &past, &[(0, 9.0), (1, 3.0)]),
        None
    );
    // At the second rung, one of the values 2 and 2.5 passes. The reported value counts, not the best so far.
    let verdict = prune_decision(&halving(), &past, &[(1, 1.0), (2, 2.5)]).expect("ends");
    assert_eq!(
        (verdict.value, verdict.threshold, verdict.trials),
        (2.5, 2.0, vec![0])
    );
}

#[test]
fn a_pruned_trial_counts_at_the_rungs_up_to_the_one_that_it_did_not_pass() {
    // The only report of trial 1 reached the rungs 0, 1 and 2 at once; the trial was pruned at the first.
    let past = [
        record(
            0,
            TrialResult::Done(vec![1.0]),
            &[(1, 1.0), (2, 5.0), (4, 5.0)],
        ),
        record(1, TrialResult::Pruned, &[(4, 3.0)]),
    ];
    assert_eq!(
        prune_decision(&halving(), &past, &[(1, 0.5), (2, 4.0)]),
        None
    );
    let verdict = prune_decision(&halving(), &past, &[(1, 2.0)]).expect("ends");
    assert_eq!((verdict.threshold, verdict.trials), (1.0, vec![0, 1]));
}
