//! One row of `runs.csv` from the runs of its blocks.

use crate::base::text::one_line;
use crate::event::{Confusion, EpochRow, OpWork, Status};
use crate::plan::{CellSpec, PlannedCell};
use crate::results::store::StoredRun;
use crate::results::{ConfusionRecord, EpochRecord, RunRow, WorkRecord};

/// The run whose facts the row shows: the first one that is done, else the first with facts, else the first.
pub(super) fn run_with_facts<'a>(blocks: &[&'a StoredRun]) -> Option<&'a StoredRun> {
    let is_done = |run: &&&StoredRun| run.facts_status().0 == Status::Done;
    let done = blocks.iter().find(is_done);
    let measured = || blocks.iter().find(|run| run.facts.is_some());
    done.or_else(measured).or(blocks.first()).copied()
}

pub(super) fn run_row(cell: &PlannedCell, run: &StoredRun) -> RunRow {
    let (status, reason) = run.facts_status();
    RunRow {
        facts: run.facts.as_deref().cloned(),
        ..empty_row(cell, run.keys.seed, status, reason)
    }
}

/// A row for a seed without any run.
pub(super) fn empty_row(cell: &PlannedCell, seed: u64, status: Status, reason: &str) -> RunRow {
    RunRow {
        key: cell.spec.key.clone(),
        seed,
        axes: cell.axis_values(),
        status,
        reason: one_line(reason),
        facts: None,
    }
}

/// The rows of `epochs.csv`; none for a run without facts, since the epoch at which a run was cut off varies.
pub(super) fn epoch_rows(cell: &PlannedCell, run: &StoredRun) -> Vec<EpochRecord> {
    if run.facts.is_none() {
        return Vec::new();
    }
    let record = |row: &EpochRow| EpochRecord {
        key: cell.spec.key.clone(),
        seed: run.keys.seed,
        epoch: row.clone(),
    };
    run.epochs.iter().map(record).collect()
}

/// The rows of `work.csv`.
pub(super) fn work_rows(cell: &PlannedCell, run: &StoredRun) -> Vec<WorkRecord> {
    let rows = run.facts.iter().flat_map(|facts| facts.work.iter());
    let record = |row: &OpWork| WorkRecord {
        key: cell.spec.key.clone(),
        row: row.clone(),
    };
    rows.map(record).collect()
}

/// The rows of `confusion.csv`.
pub(super) fn confusion_rows(cell: &PlannedCell, run: &StoredRun) -> Vec<ConfusionRecord> {
    let rows = run.facts.iter().flat_map(|facts| facts.confusion.iter());
    let record = |row: &Confusion| ConfusionRecord {
        key: cell.spec.key.clone(),
        seed: run.keys.seed,
        row: row.clone(),
    };
    rows.map(record).collect()
}

/// Names, separated by spaces, of the metrics in which the runs of a command's cell differ by more than the metric's
/// tolerance; `None` if no command runs the cell.
pub(super) fn nondeterministic_metrics(cell: &CellSpec, blocks: &[&StoredRun]) -> Option<String> {
    let command = cell.model.command()?;
    let all = blocks.iter().filter_map(|run| run.facts.as_ref());
    let differs = |name: &&String| {
        let tolerance = command
            .metrics
            .get(*name)
            .map_or(0.0, |metric| metric.tolerance);
        let values = all.clone().filter_map(|facts| *facts.metrics.get(*name)?);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        high - low > tolerance * low.abs().max(high.abs())
    };
    let names: Vec<&str> = command
        .metrics
        .keys()
        .filter(differs)
        .map(String::as_str)
        .collect();
    Some(names.join(" "))
}
