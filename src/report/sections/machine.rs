//! Facts of a cell's machine, from `env.toml`.

use crate::report::view::{Cell, View};
use crate::results::{Interval, interval_over_runs};

/// A number among the fields that must match, of the environment `id`.
fn number(view: &View<'_>, id: &str, field: &str) -> Option<f64> {
    let environment = view.set.environments.get(id)?;
    let value = environment.must_match.get(field)?.parse::<f64>().ok()?;
    (value > 0.0).then_some(value)
}

/// Bytes of memory of a cell's machine; the system's figure in whole GiB.
pub(crate) fn memory_bytes(view: &View<'_>, cell: &Cell<'_>) -> Option<f64> {
    let gib = number(view, &cell.timing?.env_id, "memory_gib")?;
    Some(gib * f64::from(1 << 30))
}

/// Share of the machine's memory at the peak of each run, 0 to 1, with its interval.
pub(crate) fn memory_share(view: &View<'_>, cell: &Cell<'_>) -> Option<Interval> {
    let memory = memory_bytes(view, cell)?;
    let peaks = cell.counted.iter().map(|run| run.peak_rss_bytes);
    let shares: Option<Vec<f64>> = peaks.map(|peak| Some(peak? as f64 / memory)).collect();
    interval_over_runs(&cell.info.key, &shares?)
}

/// Logical cores of the machine of the environment `id`.
pub(crate) fn cores(view: &View<'_>, id: &str) -> Option<f64> {
    number(view, id, "logical_cores")
}
