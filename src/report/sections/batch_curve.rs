//! Throughput against batch size, with the knee: the smallest batch size within a few percent of the best.

use crate::report::judged::{plain, some_of};
use crate::report::view::{Cell, View};

use super::speed::{THROUGHPUT, timing_value};
use super::sweep::{Sweep, in_words, interval, sweeps};

/// Axis that is swept.
pub(crate) const AXIS: &str = "train.batch-size";

/// The knee of a sweep.
pub(crate) struct Knee<'v, 'a> {
    /// The cell at the knee.
    pub(crate) cell: &'v Cell<'a>,
    /// Smaller batch sizes that may be the knee as well: their intervals reach the line.
    pub(crate) also: Vec<&'v Cell<'a>>,
}

/// The tolerance below the best: `report.knee`.
pub(crate) fn tolerance(view: &View<'_>) -> f64 {
    let knee: Option<f64> = view.set.plan.reported("knee");
    knee.unwrap_or_else(|| crate::plan::ReportSpec::default().knee)
}

/// Finds the knee: the smallest batch size whose median throughput is at least `1 − tolerance` of the best.
///
/// The line is an interval too: `1 − tolerance` of the best cell's. A smaller batch size is told apart from the knee
/// when its own interval ends below that line; with one run there is no interval and nothing is told apart.
pub(crate) fn knee<'v, 'a>(sweep: &Sweep<'v, 'a>, tolerance: f64) -> Option<Knee<'v, 'a>> {
    let speed = |cell: &Cell<'_>| timing_value(cell, THROUGHPUT).unwrap_or(0.0);
    let by_speed = |a: &&(&Cell<'_>, f64), b: &&(&Cell<'_>, f64)| speed(a.0).total_cmp(&speed(b.0));
    let (best, _) = sweep.cells.iter().max_by(by_speed)?;
    let line = (1.0 - tolerance) * speed(best);
    let place = sweep
        .cells
        .iter()
        .position(|(cell, _)| speed(cell) >= line)?;
    let (cell, _) = sweep.cells[place];
    let of_best = interval(best);
    let scaled = |end: f64| (1.0 - tolerance) * end;
    let reaches = |cell: &Cell<'_>| match (interval(cell), of_best) {
        (Some(own), Some(best)) => own.high >= scaled(best.low),
        _ => true,
    };
    let also = sweep.cells[..place].iter().map(|(cell, _)| *cell);
    Some(Knee {
        cell,
        also: also.filter(|cell| reaches(cell)).collect(),
    })
}

/// Whether the axis that is called so is the batch size.
pub(crate) fn is_axis(view: &View<'_>, name: &str) -> bool {
    let mut axes = view.set.plan.axes.iter();
    axes.any(|axis| axis.is_called(name) && axis.path == AXIS)
}

/// Where a larger batch stops paying, a sentence for each curve.
pub(crate) fn knees(view: &View<'_>) -> Vec<String> {
    let told = sweeps(view, AXIS).into_iter().filter_map(|sweep| {
        let found = knee(&sweep, tolerance(view))?;
        let size = |cell: &Cell<'_>| cell.info.axes[sweep.axis].clone();
        let which = match sweep.name(view) {
            all if all == "all" => String::new(),
            cells => format!("{cells}: "),
        };
        let also: Vec<String> = found.also.iter().map(|cell| size(cell)).collect();
        let also = (!also.is_empty()).then(|| some_of(&also, 3, ", "));
        let largest = sweep.cells.last().map(|(cell, _)| size(cell));
        let (knee, speed, n) = (size(found.cell), in_words(found.cell), sweep.n());
        Some(match (largest.as_ref() == Some(&knee), also) {
            (true, Some(also)) => format!(
                "{which}Batch size {knee}, the largest measured ({speed}), is not shown to be faster than {also} ({n})."
            ),
            (true, None) => format!(
                "{which}Throughput still grows at batch size {knee}, the largest measured ({speed}, {n})."
            ),
            (false, also) => {
                let most = plain(tolerance(view) * 100.0);
                let also = also.map(|also| format!("; {also} is not told from it"));
                format!(
                    "{which}From batch size {knee} on ({speed}) larger ones that were measured bring at most {most} % ({n}){}.",
                    also.unwrap_or_default()
                )
            }
        })
    });
    told.collect()
}
