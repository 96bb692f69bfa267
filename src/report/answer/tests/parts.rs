//! Tests: the sentences of each part of `report.answer` about constructed results.

use serde_json::{Value, json};

use super::{answer, timed};
use crate::results::testing::{assert_contains, assert_ends_with, assert_starts_with};
use crate::results::{self, ResultSet};

/// The sentences of the answer if the manifest asks for `parts`.
fn told(mut set: ResultSet, parts: &Value) -> Vec<String> {
    set.plan.report = json!({ "answer": parts });
    answer(&set).sentences
}

/// Four cells, two batch sizes with 0 and with 4 workers, of six runs each.
fn four(ms: [f64; 4]) -> ResultSet {
    timed(4, 6, |cell| ms[cell])
}

#[test]
fn along_an_axis_each_value_stands_against_the_first_with_a_verdict() {
    let parts = json!([{ "along": "workers" }]);
    assert_eq!(
        told(four([100.0, 50.0, 200.0, 100.0]), &parts),
        ["workers 4 instead of 0: 2.00× the throughput, better (n = 6, Mann–Whitney, Holm)."]
    );
    assert_eq!(
        told(four([100.0, 50.0, 200.0, 400.0]), &parts),
        [
            "workers 4 instead of 0: 0.500× to 2.00× the throughput, better in 1 and worse in 1 of 2 pairs of cells (n = 6, \
             Mann–Whitney, Holm)."
        ]
    );
    // Equal times; their noise of about 0.01 % is no effect.
    let idle = told(four([100.0, 100.0, 200.0, 200.0]), &parts);
    assert_contains(&idle[0], "in none of 2 pairs of cells shown to differ");
    let few = timed(4, 2, |_| 100.0);
    assert!(told(few, &parts)[0].ends_with("(n = 2; a test needs 5)."));
    let alone = timed(1, 6, |_| 100.0);
    assert_eq!(
        told(alone, &parts),
        ["No two measured cells differ in workers only."]
    );
}

#[test]
fn a_larger_batch_stops_paying_at_the_knee() {
    // Throughput 80, 80, 79.9 and 79.9: the smallest batch is as fast as the others.
    let knees = told(
        four([100.0, 100.0, 100.1, 100.1]),
        &json!([{ "along": "batch-size" }]),
    );
    assert_eq!(knees.len(), 2, "{knees:?}");
    assert_starts_with(&knees[0], "workers 0: Beyond batch size 8 (79.80 samples/s");
}

#[test]
fn a_treatment_that_gains_nothing_is_told_so() {
    let parts = json!([{ "gain": "workers" }]);
    let nothing = told(timed(2, 6, |_| 100.0), &parts);
    assert_starts_with(
        &nothing[0],
        "No treatment is shown to differ from workers 0 (",
    );
    let gains = told(timed(2, 6, |cell| [100.0, 50.0][cell]), &parts);
    assert_starts_with(&gains[0], "Against workers 0 (");
    assert_contains(
        &gains[0],
        "workers 4 has 0.500× the step time (0.500–0.500)",
    );
    // The cells differ in two axes, but the two cells of a pair only in one.
    let pairs = told(four([100.0, 50.0, 200.0, 100.0]), &parts);
    assert_starts_with(&pairs[0], "workers 4 instead of 0: 2.00×");
}

#[test]
fn equal_quality_is_a_loss_that_all_reach_or_there_is_none() {
    let parts = json!([{ "fastest-at-equal": "best_loss" }]);
    let mut set = timed(2, 6, |cell| [100.0, 200.0][cell]);
    // The second cell's best loss is 0.6. The first cell reaches it in the second of its four epochs, the second cell
    // in its third.
    for (key, losses) in [(0, [0.9, 0.6, 0.5, 0.45]), (1, [0.95, 0.7, 0.6, 0.65])] {
        let key = set.plan.cells[key].key.clone();
        for row in set.epochs.iter_mut().filter(|row| row.key == key) {
            let loss = Some(losses[row.epoch.epoch]);
            row.epoch.validation.insert("val_loss".into(), loss);
        }
    }
    for (place, run) in set.blocks.iter_mut().enumerate() {
        let seconds = if place < 6 { 4.0 } else { 8.0 };
        run.times_mut().expect("a run").train_s = seconds + 0.01 * (place % 6) as f64;
    }
    set.timings = results::timings(&set.blocks);
    let reached = told(set.clone(), &parts);
    assert_eq!(
        reached,
        [
            "The validation loss that every cell reaches, 0.6000, is reached soonest by workers 0, in 2.01 s; every other cell \
             needs longer (n = 6, Mann–Whitney, Holm)."
        ]
    );
    // A cell whose loss never falls below the loss before training reaches no target.
    let key = set.plan.cells[1].key.clone();
    for row in set.epochs.iter_mut().filter(|row| row.key == key) {
        row.epoch.validation.insert("val_loss".into(), Some(1.2));
    }
    for row in set.runs.iter_mut().filter(|row| row.key == key) {
        row.facts.as_mut().expect("facts").best_loss = Some(1.2);
    }
    let not = told(set, &parts);
    assert_eq!(not, ["No cell reaches a better loss than the fastest."]);
}

#[test]
fn a_model_that_learned_nothing_is_told_so() {
    let parts = json!(["learned"]);
    let mut set = timed(4, 1, |_| 100.0);
    assert_eq!(
        told(set.clone(), &parts),
        ["In each of 4 runs the loss on a fixed batch fell by more than 1 %."]
    );
    let facts = set.runs[2].facts.as_mut().expect("facts");
    facts.eval_loss_after = facts.eval_loss_before;
    let over = told(set.clone(), &parts);
    assert!(
        over[0].starts_with("In 1 of 4 runs the loss on a fixed batch did not fall by 1 %, while the training loss fell to less than half"),
        "{over:?}"
    );
    let facts = set.runs[2].facts.as_mut().expect("facts");
    facts.final_loss = facts.first_loss;
    let not = told(set.clone(), &parts);
    assert!(
        not[0].starts_with("In 1 of 4 runs the loss on a fixed batch did not fall by 1 %: nothing shows that they learned ("),
        "{not:?}"
    );
    let mut one = timed(1, 1, |_| 100.0);
    let facts = one.runs[0].facts.as_mut().expect("facts");
    (facts.eval_loss_after, facts.final_loss) = (facts.eval_loss_before, facts.first_loss);
    let once = told(one, &json!(["best_loss", "learned"])).join(" ");
    assert_eq!(once.matches("did not fall by 1 %").count(), 1, "{once}");
    for row in &mut set.runs {
        row.facts.as_mut().expect("facts").eval_loss_before = None;
    }
    assert!(told(set, &parts)[0].starts_with("Whether the model learned is not known"));
}

#[test]
fn memory_cost_and_where_name_the_ends() {
    let mut set = timed(2, 6, |_| 100.0);
    for (place, run) in set.blocks.iter_mut().enumerate() {
        let times = run.times_mut().expect("a run");
        times.peak_train_bytes = Some(if place < 6 { 100 << 20 } else { 200 << 20 });
        run.wall_s = Some(if place < 6 { 2.0 } else { 3.0 });
    }
    set.timings = results::timings(&set.blocks);
    assert_eq!(
        told(set.clone(), &json!(["memory", "cost", "where"])),
        [
            "Peak memory is from 100 MiB with workers 0 to 200 MiB with workers 4.",
            "A run takes from 2 s with workers 0 to 3 s with workers 4.",
            "workers 0 has 12,817,859 parameters and takes 15.3 GFLOP of training a sample.",
            "The largest part of a step is backward in 2 cells (62 %); waiting for data takes at most 2.6 %.",
        ]
    );
    for run in &mut set.blocks {
        run.times_mut().expect("a run").peak_train_bytes = None;
    }
    assert_eq!(told(set, &json!(["memory"])), ["Memory was not measured."]);
}

/// A PyTorch program without a loader reports neither samples nor waiting.
#[test]
fn what_a_program_does_not_report_is_no_zero() {
    let mut set = timed(2, 6, |_| 100.0);
    set.change_times(|_, times| {
        let phases = &mut times.phases;
        phases.other_ms += phases.data_wait_ms + phases.transfer_ms;
        (phases.data_wait_ms, phases.transfer_ms) = (0.0, 0.0);
        times.samples_per_s = 0.0;
        times.is_observed = true;
    });
    set.timings = results::timings(&set.blocks);
    assert_eq!(
        told(set.clone(), &json!(["where"])),
        ["The largest part of a step is backward in 2 cells (62 %)."]
    );
    let told = told(set, &json!(["samples_per_s"])).join(" ");
    assert!(!told.contains("samples/s"), "{told}");
}

#[test]
fn a_share_below_one_percent_has_no_more_digits_than_are_known() {
    let mut set = timed(2, 6, |_| 100.0);
    set.change_times(|_, times| {
        let waits = 0.007_51 * times.phase_step_ms();
        times.phases.other_ms += times.phases.data_wait_ms - waits;
        times.phases.data_wait_ms = waits;
    });
    let told = told(set, &json!(["where"]));
    assert_ends_with(&told[0], "waiting for data takes at most 0.8 %.");
}

#[test]
fn parts_stand_in_their_order_and_a_metric_where_it_is_named() {
    let found = told(
        timed(2, 6, |cell| [100.0, 200.0][cell]),
        &json!(["where", "samples_per_s", { "scaling": "workers" }]),
    );
    assert!(found[0].starts_with("The largest part"), "{found:?}");
    assert!(found[1].starts_with("Fastest: workers 0"), "{found:?}");
    assert!(found[2].starts_with("How times grow with the number of samples needs three sizes"));
}

#[test]
fn names_of_the_manifest_stand_for_axes_and_values() {
    let mut set = timed(2, 6, |cell| [100.0, 200.0][cell]);
    set.plan.report =
        json!({ "answer": ["samples_per_s"], "names": { "workers": "loader processes" } });
    let found = answer(&set);
    assert_starts_with(&found.sentences[0], "Fastest: loader processes 0, ");
    assert_eq!(found.tables[0].columns[0].heading, "loader processes");
    set.plan.report = json!({ "answer": ["samples_per_s"], "names": { "4": "four workers" } });
    let found = answer(&set);
    assert_contains(&found.sentences[0], "; four workers is behind it");
}

#[test]
fn programs_that_are_only_timed_are_told_apart() {
    let mut set = timed(2, 6, |cell| [100.0, 200.0][cell]);
    set.change_times(|_, times| times.total_s = times.step_ms);
    for row in &mut set.runs {
        row.facts = None;
    }
    let told = told(set, &json!(["total_s"]));
    assert!(told[0].starts_with("Fastest: workers 0"), "{told:?}");
}
