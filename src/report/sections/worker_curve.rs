//! The effect of loader workers per epoch: less time waiting for data, and time to start and stop the threads.

use serde_json::Value;

use crate::base::statistics::median;
use crate::base::units::human;
use crate::event::RunFacts;
use crate::report::answer::axis_effect_sentences;
use crate::report::section::Section;
use crate::report::table::Entry;
use crate::report::view::{Cell, View};

use super::difference::part;
use super::field::{self, CellColumn};
use crate::report::timing::timing_value;

/// Dotted path of the axis whose values are numbers of loader workers.
const AXIS: &str = "loader.workers";

/// The section on loader workers; empty if their number is not an axis.
pub(crate) fn section(view: &View<'_>) -> Section {
    let mut axes = view.set.plan.axes.iter();
    let Some(axis) = axes.find(|axis| axis.path == AXIS) else {
        return Section::default();
    };
    let mut told = axis_effect_sentences(view, &axis.name, false);
    if told.is_empty() {
        told.push("No two measured cells differ in the number of workers only.".to_owned());
    }
    let ms = |value| Entry::shown(value, |ms| human(ms, 3));
    let waited = "waiting of a run ÷ epochs";
    let cost = "starting and stopping of all workers × starts of a run ÷ epochs";
    let fields = [
        CellColumn::derived("waited for data", "ms", waited, |cell| ms(waited_ms(cell))),
        CellColumn::derived("starting and stopping workers", "ms", cost, |cell| {
            ms(start_and_stop_ms(view, cell))
        }),
    ];
    let about = "Per epoch, medians over the runs of a cell: time waited for data, and time to start and stop workers.";
    let head = ("workers", "Loader workers", about.to_owned());
    let table = field::of_cells(view, head, &fields, |cell| waited_ms(cell).is_some());
    Section::table(table).with_sentences(told)
}

fn waited_ms(cell: &Cell<'_>) -> Option<f64> {
    let epochs = epochs(cell).filter(|epochs| *epochs > 0.0)?;
    Some(timing_value(cell, "loader_wait_s")? * 1e3 / epochs)
}

fn start_and_stop_ms(view: &View<'_>, cell: &Cell<'_>) -> Option<f64> {
    let both = cell
        .times()
        .map(|times| times.loader.start_ms + times.loader.stop_ms);
    let both = median(&both.collect::<Vec<f64>>())?;
    Some(both * starts(view, cell)? / epochs(cell)?.max(1.0))
}

fn epochs(cell: &Cell<'_>) -> Option<f64> {
    let epochs = cell.facts().map(|facts: &RunFacts| facts.epochs as f64);
    median(&epochs.collect::<Vec<f64>>())
}

/// How many times the workers of a run are started: 0 without workers, once if they are persistent, else once per
/// epoch; `None` if unknown.
fn starts(view: &View<'_>, cell: &Cell<'_>) -> Option<f64> {
    match part(view, cell, AXIS)?.as_u64()? {
        0 => Some(0.0),
        _ if part(view, cell, "loader.persistent") == Some(&Value::Bool(true)) => Some(1.0),
        _ => epochs(cell),
    }
}
