//! Cores and memory of a cell's machine from `env.toml`, and how much of them was used (from CPU seconds and peak
//! memory).

use crate::report::view::{Cell, View};
use crate::results::{BlockRow, Interval, interval_over_runs};

/// The must-match field `field` of the environment `id` as a number.
fn number(view: &View<'_>, id: &str, field: &str) -> Option<f64> {
    let environment = view.set.environments.get(id)?;
    let value = environment.must_match.get(field)?.parse::<f64>().ok()?;
    (value > 0.0).then_some(value)
}

/// Bytes of memory of a cell's machine; recorded in whole GiB.
pub(crate) fn memory_bytes(view: &View<'_>, cell: &Cell<'_>) -> Option<f64> {
    let gib = number(view, &cell.timing?.env_id, "memory_gib")?;
    Some(gib * f64::from(1 << 30))
}

/// Fraction of the machine's memory at the peak of each run, 0 to 1, with its interval.
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

/// Largest ratio of CPU seconds to (cores × wall seconds) that rounding of clocks explains.
const ROUNDING: f64 = 1.01;

/// Cores that a run kept busy on average: CPU seconds ÷ wall seconds of its process from start to end. `None` if the
/// parent did not time the process (the worker's wall seconds exclude profiled steps, its CPU seconds include them), or
/// if the CPU seconds exceed what `cores` can give.
fn busy_of(run: &BlockRow, cores: f64) -> Option<f64> {
    let busy = run.cpu_s? / run.wall_s.filter(|wall| *wall > 0.0)?;
    (busy <= cores * ROUNDING).then_some(busy.min(cores))
}

/// Fraction of the machine's logical cores that a cell's runs kept busy, 0 to 1.
pub(crate) fn core_share(view: &View<'_>, cell: &Cell<'_>) -> Option<Interval> {
    let cores = cores(view, &cell.timing?.env_id)?;
    let runs = cell.counted.iter();
    let values = runs.filter_map(|run| Some(busy_of(run, cores)? / cores));
    interval_over_runs(&cell.info.key, &values.collect::<Vec<_>>())
}
