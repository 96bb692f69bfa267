//! `ops.csv`: the time of every operation of every layer in the profiled steps, to three digits.

use std::path::Path;

use crate::base::units::round_significant;
use crate::event::{OpRow, Profile};

use super::columns::OP_COLUMNS;
use super::files::{remove, write_if_changed};
use super::table::rows_if_there;
use super::write::{CellOrder, csv_text, ops_header};
use super::{BlockRow, OpRecord, PlanFile, ResultsError};

const NAME: &str = "ops.csv";
/// Significant digits of times and shares: more would change from run to run, and the file is in git.
const DIGITS: usize = 3;
/// Size of the file in bytes beyond which operations are summed over layers.
const MOST: usize = 512 * 1024;

/// Name of the rows for the unmeasured part of a phase: the phase's time minus that of its operations.
pub const RESIDUAL: &str = "residual";

/// Name of the phase that the backward times of operations belong to.
const BACKWARD: &str = "backward";

/// The rows of a run's profile: its operations, then the residual of every phase. The times of all rows sum to the
/// step's time.
pub fn op_records(run: &BlockRow, code_hash: &str, profile: &Profile) -> Vec<OpRecord> {
    let step_ms = profile.step_ms;
    let rows = profile.ops.iter().cloned().chain(residuals(profile));
    let record = |mut row: OpRow| {
        let share = (row.forward_ms + row.backward_ms) / step_ms;
        row.forward_ms = round_significant(row.forward_ms, DIGITS);
        row.backward_ms = round_significant(row.backward_ms, DIGITS);
        OpRecord {
            key: run.key.clone(),
            seed: run.seed,
            block: run.block,
            code_hash: code_hash.to_owned(),
            profiled_steps: profile.steps,
            samples_per_step: profile.samples,
            share: round_significant(if step_ms > 0.0 { share } else { 0.0 }, DIGITS),
            row,
        }
    };
    rows.map(record).collect()
}

/// The residuals, one row per phase. `other` is the step minus all named phases and minus operations outside any named
/// phase.
fn residuals(profile: &Profile) -> Vec<OpRow> {
    let phases = &profile.phases;
    let forward = [
        ("data_wait", phases.data_wait_ms),
        ("transfer", phases.transfer_ms),
        ("forward", phases.forward_ms),
        ("loss", phases.loss_ms),
        ("optimizer", phases.optimizer_ms),
    ];
    let in_phase = |name: &str| -> f64 {
        let rows = profile.ops.iter().filter(|row| row.phase == name);
        rows.map(|row| row.forward_ms).sum()
    };
    // Residuals below this are rounding errors of the summation.
    let least = 1e-9 * profile.step_ms;
    let time = |ms: f64| if ms.abs() < least { 0.0 } else { ms };
    let row = |phase: &str, forward_ms: f64, backward_ms: f64| OpRow {
        op: RESIDUAL.to_owned(),
        phase: phase.to_owned(),
        forward_ms: time(forward_ms),
        backward_ms: time(backward_ms),
        ..OpRow::default()
    };
    let of_forward = forward.map(|(phase, ms)| row(phase, ms - in_phase(phase), 0.0));
    let mut rows = Vec::from(of_forward);
    let backward: f64 = profile.ops.iter().map(|row| row.backward_ms).sum();
    rows.insert(4, row(BACKWARD, 0.0, phases.backward_ms - backward));
    let named: f64 = rows.iter().chain(&profile.ops).map(both).sum();
    rows.push(row("other", profile.step_ms - named, 0.0));
    rows
}

fn both(row: &OpRow) -> f64 {
    row.forward_ms + row.backward_ms
}

/// Writes `ops.csv`, with axis values from `plan`. An unchanged file is not touched; without any profile there is no
/// file.
///
/// # Errors
/// [`ResultsError::System`]; the old file is unchanged then.
pub fn write_ops(
    folder: &Path,
    plan: &PlanFile,
    runs: impl Iterator<Item = Vec<OpRecord>>,
) -> Result<(), ResultsError> {
    let path = folder.join(NAME);
    let mut runs: Vec<Vec<OpRecord>> = runs.filter(|rows| !rows.is_empty()).collect();
    if runs.is_empty() {
        return remove(&path);
    }
    let mut bytes = rows_csv(plan, &runs);
    if bytes.len() > MOST {
        runs = runs.into_iter().map(without_layers).collect();
        bytes = rows_csv(plan, &runs);
    }
    write_if_changed(&path, &bytes).map(drop)
}

/// Sums over the layers of a run, by operation and phase.
fn without_layers(rows: Vec<OpRecord>) -> Vec<OpRecord> {
    let mut sums: Vec<OpRecord> = Vec::new();
    for record in rows {
        let OpRecord { row, share, .. } = &record;
        let is_same = |sum: &&mut OpRecord| (&sum.row.op, &sum.row.phase) == (&row.op, &row.phase);
        let Some(sum) = sums.iter_mut().find(is_same) else {
            let mut first = record;
            first.row.layer = String::new();
            sums.push(first);
            continue;
        };
        sum.share += share;
        sum.row.calls += row.calls;
        sum.row.forward_ms += row.forward_ms;
        sum.row.backward_ms += row.backward_ms;
        sum.row.flops_forward += row.flops_forward;
        sum.row.flops_backward += row.flops_backward;
        sum.row.allocated_bytes += row.allocated_bytes;
        sum.row.retained_bytes += row.retained_bytes;
    }
    for OpRecord { row, share, .. } in &mut sums {
        for value in [share, &mut row.forward_ms, &mut row.backward_ms] {
            *value = round_significant(*value, DIGITS);
        }
    }
    sums
}

fn rows_csv(plan: &PlanFile, runs: &[Vec<OpRecord>]) -> Vec<u8> {
    let order = CellOrder::of(plan);
    let rows = runs.iter().flatten().map(|row| {
        let mut fields = order.identity(&row.key, row.seed);
        fields.extend(OP_COLUMNS.iter().map(|column| (column.show)(row)));
        fields
    });
    csv_text(ops_header(plan), rows)
}

/// Reads `ops.csv`; empty if it does not exist.
///
/// # Errors
/// [`ResultsError`]: it is damaged, or has the axes of another plan.
pub fn read_ops(folder: &Path, plan: &PlanFile) -> Result<Vec<OpRecord>, ResultsError> {
    rows_if_there(&folder.join(NAME), &ops_header(plan), |cursor| {
        let row = OpRecord {
            key: cursor.next_text()?,
            seed: cursor.next()?,
            ..OpRecord::default()
        };
        cursor.skip(plan.axes.len());
        cursor.next_group(OP_COLUMNS, row, false)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::golden::{ddpm, profile};
    use super::*;

    fn records() -> Vec<OpRecord> {
        op_records(&ddpm().blocks[0], "7a11ab1e", &profile())
    }

    #[test]
    fn rows_and_residuals_sum_to_the_phases_and_the_step() {
        let records = records();
        let sum = |get: &dyn Fn(&OpRecord) -> f64| records.iter().map(get).sum::<f64>();
        // The values of each row are rounded to three digits.
        let is = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 1e-3, "{found}");
        };
        for (phase, ms) in [("forward", 20.0), ("loss", 1.0), ("optimizer", 4.0)] {
            let of_phase = records.iter().filter(|record| record.row.phase == phase);
            is(of_phase.map(|record| record.row.forward_ms).sum(), ms);
        }
        is(sum(&|record| record.row.backward_ms), 30.0);
        is(sum(&|record| both(&record.row)), 60.0);
        is(sum(&|record| record.share), 1.0);
        let residual = records.iter().find(|record| record.row.phase == BACKWARD);
        is(residual.unwrap().row.backward_ms, 1.75);
        assert_eq!(records.len(), 5 + 7, "operations, and one residual a phase");
    }

    #[test]
    fn the_file_reads_back_and_goes_with_its_profiles() {
        let folder = tempfile::tempdir().unwrap();
        let plan = ddpm().plan;
        write_ops(folder.path(), &plan, [records()].into_iter()).unwrap();
        assert_eq!(read_ops(folder.path(), &plan).unwrap(), records());
        let text = fs::read_to_string(folder.path().join(NAME)).unwrap();
        let line = text.lines().nth(1).unwrap();
        let expected = ",42,unet,cpu,8,0,0,7a11ab1e,5,8,down.conv1,conv2d,forward,10,12,20,0.533,\
                        3000000000,6000000000,4096,1024";
        assert!(line.ends_with(expected), "{line}");
        write_ops(folder.path(), &plan, std::iter::empty()).unwrap();
        assert!(read_ops(folder.path(), &plan).unwrap().is_empty());
    }
}
