//! [`Disagreement`]: two runs whose facts (losses, metrics, checksums) must be equal, but are not.

use crate::event::RunFacts;
use crate::plan::PlannedCell;
use crate::results::store::{RecordLocation, Store, StoredRun};

/// Two runs of one cell, seed, code and numeric class (kind of CPU or GPU) with different values of a fact.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{key}` seed {seed}: blocks {blocks:?} disagree in `{fact}`: {values:?}")]
pub struct Disagreement {
    /// Key of the cell: its axis values as text (`model=mlp,batch-size=8`).
    pub key: String,
    /// Seed of the two runs.
    pub seed: u64,
    /// Blocks (repeats) of the two runs.
    pub blocks: [usize; 2],
    /// Name of the differing fact, such as `val_loss`.
    pub fact: String,
    /// Values of the fact in the two runs, as text.
    pub values: Box<[String; 2]>,
    /// A possible cause outside Fieldtrial and what to do about it; `None` if only a bug of Fieldtrial explains it.
    pub other_cause: Option<String>,
}

/// Checks that all finished `blocks` of a cell and seed have the same facts as the first.
pub(super) fn check_agreement(
    cell: &PlannedCell,
    blocks: &[&StoredRun],
    store: &Store,
) -> Result<(), Disagreement> {
    let mut finished = blocks.iter().filter(|run| run.facts.is_some());
    let Some(first) = finished.next() else {
        return Ok(());
    };
    // Replaces the stored key by the cell's current one.
    let current = |disagreement| Disagreement {
        key: cell.spec.key.clone(),
        ..disagreement
    };
    finished.try_for_each(|run| {
        let places = || [first, run].map(|run| store.place(&run.keys));
        check_equal_facts(first, run, places).map_err(current)
    })
}

/// Compares two runs of one cell, seed, code and numeric class, which are stored at `places`; a run without facts agrees with
/// any other.
///
/// # Errors
/// [`Disagreement`] in the first differing fact.
pub fn check_equal_facts(
    first: &StoredRun,
    other: &StoredRun,
    places: impl FnOnce() -> [RecordLocation; 2],
) -> Result<(), Disagreement> {
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
            key: first.key.to_string(),
            seed: first.keys.seed,
            blocks: [first.keys.block, other.keys.block],
            fact,
            values: Box::new(values),
            other_cause: other_cause([first, other], &places()),
        })
    })
}

/// A possible cause outside Fieldtrial: an edited record, or another machine. (Records with a wrong checksum are not
/// read at all.)
fn other_cause(runs: [&StoredRun; 2], places: &[RecordLocation; 2]) -> Option<String> {
    let [first, other] = runs.map(|run| &run.keys.conditions.env_id);
    let unchecked = places.iter().find(|place| !place.is_checked);
    let why = match unchecked {
        Some(RecordLocation { name, .. }) => {
            format!("`{name}` has no checksum, and may have been changed since its run")
        }
        None if first != other => {
            format!("the machine or the build changed between them, from {first} to {other}")
        }
        None => return None,
    };
    let [first, other] = places.each_ref().map(|place| &place.name);
    Some(format!(
        "{why}; remove the wrong one of `{first}` and `{other}`: its run is then done again"
    ))
}

/// Names and values of facts, as text.
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
            // Lists of rows (counted work, confusion matrix): the text fields of a row become part of its name.
            serde_json::Value::Array(rows) => list.extend(rows.into_iter().map(|row| {
                let texts = row.as_object().into_iter().flat_map(|row| row.values());
                let texts: Vec<&str> = texts.filter_map(|value| value.as_str()).collect();
                (format!("{name} of {}", texts.join(" ")), row.to_string())
            })),
            value => list.push((name, value.to_string())),
        }
    }
    list
}
