//! Throughput against batch size, with the knee: the smallest batch size within a few percent of the best.

use crate::report::judged::{plain, some_of};
use crate::report::number::fixed;
use crate::report::section::Section;
use crate::report::view::{Cell, View};

use super::speed::{THROUGHPUT, timing_value};
use super::sweep::{self, Sweep, in_words, interval, sweeps};

/// Axis that is swept.
pub(crate) const AXIS: &str = "train.batch-size";

/// The knee of a sweep.
pub(crate) struct Knee<'v, 'a> {
    /// The cell at the knee.
    pub(crate) cell: &'v Cell<'a>,
    /// The cell with the highest throughput.
    pub(crate) best: &'v Cell<'a>,
    /// Smaller batch sizes that may be the knee as well: their intervals reach the line.
    pub(crate) also: Vec<&'v Cell<'a>>,
    /// Whether the knee's own interval reaches below the line.
    pub(crate) is_unsure: bool,
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
    let is_unsure = match (interval(cell), of_best) {
        (Some(own), Some(of_best)) => {
            cell.info.key != best.info.key && own.low < scaled(of_best.high)
        }
        _ => true,
    };
    Some(Knee {
        cell,
        best,
        also: also.filter(|cell| reaches(cell)).collect(),
        is_unsure,
    })
}

/// The knee of every batch-size curve.
pub(crate) fn judged(view: &View<'_>) -> Section {
    let found = sweeps(view, AXIS, &[]);
    let verdicts = found.iter().filter_map(|sweep| verdict(view, sweep));
    let rule = format!(
        "The knee is the smallest batch size whose median throughput is within {} % of the highest of its curve \
         (`report.knee`). Another size is told apart from it where its interval ends below that line.",
        plain(tolerance(view) * 100.0)
    );
    let none = "No two measured cells differ in batch size only.";
    let head = ("section-batch-size", "Batch size");
    sweep::judged(&found, head, (rule, verdicts.collect(), none))
}

/// Whether the axis that is called so is the batch size.
pub(crate) fn is_axis(view: &View<'_>, name: &str) -> bool {
    let mut axes = view.set.plan.axes.iter();
    axes.any(|axis| axis.is_called(name) && axis.path == AXIS)
}

/// Where a larger batch stops paying, a sentence for each curve.
pub(crate) fn knees(view: &View<'_>) -> Vec<String> {
    let told = sweeps(view, AXIS, &[]).into_iter().filter_map(|sweep| {
        let found = knee(&sweep, tolerance(view)).filter(|_| sweep.is_curve())?;
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

/// Percent of the throughput of the curve's best.
fn share_of_best(cell: &Cell<'_>, knee: &Knee<'_, '_>) -> Option<f64> {
    Some(timing_value(cell, THROUGHPUT)? / timing_value(knee.best, THROUGHPUT)? * 100.0)
}

fn verdict(view: &View<'_>, sweep: &Sweep<'_, '_>) -> Option<String> {
    if !sweep.is_curve() {
        return None;
    }
    let found = knee(sweep, tolerance(view))?;
    let size = |cell: &Cell<'_>| cell.info.axes[sweep.axis].clone();
    let (knee, best) = (size(found.cell), size(found.best));
    let share = share_of_best(found.cell, &found)?;
    let against = if knee == best {
        "the highest of the curve".to_owned()
    } else {
        let highest = in_words(found.best);
        format!("{} % of the highest, {highest} at {best}", fixed(share, 1))
    };
    let text = format!(
        "{}: the knee is at batch size {knee} with {}, {against}.",
        sweep.name(view),
        in_words(found.cell),
    );
    let largest = sweep.cells.last().map(|(cell, _)| size(cell));
    let open = if largest.as_ref() == Some(&knee) {
        " No larger size was measured, so the curve may go on."
    } else {
        ""
    };
    Some(format!("{text}{open}{}", apart(sweep, &found)))
}

/// How surely the knee is where it is.
fn apart(sweep: &Sweep<'_, '_>, found: &Knee<'_, '_>) -> String {
    let n = sweep.n();
    let size = |cell: &Cell<'_>| cell.info.axes[sweep.axis].clone();
    let names: Vec<String> = found.also.iter().map(|cell| size(cell)).collect();
    let smallest = sweep.cells.first().map(|(cell, _)| size(cell));
    let own = || format!(" At {n} its own interval does not clear the line.");
    let own = found.is_unsure.then(own).unwrap_or_default();
    let others = if smallest == Some(size(found.cell)) {
        " No smaller size was measured.".to_owned()
    } else if !names.is_empty() {
        format!(
            " Not told apart from it at {n}: {}.",
            some_of(&names, 4, "; ")
        )
    } else if found.is_unsure {
        String::new()
    } else {
        format!(" Every smaller size is told apart from it at {n}.")
    };
    others + &own
}
