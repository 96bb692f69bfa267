//! Throughput against batch size, with the knee: the smallest batch size whose throughput is within a few percent of
//! the best.

use crate::report::judged::{first_names_text, plain_number_text, range_text};
use crate::report::view::{Cell, View};
use crate::results::{Interval, IntervalKind, grouped};

use super::ranking::not_comparable;

use crate::report::timing::{THROUGHPUT, timing, timing_value};

/// Path of the axis of batch sizes.
pub(crate) const AXIS: &str = "train.batch-size";

/// Measured cells that differ only in batch size, each with its batch size, sorted by it.
type Sweep<'v, 'a> = Vec<(&'v Cell<'a>, f64)>;

/// Every series of at least two measured cells that differ only in batch size, with equal code and environment, in plan
/// order.
fn sweeps<'v, 'a>(view: &'v View<'a>) -> Vec<Sweep<'v, 'a>> {
    let axes = &view.set.plan.axes;
    let Some(axis) = axes.iter().position(|axis| axis.path == AXIS) else {
        return Vec::new();
    };
    let swept = view.cells.iter();
    let swept = swept.filter_map(|cell| Some((cell, cell.info.axes[axis].parse::<f64>().ok()?)));
    let measured = swept.filter(|(cell, _)| timing_value(cell, THROUGHPUT).is_some());
    let lines = grouped(measured, |(cell, _)| cell.axis_values_except(axis)).into_iter();
    let sweeps = lines.map(|mut cells| {
        // Cells measured with different code or on another machine cannot be compared.
        let first = cells[0].0;
        cells.retain(|(cell, _)| not_comparable(view, first, cell).is_none());
        cells.sort_by(|a, b| a.1.total_cmp(&b.1));
        cells
    });
    sweeps.filter(|sweep| sweep.len() > 1).collect()
}

/// Finds the knee: the smallest batch size whose median throughput is at least `1 − tolerance` of the best.
///
/// The threshold is an interval too: `1 − tolerance` times that of the best cell. A smaller batch size is distinguished
/// from the knee if its interval ends below the threshold's; with a single run there is no interval.
///
/// Returns the knee, and the smaller batch sizes that may be the true knee, since their intervals reach the threshold.
fn knee<'s, 'v, 'a>(
    sweep: &'s Sweep<'v, 'a>,
    tolerance: f64,
) -> Option<(&'s (&'v Cell<'a>, f64), Vec<f64>)> {
    let speed = |cell: &Cell<'_>| timing_value(cell, THROUGHPUT).unwrap_or(0.0);
    let by_speed = |a: &&(&Cell<'_>, f64), b: &&(&Cell<'_>, f64)| speed(a.0).total_cmp(&speed(b.0));
    let (best, _) = sweep.iter().max_by(by_speed)?;
    let line = (1.0 - tolerance) * speed(best);
    let place = sweep.iter().position(|(cell, _)| speed(cell) >= line)?;
    let of_best = interval(best);
    let reaches = |cell: &Cell<'_>| match (interval(cell), of_best) {
        (Some(own), Some(best)) => own.high >= (1.0 - tolerance) * best.low,
        _ => true,
    };
    let also = sweep[..place].iter().filter(|(cell, _)| reaches(cell));
    Some((&sweep[place], also.map(|(_, size)| *size).collect()))
}

/// Whether `name` is the displayed name of the batch size axis.
pub(crate) fn is_axis(view: &View<'_>, name: &str) -> bool {
    let place = view.axis_called(name);
    place.is_some_and(|place| view.set.plan.axes[place].path == AXIS)
}

/// Sentences: from which batch size on throughput hardly grows, one for each sweep.
pub(crate) fn knees(view: &View<'_>) -> Vec<String> {
    let told = sweeps(view).into_iter().filter_map(|sweep| {
        let (&(cell, knee), also) = knee(&sweep, view.set.plan.knee())?;
        let cells: Vec<&Cell<'_>> = sweep.iter().map(|(cell, _)| *cell).collect();
        let which = match view.shared_name(&cells) {
            all if all == "all" => String::new(),
            cells => format!("{cells}: "),
        };
        let also: Vec<String> = also.iter().map(f64::to_string).collect();
        let also = (!also.is_empty()).then(|| first_names_text(&also, 3, ", "));
        let is_largest = sweep.last().is_some_and(|(last, _)| std::ptr::eq(*last, cell));
        let counts = cells.iter().filter_map(|cell| Some(cell.timing?.n as f64));
        let n = format!("n = {}", range_text(&counts.collect::<Vec<f64>>(), plain_number_text));
        let speed = timing(cell, THROUGHPUT)?.text_with_interval();
        Some(match (is_largest, also) {
            (true, Some(also)) => format!(
                "{which}Batch size {knee}, the largest measured ({speed}), is not shown to be faster than {also} ({n})."
            ),
            (true, None) => format!(
                "{which}Throughput still grows at batch size {knee}, the largest measured ({speed}, {n})."
            ),
            (false, also) => {
                let most = plain_number_text(view.set.plan.knee() * 100.0);
                let also = also.map(|also| format!("; {also} is not distinguishable from it"));
                format!(
                    "{which}Beyond batch size {knee} ({speed}), larger measured sizes bring at most {most} % more ({n}){}.",
                    also.unwrap_or_default()
                )
            }
        })
    });
    told.collect()
}

/// The interval of the throughput; `None` for a single run.
fn interval(cell: &Cell<'_>) -> Option<Interval> {
    let found = cell.timing?.values.get("samples_per_s")?;
    (found.kind != IntervalKind::Single).then_some(*found)
}
