//! Tests: the answer to each kind of question, and the answer if results show nothing.

mod data;
mod origins;
mod parts;
mod treatments;

use serde_json::json;

use super::Answer;
use crate::report::tests::many::many;
use crate::report::view::View;
use crate::results::golden::ddpm;
use crate::results::testing::{assert_contains, assert_ends_with, assert_starts_with};
use crate::results::{self, ResultSet, Status};

fn answer(set: &ResultSet) -> Answer {
    Answer::of(&View::of(set))
}

fn text(set: &ResultSet) -> String {
    answer(set).sentences.join(" ")
}

/// The first `cells` cells of the golden results with `runs` runs each; a step of cell `i` takes `ms(i)` milliseconds,
/// 0.1 % more with each block and 0.01 % more with each cell.
fn timed(cells: usize, runs: usize, ms: impl Fn(usize) -> f64) -> ResultSet {
    let mut set = ddpm();
    set.plan.cells.truncate(cells);
    let keys: Vec<String> = set.plan.cells.iter().map(|cell| cell.key.clone()).collect();
    set.runs.retain(|row| keys.contains(&row.key));
    set.epochs.retain(|row| keys.contains(&row.key));
    let golden = set.blocks[0].clone();
    set.blocks.clear();
    for (cell, key) in keys.iter().enumerate() {
        for block in 0..runs {
            let mut run = golden.clone();
            (run.key, run.block) = (key.clone(), block);
            let times = run.times_mut().expect("a measured run");
            times.step_ms = ms(cell) * (1.0 + 0.001 * block as f64 + 0.0001 * cell as f64);
            times.samples_per_s = 8000.0 / times.step_ms;
            times.epoch_s = None;
            set.blocks.push(run);
        }
    }
    set.timings = results::timings(&set.blocks);
    set.plan.report = json!({"answer": ["samples_per_s"]});
    set
}

#[test]
fn fastest_is_not_told_from_too_few_runs() {
    let set = timed(2, 2, |cell| [100.0, 200.0][cell]);
    let sentences = answer(&set).sentences;
    assert_eq!(
        sentences[0],
        "The data do not show which cell is fastest: 2 runs per cell, 4 are needed."
    );
    assert_starts_with(&sentences[1], "Fastest seen: workers 0, 79.96");
    assert_ends_with(&sentences[1], "no other range overlaps with this one.");
    let overlapping = timed(2, 2, |_| 100.0);
    assert!(text(&overlapping).contains("one range overlaps with it: workers 4"));
    assert!(text(&timed(2, 1, |_| 100.0)).contains("a single value has no range"));
}

#[test]
fn fastest_is_told_where_a_test_tells_it() {
    let apart = text(&timed(2, 6, |cell| [100.0, 200.0][cell]));
    assert!(apart.starts_with("Fastest: workers 0"), "{apart}");
    assert!(
        apart.contains("workers 4 is behind it, 39.90 samples/s (39.82–39.98) (n = 6, Mann–Whitney, p = 0.0022)"),
        "{apart}"
    );
    let alike = text(&timed(2, 6, |_| 100.0));
    assert_contains(&alike, "1 cell is not distinguishable from it (n = 6");
}

#[test]
fn what_diverged_is_named() {
    let mut set = timed(3, 6, |_| 100.0);
    let lost = set.plan.cells[2].key.clone();
    set.blocks.retain(|run| run.key != lost);
    set.timings.retain(|row| row.key != lost);
    for row in set.runs.iter_mut().filter(|row| row.key == lost) {
        (row.status, row.facts) = (Status::Diverged, None);
        row.reason = "loss became NaN at step 3".into();
    }
    assert_contains(
        text(&set),
        "Diverged: batch-size 16, workers 0 (loss became NaN at step 3).",
    );
}

/// Cells that learned, with an accuracy for each of five seeds.
fn with_accuracy<const SEEDS: usize>(values: &[[f64; SEEDS]]) -> ResultSet {
    let mut set = timed(values.len(), 2, |_| 100.0);
    set.plan.report = json!({});
    // Different learning rates: the cells may differ in what they learn.
    for (place, cell) in set.plan.cells.iter_mut().enumerate() {
        cell.spec = json!({"train": {"lr": place}});
    }
    let golden = set.runs[0].clone();
    set.runs.clear();
    for (cell, values) in set.plan.cells.iter().zip(values) {
        for (seed, value) in values.iter().enumerate() {
            let mut row = golden.clone();
            (row.key, row.seed) = (cell.key.clone(), 42 + seed as u64);
            let facts = row.facts.as_mut().expect("facts");
            facts.metrics.insert("val_accuracy".into(), Some(*value));
            (facts.eval_loss_before, facts.eval_loss_after) = (Some(1.0), Some(0.5));
            set.runs.push(row);
        }
    }
    set
}

#[test]
fn of_equal_medians_the_better_mean_comes_first() {
    let set = with_accuracy(&[
        [0.70, 0.80, 0.95, 0.95, 0.96],
        [0.94, 0.94, 0.95, 0.96, 0.97],
    ]);
    let first = &answer(&set).sentences[0];
    assert_starts_with(first, "Highest validation accuracy: workers 4, 0.95");
}

#[test]
fn cells_of_one_result_are_one_hypothesis() {
    let around = |value: f64| [0.0, 0.01, 0.02, 0.03, 0.04].map(|more| value + more);
    let apart = |copies: usize| {
        // All cells but the last have equal values, as cells that differ only in their number of workers have.
        let mut values = vec![around(0.9); 1 + copies];
        values.push(around(0.8));
        let mut set = with_accuracy(&values);
        set.plan.report = json!({ "answer": ["val_accuracy"] });
        text(&set)
    };
    assert!(apart(0).contains("p = 0.0079"), "{}", apart(0));
    let copied = apart(2);
    assert_contains(
        &copied,
        "2 cells have the same result (n = 5, Mann–Whitney, Holm); behind it: batch-size 16, workers 4, 0.8200.",
    );
}

#[test]
fn quality_decides_where_the_axes_can_change_it_and_the_runs_learned() {
    let set = with_accuracy(&[
        [0.80, 0.81, 0.82, 0.83, 0.84],
        [0.90, 0.91, 0.92, 0.93, 0.94],
    ]);
    let found = answer(&set);
    assert_eq!(
        found.by,
        "validation accuracy, as the quality that the axes can change"
    );
    let first = &found.sentences[0];
    assert_starts_with(first, "Highest validation accuracy: workers 4, 0.92");
    assert_contains(
        first,
        "workers 0 is behind it, 0.8200 (0.8000–0.8400) (n = 5",
    );
    let mut idle = set.clone();
    let stand_still = |set: &mut ResultSet, place: usize| {
        let facts = set.runs[place].facts.as_mut().expect("facts");
        // A loss that falls by only half a percent does not count as learning.
        (facts.eval_loss_after, facts.final_loss) = (Some(0.995), facts.first_loss);
    };
    // A cell that did not learn is named, and other cells may be called better than it.
    (0..5).for_each(|place| stand_still(&mut idle, place));
    let found = answer(&idle);
    assert_eq!(
        found.by,
        "validation accuracy, as the quality that the axes can change"
    );
    assert_starts_with(
        &found.sentences[0],
        "Highest validation accuracy: workers 4",
    );
    assert_contains(
        found.sentences.join(" "),
        "In 5 of 10 runs the loss on a fixed batch did not fall by 1 %: nothing shows that they learned (workers 0).",
    );
    // If no cell learned, differences between cells are by chance.
    (5..8).for_each(|place| stand_still(&mut idle, place));
    let found = answer(&idle);
    assert_eq!(found.by, "throughput, as quality cannot be compared");
    assert_contains(
        found.sentences.join(" "),
        "Quality cannot be compared: in each cell the evaluation loss fell by less than 1 % in at least half of the runs.",
    );
    let mut other = set;
    other.runs[3].facts.as_mut().expect("facts").samples += 1;
    let told = answer(&other).sentences;
    assert!(
        told.iter()
            .any(|one| one.contains("different numbers of samples")),
        "{told:?}"
    );
}

#[test]
fn axes_that_change_only_speed_are_decided_by_speed() {
    let mut set = with_accuracy(&[[0.8; 5], [0.9; 5]]);
    for (place, cell) in set.plan.cells.iter_mut().enumerate() {
        cell.spec = json!({"train": {"threads": place}, "loader": {"workers": place}});
    }
    assert_eq!(
        answer(&set).by,
        "throughput, as the cells differ in speed only"
    );
}

#[test]
fn several_measures_have_a_pareto_front_and_no_best() {
    let mut set = with_accuracy(&[[0.8; 5], [0.9; 5]]);
    set.plan.report = json!({"answer": ["val_accuracy", "samples_per_s"]});
    let first = set.plan.cells[0].key.clone();
    set.change_times(|key, times| times.samples_per_s = if key == first { 200.0 } else { 100.0 });
    let both = text(&set);
    assert_starts_with(
        &both,
        "No cell is best by validation accuracy and throughput at once; 2 of 2",
    );
    set.plan.report = json!({"answer": ["val_accuracy", "peak_train_bytes", "samples_per_s"]});
    assert!(text(&set).contains("on the Pareto front"));
}

#[test]
fn results_that_tell_nothing_say_so() {
    let mut set = ddpm();
    set.blocks.clear();
    set.timings.clear();
    set.epochs.clear();
    for row in &mut set.runs {
        (row.status, row.facts) = (Status::Oom, None);
        row.reason = "needed 12 GiB".into();
    }
    let all = set.plan.cells.len();
    assert_eq!(
        text(&set),
        format!("Nothing was measured: {all} oom (needed 12 GiB).")
    );
    for row in &mut set.runs {
        (row.status, row.reason) = (Status::Skipped, "no device `cuda`".into());
    }
    assert_eq!(
        text(&set),
        format!("Nothing was measured: {all} skipped (no device `cuda`).")
    );
    set.runs.clear();
    assert_eq!(
        text(&set),
        format!("Nothing was measured: {all} not run yet.")
    );
    set.plan.cells.clear();
    assert_eq!(text(&set), "The plan has no cell.");
}

fn halve_the_loss(set: &mut ResultSet, key: &str) {
    for row in set.runs.iter_mut().filter(|row| row.key == key) {
        let facts = row.facts.as_mut().unwrap();
        facts.best_loss = facts.best_loss.map(|loss| 0.5 * loss);
    }
}

#[test]
fn where_speed_decides_quality_is_told_beside_it() {
    let mut set = timed(2, 6, |cell| [100.0, 200.0][cell]);
    assert_eq!(
        answer(&set).sentences.len(),
        1,
        "equal quality: {}",
        text(&set)
    );
    // The slower cell reaches half the loss, and is the first to reach the loss that both cells reach.
    let key = set.plan.cells[1].key.clone();
    halve_the_loss(&mut set, &key);
    for row in set.epochs.iter_mut().filter(|row| row.key == key) {
        row.epoch.train_loss = Some(0.05);
        row.epoch.validation.insert("val_loss".into(), Some(0.05));
    }
    let told = text(&set);
    assert_contains(
        &told,
        "Not of the same quality: best loss 0.04035 with workers 4, 0.08070 with the fastest (one seed each: no test).",
    );
    assert_contains(&told, "is reached soonest by workers 4, in ");
    assert_contains(&told, "every other cell needs longer (n = 6");
    // Now the faster cell has the better loss.
    let mut set = timed(2, 6, |cell| [200.0, 100.0][cell]);
    halve_the_loss(&mut set, &key);
    assert_contains(
        text(&set),
        "No cell reaches a better loss than the fastest.",
    );
}

#[test]
fn one_cell_is_a_result_too_and_tasks_of_one_cell_are_not_ranked() {
    let mut one = timed(1, 2, |_| 100.0);
    assert_eq!(
        text(&one),
        "Best loss 0.08070, 79.96 samples/s (79.92–80.00), 641 MiB. The loss on a fixed batch fell from 1.00 to \
         0.0854 in 4 epochs (one run). A run takes 31.5 s; the largest part of a step is backward, 62 %."
    );
    let facts = one.runs[0].facts.as_mut().unwrap();
    (facts.eval_loss_after, facts.final_loss) = (Some(0.995), facts.first_loss);
    let told = text(&one);
    assert_starts_with(&told, "79.96 samples/s");
    assert_contains(
        &told,
        "(1.00 before, 0.995 after 4 epochs): nothing shows that the model learned.",
    );
    // If only one of several cells was measured, its name says what distinguishes it from the others.
    let mut only = timed(2, 2, |_| 100.0);
    let left = only.plan.cells[1].key.clone();
    only.runs.retain(|row| row.key != left);
    only.blocks.retain(|row| row.key != left);
    only.timings.retain(|row| row.key != left);
    only.plan.report = json!({});
    assert_starts_with(text(&only), "Only workers 0 was measured: ");
    let mut set = timed(2, 2, |_| 100.0);
    set.plan.cells[1].task_signature = "another".into();
    assert!(text(&set).starts_with("Each of the 2 measured cells has a task of its own"));
}

#[test]
fn several_tasks_have_a_sentence_each_and_then_a_count() {
    let mut set = timed(6, 2, |_| 100.0);
    for (place, cell) in set.plan.cells.iter_mut().enumerate() {
        cell.task_signature = format!("task {}", place / 2);
        cell.spec = json!({"loss": {"kind": format!("loss-{}", place / 2)}});
    }
    let found = answer(&set);
    assert_eq!(found.tables.len(), 3);
    assert!(found.sentences[1].starts_with("loss-0: "), "{found:?}");
    let mut more = many(40);
    for (place, cell) in more.plan.cells.iter_mut().enumerate() {
        cell.task_signature = format!("task {}", place / 5);
    }
    assert_ends_with(text(&more), "4 more tasks: see the tables below.");
}

#[test]
fn of_a_thousand_cells_twelve_stand_in_the_table() {
    let found = answer(&many(1000));
    assert_eq!(found.tables[0].rows.len(), 12);
    assert!(found.tables[0].columns.len() <= 8);
    assert!(
        found.sentences.iter().all(|sentence| sentence.len() < 600),
        "{found:?}"
    );
}

#[test]
fn where_a_step_decides_its_largest_phase_is_told() {
    let mut set = timed(2, 6, |cell| [100.0, 200.0][cell]);
    set.plan.report = json!({"answer": ["step_ms"]});
    let told = text(&set);
    assert_ends_with(
        &told,
        "backward in 2 cells (62 %); waiting for data takes at most 2.6 %.",
    );
}

#[test]
fn treatments_are_told_against_their_baseline() {
    let mut set = timed(2, 6, |cell| [100.0, 200.0][cell]);
    set.plan.compare = json!({"treatment": "workers", "baseline": "0"});
    set.plan.report = json!({});
    let told = answer(&set).sentences;
    assert_starts_with(
        &told[0],
        "Against workers 0 (100.25 ms (100.05–100.45) a step, best loss 0.08070): workers 4 has 2.00× the step time (2.00–2.00) \
         (n = 6, Mann–Whitney, Holm).",
    );
    let mut set = timed(2, 6, |_| 100.0);
    set.plan.compare = json!({"treatment": "workers", "baseline": "4"});
    set.plan.report = json!({});
    assert_starts_with(
        text(&set),
        "No treatment is shown to differ from workers 4 (100.",
    );
    // Too few runs for a test: the answer only says which cell was the fastest in these runs.
    let mut set = timed(2, 2, |cell| [100.0, 200.0][cell]);
    set.plan.compare = json!({"treatment": "workers", "baseline": "0"});
    set.plan.report = json!({});
    assert!(text(&set).starts_with("The data do not show which cell is fastest"));
}
