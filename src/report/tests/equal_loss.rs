//! The time to the loss that all cells of a treatment reach.

use crate::report::{Report, Row};
use crate::results;
use crate::results::golden::ddpm;

/// Two cells of four epochs: their validation losses, and their seconds of training.
const CELLS: [([f64; 4], f64); 2] = [([1.0, 0.6, 0.5, 0.45], 8.0), ([0.9, 0.7, 0.6, 0.65], 4.0)];

fn two_cells() -> results::ResultSet {
    let mut set = ddpm();
    set.plan.cells.truncate(CELLS.len());
    for (info, (losses, seconds)) in set.plan.cells.iter().zip(CELLS) {
        for row in set.epochs.iter_mut().filter(|row| row.key == info.key) {
            let loss = Some(losses[row.epoch.epoch]);
            row.epoch.validation.insert("val_loss".into(), loss);
        }
        for run in set.blocks.iter_mut().filter(|run| run.key == info.key) {
            run.times_mut().expect("a measured run").train_s = seconds;
        }
    }
    set.timings = results::timings(&set.blocks);
    set
}

#[test]
fn a_treatment_has_the_time_to_the_loss_that_all_cells_reach() {
    let mut set = two_cells();
    set.plan.compare = serde_json::json!({ "treatment": "batch-size" });
    let report = Report::of(&set);
    let quality = report.shown("quality");
    let column = quality.columns.last().expect("columns");
    assert_eq!(column.heading, "time to equal loss");
    // Both reach 0.6: the first after two of its four epochs of 8 s, the second after three of its four of 4 s.
    let last = |row: &Row| row.fields.last().map(|field| field.text.clone());
    let times: Vec<_> = quality.rows.iter().filter_map(last).collect();
    assert_eq!(times, ["4.00", "3.00"]);
}

#[test]
fn without_a_treatment_there_is_no_such_column() {
    let report = Report::of(&two_cells());
    let quality = report.shown("quality");
    let headings = quality.columns.iter().map(|column| &column.heading);
    assert!(
        headings
            .into_iter()
            .all(|heading| heading != "time to equal loss")
    );
}
