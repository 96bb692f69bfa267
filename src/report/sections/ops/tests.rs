use super::*;
use crate::event::OpRow;
use crate::results::golden::{ddpm, profile};
use crate::results::{BlockRow, ResultSet, op_records};

/// The golden set with a profile of its first cells.
fn set(cells: usize) -> ResultSet {
    let mut set = ddpm();
    for cell in &set.plan.cells[..cells] {
        let of_cell = |run: &&BlockRow| run.key == cell.key && run.seed == 42 && run.block == 0;
        let run = set.blocks.iter().find(of_cell).unwrap();
        let code_hash = cell.code_hash.as_deref().unwrap();
        set.ops.extend(op_records(run, code_hash, &profile()));
    }
    set
}

#[test]
fn operations_are_summed_over_layers_and_sum_to_the_step() {
    let set = set(1);
    let [operations, layers] = &sections(&View::of(&set))[..] else {
        panic!("one profile")
    };
    let table = &operations.tables[0];
    let names = table.texts("operation");
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
    assert_eq!(table.texts("forward")[0], "15.0");
    assert_eq!(table.texts("backward")[0], "25.0");
    assert_eq!(table.texts("calls a step")[0], "4");
    assert_eq!(table.texts("FLOPs a step")[0], "12.0 GFLOP");
    assert_eq!(table.texts("achieved")[0], "300");
    assert_eq!(
        table.texts("share")[..2],
        ["66.7", "11.6"],
        "rounded so that they sum to 100"
    );
    assert_eq!(table.texts("share").last().unwrap(), "100.0");
    assert_eq!(layers.tables[0].texts("layer")[0], "down.conv1");
    assert_eq!(layers.tables[0].texts("operations")[0], "conv2d");
}

#[test]
fn a_profile_of_other_code_is_none() {
    let mut set = set(1);
    set.ops
        .iter_mut()
        .for_each(|row| row.code_hash = "old".into());
    assert_eq!(sections(&View::of(&set)), []);
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
    let sections = sections(&View::of(&set));
    let names = sections[0].tables[0].texts("operation");
    assert_eq!(names.len(), ROWS + 3);
    assert_eq!(names[ROWS - 1], "16 more");
}
