use super::*;
use crate::event::OpRow;
use crate::results::golden::{ddpm, profile};
use crate::results::{ProfiledRun, ResultSet, op_records};

/// The golden set with a profile of its first cells.
fn set(cells: usize) -> ResultSet {
    let mut set = ddpm();
    for cell in &set.plan.cells[..cells] {
        let run = ProfiledRun {
            key: &cell.key,
            seed: 42,
            block: 0,
            code_hash: cell.code_hash.as_deref().unwrap(),
        };
        set.ops.extend(op_records(run, &profile()));
    }
    set
}

fn column(table: &Table, heading: &str) -> Vec<String> {
    let place = table.columns.iter().position(|own| own.heading == heading);
    let place = place.unwrap_or_else(|| panic!("no column {heading}"));
    let fields = table.rows.iter().filter_map(|row| row.fields.get(place));
    fields.map(|field| field.text.clone()).collect()
}

#[test]
fn operations_are_summed_over_layers_and_sum_to_the_step() {
    let set = set(1);
    let operations = Operations::of(&View::of(&set));
    let [one] = &operations.profiles[..] else {
        panic!("one profile")
    };
    let table = &one.operations;
    let names = column(table, "operation");
    let expected = [
        "conv2d",
        "linear",
        "adam",
        "mse",
        "waiting for data",
        "residual",
        "sum",
    ];
    assert_eq!(names, expected);
    assert_eq!(column(table, "forward")[0], "15.0");
    assert_eq!(column(table, "backward")[0], "25.0");
    assert_eq!(column(table, "calls a step")[0], "4");
    assert_eq!(column(table, "FLOPs a step")[0], "12.0 GFLOP");
    assert_eq!(column(table, "achieved")[0], "300");
    assert_eq!(
        column(table, "share")[..2],
        ["66.7", "11.6"],
        "rounded so that they sum to 100"
    );
    assert_eq!(column(table, "share").last().unwrap(), "100.0");
    assert_eq!(column(&one.layers, "layer")[0], "down.conv1");
    assert_eq!(column(&one.layers, "operations")[0], "conv2d");
}

#[test]
fn shares_by_category_are_exclusive_with_a_residual_and_sum_to_a_hundred() {
    let set = set(2);
    let operations = Operations::of(&View::of(&set));
    let table = operations.categories.unwrap();
    assert_eq!(column(&table, "convolution")[0], "66.7");
    assert_eq!(column(&table, "optimizer")[0], "5.8");
    assert_eq!(column(&table, "sum")[..3], ["100.0", "100.0", "–"]);
    assert_eq!(column(&table, "profiled step")[0], "60.00");
    assert!(!column(&table, "residual").is_empty());
    assert_eq!(operations.plots.len(), 1);
}

#[test]
fn of_many_profiles_baseline_and_fastest_are_shown_in_detail() {
    let set = set(6);
    let operations = Operations::of(&View::of(&set));
    assert_eq!(operations.profiles.len(), 2);
    assert!(
        operations.note.contains("of 6 profiled cells"),
        "{}",
        operations.note
    );
}

#[test]
fn a_profile_of_other_code_is_none() {
    let mut set = set(1);
    set.ops
        .iter_mut()
        .for_each(|row| row.code_hash = "old".into());
    let operations = Operations::of(&View::of(&set));
    assert!(operations.categories.is_none() && operations.note.contains("ops = true"));
}

#[test]
fn many_operations_are_cut_and_the_rest_is_summed_up() {
    let mut set = set(1);
    let first = set.ops[0].clone();
    for number in 0..20 {
        let mut record = first.clone();
        record.row = OpRow {
            op: format!("op{number:02}"),
            forward_ms: 0.5,
            ..record.row
        };
        set.ops.push(record);
    }
    let operations = Operations::of(&View::of(&set));
    let names = column(&operations.profiles[0].operations, "operation");
    assert_eq!(names.len(), ROWS + 3);
    assert_eq!(names[ROWS - 1], "13 more");
}
