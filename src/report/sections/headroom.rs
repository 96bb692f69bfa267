//! Memory headroom: the measured peak against what there is, and a larger batch only by a fit with its error.

use crate::base::statistics::{Line, fit_line};
use crate::base::units::{human_bytes, human_integer};
use crate::report::judged::plain;
use crate::report::number::fixed;
use crate::report::section::Section;
use crate::report::table::Entry;
use crate::report::view::{Cell, View};
use crate::results::{Interval, interval_over_runs};

use super::field::{self, OfCell};
use super::memory::MIB;
use super::speed::{in_mib, timing_value};
use super::sweep::{Sweep, sweeps};
use super::{batch_curve, machine};

/// How many times the largest measured batch the fit is carried on to.
const BEYOND: f64 = 2.0;

/// The table of peaks against memory, and the fits over batch size.
pub(crate) fn judged(view: &View<'_>) -> Section {
    let bytes = |bytes: Option<f64>| Entry::shown(bytes.map(|bytes| bytes / MIB), whole);
    let memory = |cell: &Cell<'_>| machine::memory_bytes(view, cell);
    let named = "named by the system, in whole GiB";
    let fields = [
        OfCell::measured("peak, process", "MiB", "wait4, median of n runs", |cell| {
            in_mib(cell, "peak_rss_bytes", whole)
        }),
        OfCell::measured("machine's memory", "MiB", named, |cell| bytes(memory(cell))),
        OfCell::derived("used", "%", "peak ÷ memory", |cell| {
            let share = peak(cell)
                .zip(memory(cell))
                .map(|(peak, all)| peak / all * 100.0);
            Entry::shown(share, |share| fixed(share, 1))
        }),
        OfCell::derived("headroom", "MiB", "memory − peak", |cell| {
            bytes(memory(cell).zip(peak(cell)).map(|(all, peak)| all - peak))
        }),
    ];
    let about = "Memory of the host. What a larger batch would need stands below, from a fit, and was not measured. \
                 Inference alone has no high-water mark of its own: validation runs in the process that trained.";
    let head = ("headroom", "Memory headroom", about.to_owned());
    let table = field::of_cells(view, head, &fields, |cell| peak(cell).is_some());
    let rule = format!(
        "Headroom is the machine's memory less the measured peak. A larger batch is told only from a straight line \
         through the peaks of three batch sizes or more, at {BEYOND} times the largest, with the standard error of a \
         single prediction."
    );
    let curves = sweeps(view, batch_curve::AXIS, &[]);
    let fits = curves.iter().filter_map(|sweep| fitted(view, sweep));
    Section::judged(table, rule, fits.collect())
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

/// In whole MiB: what is subtracted here must not be rounded to four digits.
fn whole(mib: f64) -> String {
    human_integer(mib.round().max(0.0) as u64)
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
    let of_memory = machine::memory_bytes(view, largest.0).map_or(String::new(), |all| {
        format!(
            ", {} % of the machine's memory",
            fixed(line.at(beyond) / all * 100.0, 1)
        )
    });
    Some(format!(
        "{}: peak ≈ {} + {} × batch size (least squares, n = {} sizes, residual {}). At batch size {}: {} ± {}{of_memory}; \
         predicted, not measured.",
        sweep.name(view),
        bytes(line.offset),
        bytes(line.slope),
        points.len(),
        bytes(line.residual),
        plain(beyond),
        bytes(line.at(beyond)),
        bytes(error),
    ))
}
