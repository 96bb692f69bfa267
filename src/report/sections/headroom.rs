//! The measured peak against what memory there is, and that of a larger batch, by a fit with its error.

use crate::base::statistics::{Line, fit_line};
use crate::base::units::human_bytes;
use crate::report::judged::plain;
use crate::report::number::fixed;
use crate::report::view::{Cell, View};
use crate::results::{Interval, interval_over_runs};

use super::speed::timing_value;
use super::sweep::{Sweep, sweeps};
use super::{batch_curve, machine};

/// How many times the largest measured batch the fit is carried on to.
const BEYOND: f64 = 2.0;

/// Share of the machine's memory below which a larger batch is no question.
const BOUNDS: f64 = 0.5;

/// What a larger batch would need, a sentence for each curve of three batch sizes or more on which memory may bound it.
pub(crate) fn fits(view: &View<'_>) -> Vec<String> {
    let curves = sweeps(view, batch_curve::AXIS, &[]);
    curves
        .iter()
        .filter_map(|sweep| fitted(view, sweep))
        .collect()
}

/// How they come about.
pub(crate) fn rule() -> String {
    format!(
        "A larger batch is told only from a straight line through the peaks of three batch sizes or more, at {BEYOND} times \
         the largest, with the standard error of a single prediction."
    )
}

fn peak(cell: &Cell<'_>) -> Option<f64> {
    timing_value(cell, "peak_rss_bytes")
}

/// Share of the machine's memory at the peak of each run, 0 to 1, with its interval.
pub(crate) fn share_interval(view: &View<'_>, cell: &Cell<'_>) -> Option<Interval> {
    let memory = machine::memory_bytes(view, cell)?;
    let peaks = cell.counted.iter().map(|run| run.peak_rss_bytes);
    let shares: Option<Vec<f64>> = peaks.map(|peak| Some(peak? as f64 / memory)).collect();
    interval_over_runs(&cell.info.key, &shares?)
}

/// What a batch beyond the largest would need, by a line through the measured peaks.
fn fitted(view: &View<'_>, sweep: &Sweep<'_, '_>) -> Option<String> {
    let points: Vec<(f64, f64)> = sweep
        .cells
        .iter()
        .filter_map(|(cell, size)| Some((*size, peak(cell)?)))
        .collect();
    let line: Line = fit_line(&points)?;
    let largest = sweep.cells.last()?;
    let beyond = BEYOND * largest.1;
    let error = line.prediction_error(beyond)?;
    let bytes = |value: f64| human_bytes(value.max(0.0) as u64);
    let share = line.at(beyond) / machine::memory_bytes(view, largest.0)?;
    if share < BOUNDS {
        return None;
    }
    Some(format!(
        "{}: at batch size {}, which was not measured, the peak would be {} ± {}, {} % of the machine's memory.",
        sweep.name(view),
        plain(beyond),
        bytes(line.at(beyond)),
        bytes(error),
        fixed(share * 100.0, 1),
    ))
}
