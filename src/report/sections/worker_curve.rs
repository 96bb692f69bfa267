//! What loader workers bring and what they cost: waiting saved against threads started and stopped.

use serde_json::Value;

use crate::base::statistics::median;
use crate::base::text::count;
use crate::base::units::{human, human_seconds};
use crate::event::RunFacts;
use crate::report::section::Section;
use crate::report::view::{Cell, View};

use super::difference::part;
use super::speed::{THROUGHPUT, middle, timing_value};
use super::sweep::{Sweep, interval, sweeps};

/// Axis that is swept.
pub(crate) const AXIS: &str = "loader.workers";
/// Axes that set nothing without loader workers: a cell without them stands beside all of their values.
pub(crate) const IDLE: [&str; 2] = ["loader.persistent", "loader.prefetch"];

/// A verdict for each number of workers against the fewest of its curve.
pub(crate) fn judged(view: &View<'_>) -> Section {
    let found = sweeps(view, AXIS, &IDLE);
    if found.is_empty() {
        return Section::default();
    }
    let mut told: Vec<String> = found
        .iter()
        .flat_map(|sweep| verdicts(view, sweep))
        .collect();
    if told.is_empty() {
        told.push("No two measured cells differ in the number of workers only.".to_owned());
    }
    let apart: usize = found.iter().map(|sweep| sweep.apart.len()).sum();
    if apart > 0 {
        let cells = count(apart, "cell");
        told.push(format!(
            "Not comparable, as measured with other code or elsewhere: {cells}."
        ));
    }
    let rule = "Throughput is called higher or lower only where the intervals of the medians do not overlap.";
    Section {
        rule: rule.to_owned(),
        ..Section::titled("section-workers", "Loader workers").saying(told)
    }
}

/// Milliseconds that an epoch waited.
fn waited_ms(cell: &Cell<'_>) -> Option<f64> {
    let epochs = epochs(cell).filter(|epochs| *epochs > 0.0)?;
    Some(timing_value(cell, "loader_wait_s")? * 1e3 / epochs)
}

fn start_and_stop_ms(cell: &Cell<'_>) -> Option<f64> {
    let both = cell
        .times()
        .map(|times| times.loader.start_ms + times.loader.stop_ms);
    median(&both.collect::<Vec<f64>>())
}

fn epochs(cell: &Cell<'_>) -> Option<f64> {
    let epochs = cell.facts().map(|facts: &RunFacts| facts.epochs as f64);
    median(&epochs.collect::<Vec<f64>>())
}

/// How often the workers of a run were started: none at all, once, or each epoch.
fn starts(view: &View<'_>, cell: &Cell<'_>) -> Option<f64> {
    match part(view, cell, "loader.workers")?.as_u64()? {
        0 => Some(0.0),
        _ if part(view, cell, "loader.persistent") == Some(&Value::Bool(true)) => Some(1.0),
        _ => epochs(cell),
    }
}

/// One sentence for each number of workers against the fewest.
fn verdicts(view: &View<'_>, sweep: &Sweep<'_, '_>) -> Vec<String> {
    let Some(((base, _), others)) = sweep.cells.split_first() else {
        return Vec::new();
    };
    let sentences = others.iter().filter_map(|(cell, _)| {
        let ratio = middle(cell, THROUGHPUT)? / middle(base, THROUGHPUT)?;
        Some(format!(
            "{}: {}× the throughput of {} ({} at {}).{}",
            view.name(cell, None),
            human(ratio, 3),
            view.name(base, None),
            direction(cell, base),
            sweep.n(),
            break_even(view, cell, base).unwrap_or_default(),
        ))
    });
    sentences.collect()
}

fn direction(cell: &Cell<'_>, base: &Cell<'_>) -> &'static str {
    match (interval(cell), interval(base)) {
        (Some(own), Some(other)) if own.low > other.high => "higher: the intervals do not overlap",
        (Some(own), Some(other)) if own.high < other.low => "lower: the intervals do not overlap",
        (Some(_), Some(_)) => "not told apart: the intervals overlap",
        _ => "not told apart: one run has no interval",
    }
}

/// What they saved against what starting and stopping them took, an epoch.
fn break_even(view: &View<'_>, cell: &Cell<'_>, base: &Cell<'_>) -> Option<String> {
    let (before, after) = (waited_ms(base)?, waited_ms(cell)?);
    let (starts, epochs) = (starts(view, cell)?, epochs(cell)?.max(1.0));
    let cost = start_and_stop_ms(cell)? * starts / epochs;
    let change = if after > before { "longer" } else { "less" };
    Some(format!(
        " An epoch waited {} {change} ({} → {}); starting and stopping the workers took {}.",
        human_seconds((before - after).abs() / 1e3),
        human_seconds(before / 1e3),
        human_seconds(after / 1e3),
        human_seconds(cost / 1e3),
    ))
}
