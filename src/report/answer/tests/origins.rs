//! Tests: cells are compared by what both have: runs of equal session and block, facts of equal seeds.

use serde_json::json;

use super::{answer, text, timed, with_accuracy};
use crate::results;
use crate::results::testing::{assert_contains, assert_starts_with};

#[test]
fn a_cell_of_another_session_is_not_compared() {
    let mut set = timed(3, 6, |cell| [100.0, 110.0, 120.0][cell]);
    let added = set.plan.cells[2].key.clone();
    for run in set.blocks.iter_mut().filter(|run| run.key == added) {
        run.session = Some("2026-11-29T10:00:00Z".to_owned());
    }
    set.plan.report = json!({"answer": ["samples_per_s", {"along": "batch-size"}]});
    let told = text(&set);
    assert_starts_with(&told, "Fastest: batch-size 8, workers 0");
    assert_contains(&told, "every other cell of its session is behind it (n = 6");
    assert_contains(
        &told,
        "Measured in another session, in which the machine may have had another speed, and so not compared with it: batch-size 16, workers 0.",
    );
}

#[test]
fn runs_that_only_one_cell_has_are_not_in_the_test() {
    let mut set = timed(2, 12, |_| 100.0);
    let (first, repeated) = (set.plan.cells[0].key.clone(), set.plan.cells[1].key.clone());
    set.blocks
        .retain(|run| run.key == repeated || run.block < 6);
    // The machine became slower at block 6, when the first cell had all of its runs already.
    for run in set.blocks.iter_mut().filter(|run| run.block >= 6) {
        run.times_mut().expect("times").samples_per_s = 60.0;
    }
    set.timings = results::timings(&set.blocks);
    assert!(set.timings.iter().any(|row| row.key == first));
    let told = text(&set);
    assert_contains(&told, "1 cell is not distinguishable from it (n = 6");
}

#[test]
fn a_cell_that_lost_its_hard_seeds_is_not_behind_or_ahead() {
    let all = [
        0.5, 0.51, 0.52, 0.53, 0.54, 0.55, 0.9, 0.91, 0.92, 0.93, 0.94, 0.95,
    ];
    let mut set = with_accuracy(&[all, all.map(|value| value + 0.0001)]);
    let (one, other) = (set.plan.cells[0].key.clone(), set.plan.cells[1].key.clone());
    let mut seeds = 0;
    set.runs.retain(|row| {
        seeds += usize::from(row.key == one);
        row.key == other || seeds > 6
    });
    let sentences = answer(&set).sentences;
    assert_contains(
        &sentences[0],
        "1 cell is not distinguishable from it (n = 6",
    );
}
