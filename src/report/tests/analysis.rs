//! Tests: what the template `analysis` says about targets, classes, treatments and growth.

use serde_json::json;

use crate::report::Report;
use crate::results;
use crate::results::ResultSet;
use crate::results::golden::ddpm;

/// The first two cells, with the values of a metric over four epochs and seconds of training.
fn with_curves(metric: &str, cells: [([f64; 4], f64); 2]) -> ResultSet {
    let mut set = ddpm();
    set.plan.cells.truncate(2);
    for (info, (curve, seconds)) in set.plan.cells.iter().zip(cells) {
        for row in set.epochs.iter_mut().filter(|row| row.key == info.key) {
            let value = Some(curve[row.epoch.epoch]);
            row.epoch.validation.insert(metric.into(), value);
        }
        for run in set.blocks.iter_mut().filter(|run| run.key == info.key) {
            run.times_mut().expect("a measured run").train_s = seconds;
        }
    }
    set.timings = results::timings(&set.blocks);
    set
}

#[test]
fn time_to_a_target_is_told_or_that_it_was_not_reached() {
    let mut set = with_curves(
        "val_accuracy",
        [([0.2, 0.6, 0.91, 0.9], 8.0), ([0.1, 0.5, 0.7, 0.87], 8.0)],
    );
    set.plan.report = json!({"target": [{"metric": "val_accuracy", "value": 0.9}]});
    let report = Report::of(&set);
    let table = report.table_or_panic("quality");
    let time = table.column_index_of("time to val_accuracy ≥ 0.9");
    // The target is reached after three of four epochs, and training takes 8 s.
    assert_eq!(table.rows[0].texts()[time], "6.00");
    assert_eq!(table.rows[1].texts()[time], "not reached");
    assert_eq!(table.rows[1].fields[time].detail, "best 0.8700");
}

#[test]
fn a_loss_is_reached_from_above() {
    let mut set = ddpm();
    set.plan.report = json!({"target": [{"metric": "train_loss", "value": 0.1}]});
    let report = Report::of(&set);
    let table = report.table_or_panic("quality");
    let time = table.column_index_of("time to train_loss ≤ 0.1");
    assert_ne!(table.rows[0].texts()[time], "not reached");
}

/// Four cells of two kinds of models with two losses each, at one batch size.
fn two_kinds() -> ResultSet {
    let mut set = ddpm();
    set.plan.cells.truncate(4);
    let kinds = ["canned-net", "canned-net", "neural-sde", "neural-sde"];
    let losses = [
        "t-statistic",
        "signature-scoring",
        "kernel-mmd",
        "kernel-scoring",
    ];
    for (index, cell) in set.plan.cells.iter_mut().enumerate() {
        cell.work_signature = format!("work {index}");
        cell.spec = json!({
            "dataset": {"kind": "paths", "samples": 256},
            "dataset_name": "brownian",
            "model": {"kind": kinds[index]},
            "loss": {"kind": losses[index]},
            "train": {"batch-size": 32},
        });
    }
    for facts in set.runs.iter_mut().filter_map(|row| row.facts.as_mut()) {
        facts.samples = 1024;
    }
    set
}

#[test]
fn tasks_are_named_by_what_tells_them_apart() {
    let mut set = two_kinds();
    for (index, cell) in set.plan.cells.iter_mut().enumerate() {
        cell.task_signature = format!("task {}", index / 2);
        cell.spec["dataset"]["samples"] = json!(if index < 2 { 256 } else { 4096 });
        cell.spec["loss"] = json!({"kind": "t-statistic"});
    }
    let report = Report::of(&set);
    for (id, task) in [
        ("decision-1", "samples 256: by "),
        ("decision-2", "samples 4,096: by "),
    ] {
        let title = &report.table_or_panic(id).title;
        assert!(title.starts_with(task), "{title}");
    }
}

#[test]
fn a_treatment_has_the_time_to_the_loss_that_all_cells_reach() {
    let cells = [([1.0, 0.6, 0.5, 0.45], 8.0), ([0.9, 0.7, 0.6, 0.65], 4.0)];
    let mut set = with_curves("val_loss", cells);
    let heading = "time to equal loss";
    let has_column = |set: &ResultSet| {
        let report = Report::of(set);
        let mut columns = report.table_or_panic("quality").columns.iter();
        columns.any(|column| column.heading == heading)
    };
    assert!(!has_column(&set), "without a treatment");
    set.plan.compare = json!({ "treatment": "batch-size" });
    // Both reach 0.6: the first after two of four epochs (training takes 8 s), the second after three of four (4 s).
    let times = Report::of(&set).table_or_panic("quality").texts(heading);
    assert_eq!(times, ["4.00", "3.00"]);
}
