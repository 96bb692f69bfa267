//! How often a run validated, and on how many samples.

use serde_json::Value;

use crate::report::comparison::scene::At;
use crate::report::sections::difference::part;
use crate::results::BlockRow;

/// Validations of a run of `seed`: epochs with validation metrics, and one of the mean weights where the manifest asks for
/// them; `None` where no epoch was validated.
pub(crate) fn of(at: At<'_, '_>, seed: u64) -> Option<f64> {
    let epochs = at.cell.epochs.iter();
    let validated = epochs.filter(|row| row.seed == seed && !row.epoch.validation.is_empty());
    let count = validated.count();
    let ensemble = part(at.view, at.cell, "validation.ensemble").is_some_and(Value::is_number);
    (count > 0).then_some(count as f64 + f64::from(u8::from(ensemble)))
}

/// Samples that one validation sees: `batches × batch-size` where the split is gone through again until they are full;
/// `None` elsewhere, since the size of the split is in no results file.
pub(crate) fn samples(at: At<'_, '_>) -> Option<f64> {
    let get = |key: &str| part(at.view, at.cell, &format!("validation.{key}"));
    let is_cycle = get("cycle").and_then(Value::as_bool).unwrap_or(false);
    let batches = get("batches").and_then(Value::as_f64)?;
    let size = get("batch-size").and_then(Value::as_f64)?;
    is_cycle.then_some(batches * size)
}

/// Seconds of one validation: those of the run ÷ its validations. The fixed batch's two evaluations are in them.
pub(crate) fn seconds(at: At<'_, '_>, run: &BlockRow) -> Option<f64> {
    Some(run.times.as_deref()?.validation_s / of(at, run.seed)?)
}
