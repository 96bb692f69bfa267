//! Tests of cells with different data: baselines of each dataset, and targets that some cells learn as logarithms.

use serde_json::{Value, json};

use super::{answer, text, with_accuracy};
use crate::report::answer::BestCells;
use crate::report::view::View;
use crate::results::testing::assert_contains;
use crate::results::{BaselineRow, ResultSet};

const AROUND: [f64; 5] = [0.0, 0.01, 0.02, 0.03, 0.04];

/// Two cells on these data, of which the first has the higher metric.
fn two(metric: &str, data: [Value; 2]) -> ResultSet {
    let mut set = with_accuracy(&[0.9, 0.8].map(|least| AROUND.map(|more| least + more)));
    for (cell, data) in set.plan.cells.iter_mut().zip(data) {
        cell.spec["dataset"] = data;
    }
    for facts in set.runs.iter_mut().filter_map(|row| row.facts.as_mut()) {
        let value = facts.metrics.remove("val_accuracy").flatten();
        facts.metrics.insert(metric.to_owned(), value);
    }
    set.plan.report = json!({ "answer": [metric] });
    set
}

/// Baselines on the data of the cell with this index; without a value they have no metrics.
fn add(set: &mut ResultSet, cell: usize, baseline: &str, value: Option<f64>) {
    let cell = set.plan.cells[cell].key.clone();
    let rows = AROUND.iter().zip(0..).map(|(more, seed)| BaselineRow {
        dataset: "table".to_owned(),
        cell: cell.clone(),
        data: String::new(),
        seed,
        baseline: baseline.to_owned(),
        metrics: value
            .map(|value| ("val_accuracy".to_owned(), Some(value + more)))
            .into_iter()
            .collect(),
    });
    set.baselines.extend(rows);
}

#[test]
fn the_best_cell_is_judged_by_the_baselines_on_its_own_data() {
    let data = [json!({"ignore": ["leak"]}), json!({"ignore": []})];
    let mut set = two("val_accuracy", data);
    add(&mut set, 1, "linear", Some(0.95));
    add(&mut set, 0, "linear", Some(0.7));
    let told = text(&set);
    let on_own = "Baselines on the data of workers 0, validation accuracy: linear model 0.7200 (0.7000–0.7400). \
        Better than the linear model: workers 0, 0.9200";
    assert_contains(&told, on_own);
    set.baselines.reverse();
    assert_eq!(text(&set), told);
    // Without baselines on its own rows a cell is not compared with baselines.
    set.baselines
        .retain(|row| row.cell != set.plan.cells[0].key);
    assert!(!text(&set).contains("Baselines"), "{}", text(&set));
}

#[test]
fn a_baseline_for_which_the_data_are_too_large_is_named() {
    let mut set = two("val_accuracy", [json!({}), json!({})]);
    add(&mut set, 0, "constant", Some(0.5));
    add(&mut set, 0, "linear", None);
    add(&mut set, 0, "nearest", None);
    assert_contains(
        text(&set),
        "Baselines on the same rows, validation accuracy: constant 0.5200 (0.5000–0.5400) (too many rows or features \
         for linear model and nearest neighbour). Better than the constant: workers 0",
    );
}

#[test]
fn an_order_by_errors_of_logarithms_and_of_values_has_a_caveat() {
    let data = |log: bool| json!({"target": "price", "columns": {"price": {"log": log}}});
    let caveat = |metric: &str, logs: [bool; 2]| {
        let sentences = answer(&two(metric, logs.map(data))).sentences;
        sentences
            .into_iter()
            .find(|one| one.starts_with("Not in one unit"))
    };
    assert_eq!(
        caveat("val_r2", [false, true]).as_deref(),
        Some(
            "Not in one unit: validation R² is of the logarithm of the target in some cells (workers 4), and of the \
             target itself in others (workers 0); `val_mae` and `test_mae` are in the target's own units, and can be \
             compared."
        )
    );
    assert_eq!(caveat("val_r2", [true, true]), None);
    assert_eq!(caveat("val_mae", [false, true]), None);
}

#[test]
fn of_cells_with_different_numbers_of_seeds_both_are_told() {
    let mut set = two("val_accuracy", [json!({}), json!({})]);
    let other = set.plan.cells[1].key.clone();
    set.runs.retain(|row| row.key != other || row.seed == 42);
    let told = text(&set);
    assert_contains(&told, "1 to 5 seeds per cell, 4 are needed.");
    assert_contains(
        &told,
        "0.9200 (0.9000–0.9400), 79.96 samples/s, 641 MiB; a cell with a single value has no range to hold against it.",
    );
    let about = &answer(&set).tables[0].about;
    assert_contains(about, "by median over 1 to 5 seeds of a cell");
}

#[test]
fn where_no_cell_has_what_decides_every_cell_may_be_meant() {
    let mut set = two("val_accuracy", [json!({}), json!({})]);
    set.plan.report = json!({ "answer": ["val_r2"] });
    let best = BestCells::of(&View::of(&set));
    assert_eq!(best.keys.len(), 2);
    assert_eq!(best.why, "none has a value of what decides");
}
