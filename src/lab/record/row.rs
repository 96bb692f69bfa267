//! One row of `runs.csv` from the runs of its blocks.

use crate::base::text::one_line;
use crate::event::{EpochRow, RunFacts, Status};
use crate::plan::{CellSpec, PlannedCell};
use crate::results::store::StoredRun;
use crate::results::{EpochRecord, RunRow};

/// Two runs of one cell, seed, code and numeric class that disagree in a fact: a bug in Fieldtrial.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{key}` seed {seed}: blocks {blocks:?} disagree in `{fact}`: {values:?}")]
pub struct Disagreement {
    /// Readable key of the cell.
    pub key: String,
    /// Seed.
    pub seed: u64,
    /// The two blocks.
    pub blocks: [usize; 2],
    /// Name of the fact.
    pub fact: String,
    /// The two values.
    pub values: [String; 2],
}

/// The run whose facts the row shows: the first one that is done, else the first with facts, else the first.
pub(super) fn leading<'a>(blocks: &[&'a StoredRun]) -> Option<&'a StoredRun> {
    let done = blocks.iter().find(|run| run.status == Status::Done);
    let measured = || blocks.iter().find(|run| run.facts.is_some());
    done.or_else(measured).or(blocks.first()).copied()
}

pub(super) fn run_row(cell: &PlannedCell, run: &StoredRun) -> RunRow {
    RunRow {
        facts: run.facts.clone(),
        ..empty_row(cell, run.keys.seed, run.status, &run.reason)
    }
}

/// A row for a seed without any run.
pub(super) fn empty_row(cell: &PlannedCell, seed: u64, status: Status, reason: &str) -> RunRow {
    RunRow {
        key: cell.spec.key.clone(),
        seed,
        axes: cell.axis_texts(),
        status,
        reason: one_line(reason),
        facts: None,
    }
}

/// The rows of `epochs.csv`; none without facts: how far a run came before it was cut off is not a fact.
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

/// Compares all finished blocks of a row with the first.
pub(super) fn check_agreement(
    cell: &PlannedCell,
    blocks: &[&StoredRun],
) -> Result<(), Disagreement> {
    let mut finished = blocks.iter().filter(|run| run.facts.is_some());
    let Some(first) = finished.next() else {
        return Ok(());
    };
    // Under the cell's current key.
    let current = |disagreement| Disagreement {
        key: cell.spec.key.clone(),
        ..disagreement
    };
    finished.try_for_each(|run| agree(first, run).map_err(current))
}

/// Compares two runs of one cell, seed, code and numeric class; a run without facts agrees with any other.
///
/// # Errors
/// [`Disagreement`] in the first differing fact.
pub fn agree(first: &StoredRun, other: &StoredRun) -> Result<(), Disagreement> {
    let (Some(facts), Some(others)) = (&first.facts, &other.facts) else {
        return Ok(());
    };
    let (facts, others) = (fact_values(facts), fact_values(others));
    // Values that only one run has are left out: costly evaluation happens only in the first block.
    let differing = facts.into_iter().find_map(|(fact, value)| {
        let (_, other) = others.iter().find(|(name, _)| *name == fact)?;
        (value != *other).then(|| (fact, [value, other.clone()]))
    });
    differing.map_or(Ok(()), |(fact, values)| {
        Err(Disagreement {
            key: first.key.clone(),
            seed: first.keys.seed,
            blocks: [first.keys.block, other.keys.block],
            fact,
            values,
        })
    })
}

/// Metrics in which runs of one cell of a command differ by more than their tolerance, separated by blanks.
pub(super) fn differing(cell: &CellSpec, blocks: &[&StoredRun]) -> Option<String> {
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

/// Facts by name.
fn fact_values(facts: &RunFacts) -> Vec<(String, String)> {
    let Ok(serde_json::Value::Object(values)) = serde_json::to_value(facts) else {
        return Vec::new();
    };
    let mut list = Vec::new();
    for (name, value) in values {
        match value {
            serde_json::Value::Null => {}
            serde_json::Value::Object(metrics) => {
                let metrics = metrics.into_iter();
                list.extend(metrics.map(|(name, value)| (name, value.to_string())));
            }
            value => list.push((name, value.to_string())),
        }
    }
    list
}
