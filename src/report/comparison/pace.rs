//! Times per sample: what verdicts rest on, so that cells of different batch size can be held against each other.

use serde_json::Value;

use crate::report::view::{Cell, View};

/// Samples of an optimizer step: `batch-size × accumulate`.
pub(crate) fn samples_per_step(view: &View<'_>, cell: &Cell<'_>) -> Option<f64> {
    let train = view.section(cell, "train")?;
    let batch = train.get("batch-size").and_then(Value::as_f64)?;
    let accumulate = train.get("accumulate").and_then(Value::as_f64);
    Some(batch * accumulate.unwrap_or(1.0)).filter(|samples| *samples > 0.0)
}

/// Milliseconds per sample of each run that counts: its median step by the samples of a step.
pub(crate) fn per_sample(view: &View<'_>, cell: &Cell<'_>) -> Vec<f64> {
    let Some(samples) = samples_per_step(view, cell) else {
        return Vec::new();
    };
    let times = cell.counted.iter().filter_map(|run| run.times.as_ref());
    times.map(|times| times.step_ms / samples).collect()
}
