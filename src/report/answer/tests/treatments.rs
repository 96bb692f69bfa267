//! Answers about the values of a treatment: times and quality against the baseline.

use serde_json::json;

use super::{answer, timed};
use crate::base::units::human;
use crate::compare::ratio_of_cells;
use crate::report::sections::ranking::speed_up;
use crate::report::view::View;
use crate::results::testing::{assert_contains, assert_starts_with};
use crate::results::{self, BlockRow, CellInfo, ResultSet};

/// Six seeds of two treatments, equally fast, with the accuracies and best losses of the second; the first has 0.9 and
/// 0.1.
fn treated(accuracy: f64, loss: f64) -> ResultSet {
    let mut set = timed(2, 6, |_| 100.0);
    set.plan.compare = json!({"treatment": "workers"});
    set.plan.report = json!({});
    let golden = set.runs[0].clone();
    set.runs.clear();
    for (place, cell) in set.plan.cells.iter().enumerate() {
        let (accuracy, loss) = [(0.9, 0.1), (accuracy, loss)][place];
        for seed in 0..6 {
            let mut row = golden.clone();
            (row.key, row.seed) = (cell.key.clone(), seed);
            let facts = row.facts.as_mut().expect("facts");
            let own = 2e-4 * seed as f64;
            facts
                .metrics
                .insert("val_accuracy".into(), Some(accuracy + own));
            facts
                .metrics
                .insert("test_accuracy".into(), Some(1.0 - accuracy + own));
            (facts.best_loss, facts.eval_loss_before) = (Some(loss + own), Some(1.0));
            facts.eval_loss_after = Some(0.5);
            set.runs.push(row);
        }
    }
    set
}

#[test]
fn quality_is_always_told_beside_the_time_of_treatments() {
    let told = |set: &ResultSet| answer(set).sentences.join(" ");
    let none = told(&treated(0.9, 0.1));
    assert_starts_with(&none, "No treatment is shown to differ from workers 0 (100");
    assert_contains(
        &none,
        " in step time or validation accuracy (n = 6, Mann–Whitney, Holm; metrics by sign flips over seeds).",
    );
    // A difference of the loss is told, although the accuracy decides.
    let loss = told(&treated(0.9, 0.3));
    assert_contains(
        &loss,
        "workers 4 has best loss 0.3005 (0.3000–0.3010), worse (n = 6",
    );
    assert_contains(
        &loss,
        "Not shown to differ from it in step time: workers 4; in validation accuracy: workers 4.",
    );
    let better = told(&treated(0.95, 0.1));
    assert_contains(
        &better,
        "workers 4 has validation accuracy 0.9505 (0.9500–0.9510), better",
    );
    // The metric that the manifest names decides whether a treatment is a gain.
    let mut asked = treated(0.95, 0.1);
    asked.plan.report = json!({"answer": ["test_accuracy", {"gain": "workers"}]});
    assert_contains(told(&asked), "workers 4 has test accuracy 0.0505");
    // The answer says what cannot be compared.
    let mut other = treated(0.95, 0.1);
    other.runs[7].facts.as_mut().expect("facts").samples += 1;
    assert_contains(
        told(&other),
        "Quality cannot be compared: the runs saw different numbers of samples.",
    );
}

#[test]
fn a_ratio_of_treatments_is_the_one_of_their_comparison() {
    let mut set = timed(2, 6, |cell| [100.0, 150.0][cell]);
    set.plan.compare = json!({"treatment": "workers"});
    set.plan.report = json!({});
    // The treatment changes the work; its effect is the ratio of the times nevertheless.
    set.plan.cells[1].work_signature = "another".into();
    for (place, run) in set.blocks.iter_mut().enumerate() {
        let times = run.times_mut().expect("a measured run");
        // Validation and loading are no part of a step.
        times.epoch_s = Some([1.0, 3.0][place / 6]);
        times.step_ms *= 1.0 + 0.01 * (place * place % 7) as f64;
    }
    set.timings = results::timings(&set.blocks);
    let step = |_: &CellInfo, run: &BlockRow| results::value(run, "step_ms");
    let keys = [0, 1].map(|cell: usize| &*set.plan.cells[cell].key);
    let ratio = ratio_of_cells(&set, keys, &step).expect("a ratio");
    let [value, low, high] = [ratio.value, ratio.low, ratio.high].map(|own| human(own, 3));
    let first = &answer(&set).sentences[0];
    assert_contains(
        first,
        format!("workers 4 has {value}× the step time ({low}–{high})"),
    );
    // The manifest asks for the step time, so its ratio is told, although a step has ten times as many samples.
    let mut asked = set.clone();
    asked.plan.cells[1].spec["train"]["batch-size"] = json!(10 * 8);
    asked.plan.report = json!({"answer": [{"gain": "workers"}, "step_ms"]});
    assert_contains(
        answer(&asked).sentences.join("\n"),
        format!("workers 4 has {value}× the step time ({low}–{high})"),
    );
    let view = View::of(&set);
    let (column, about) = speed_up(&view);
    assert!(column.is_some(), "{about}");
    assert_contains(&about, "against workers 0 (the treatment's first value)");
}
