//! What loader workers bring and what they cost: waiting saved against threads started and stopped.

use serde_json::Value;

use crate::base::statistics::median;
use crate::base::units::{human, human_seconds};
use crate::event::{RunFacts, RunTimes};
use crate::report::judged::{Judged, plain};
use crate::report::number::{Number, Provenance};
use crate::report::table::{Column, Entry, Row, Table, spread_entry};
use crate::report::view::{Cell, View};

use super::speed::{throughput, timing};
use super::sweep::{Sweep, columns, in_words, interval, rows_once, sweeps};

/// The table of every worker curve, with a verdict for each number of workers against none.
pub(crate) fn judged(view: &View<'_>) -> Judged {
    let found = sweeps(
        view,
        "loader.workers",
        &["loader.persistent", "loader.prefetch"],
    );
    let rows = rows_once(found.iter().flat_map(|sweep| rows(view, sweep)));
    let verdicts = found.iter().flat_map(|sweep| verdicts(view, sweep));
    let mut verdicts: Vec<String> = verdicts.collect();
    if verdicts.is_empty() {
        verdicts.push("No two measured cells differ in the number of workers only.".to_owned());
    }
    let about = "Cells that differ in the number of workers only. Waited and worked are sums over a run; work is summed \
                 over the workers and was hidden behind training where nobody waited."
        .to_owned();
    let table = Table::of_rows(
        ("workers", "Loader workers", about),
        own_columns(view),
        rows,
    );
    let rule = "Workers pay where the waiting that they save an epoch is more than their start and stop take; throughput \
                is called higher or lower only where the intervals of the medians do not overlap.";
    Judged::new(table, rule, verdicts)
}

fn own_columns(view: &View<'_>) -> Vec<Column> {
    let median = Provenance::Measured("median of n runs".into());
    let measured = |heading: &str, unit: &str| Column::number(heading, unit, &median);
    let derived = |heading: &str, unit: &str, formula: &str| {
        Column::number(heading, unit, &Provenance::Derived(formula.to_owned()))
    };
    columns(
        view,
        vec![
            measured("throughput", "samples/s"),
            derived(
                "against fewest",
                "",
                "throughput ÷ that of the fewest workers",
            ),
            measured("waited", "s"),
            measured("worked", "s"),
            derived("waited, of training", "%", "waited ÷ training time"),
            derived("waited, an epoch", "ms", "waited ÷ epochs"),
            measured("start of workers", "ms"),
            measured("stop of workers", "ms"),
            derived("starts", "", "1 where workers persist, else epochs"),
            derived("start and stop, whole run", "ms", "(start + stop) × starts"),
        ],
    )
}

fn rows(view: &View<'_>, sweep: &Sweep<'_, '_>) -> Vec<Row> {
    let base = sweep.cells.first().and_then(|(cell, _)| throughput(cell));
    sweep.rows(view, |cell| {
        let speed = throughput(cell);
        let ratio = speed.as_ref().zip(base.as_ref());
        let ratio = ratio.map(|(own, base)| Number::ratio(own.value / base.value, ""));
        let ms = |value: Option<f64>| Entry::shown(value, |ms| human(ms, 3));
        let starts = starts(view, cell);
        vec![
            Entry::number(speed.as_ref()),
            Entry::number(ratio.as_ref()),
            Entry::number(timing(cell, "loader_wait_s").as_ref()),
            Entry::number(timing(cell, "loader_work_s").as_ref()),
            Entry::shown(waited_share(cell), |share| human(share, 2)),
            ms(waited_ms(cell)),
            of_runs(cell, |times| times.loader.start_ms),
            of_runs(cell, |times| times.loader.stop_ms),
            Entry::shown(starts, plain),
            ms(starts.and_then(|starts| Some(starts * start_and_stop_ms(cell)?))),
        ]
    })
}

/// Percent of training that waited.
fn waited_share(cell: &Cell<'_>) -> Option<f64> {
    let train = timing(cell, "train_s").filter(|train| train.value > 0.0)?;
    Some(timing(cell, "loader_wait_s")?.value / train.value * 100.0)
}

/// Milliseconds that an epoch waited.
fn waited_ms(cell: &Cell<'_>) -> Option<f64> {
    let epochs = epochs(cell).filter(|epochs| *epochs > 0.0)?;
    Some(timing(cell, "loader_wait_s")?.value * 1e3 / epochs)
}

fn start_and_stop_ms(cell: &Cell<'_>) -> Option<f64> {
    over_runs(cell, |times| times.loader.start_ms + times.loader.stop_ms)
}

/// Milliseconds of each run: their median with their range.
fn of_runs(cell: &Cell<'_>, get: fn(&RunTimes) -> f64) -> Entry {
    let times = cell.counted.iter().filter_map(|run| run.times.as_ref());
    spread_entry(&times.map(get).collect::<Vec<f64>>(), |ms| human(ms, 3))
}

fn over_runs(cell: &Cell<'_>, get: fn(&RunTimes) -> f64) -> Option<f64> {
    let times = cell.counted.iter().filter_map(|run| run.times.as_ref());
    median(&times.map(get).collect::<Vec<f64>>())
}

fn epochs(cell: &Cell<'_>) -> Option<f64> {
    let facts = cell.runs.iter().filter_map(|row| row.facts.as_ref());
    median(
        &facts
            .map(|facts: &RunFacts| facts.epochs as f64)
            .collect::<Vec<_>>(),
    )
}

/// How often the workers of a run were started: none at all, once, or each epoch.
fn starts(view: &View<'_>, cell: &Cell<'_>) -> Option<f64> {
    let loader = view.section(cell, "loader")?;
    let is_persistent = loader.get("persistent").and_then(Value::as_bool);
    match loader.get("workers").and_then(Value::as_u64)? {
        0 => Some(0.0),
        _ if is_persistent == Some(true) => Some(1.0),
        _ => epochs(cell),
    }
}

/// One sentence for each number of workers against the fewest.
fn verdicts(view: &View<'_>, sweep: &Sweep<'_, '_>) -> Vec<String> {
    let Some(((base, _), others)) = sweep.cells.split_first() else {
        return Vec::new();
    };
    let sentences = others.iter().filter_map(|(cell, _)| {
        let ratio = throughput(cell)?.value / throughput(base)?.value;
        Some(format!(
            "{}: {}× the throughput of {}, {} against {} ({} at {}).{}",
            view.name(cell, None),
            human(ratio, 3),
            view.name(base, None),
            in_words(cell, "samples_per_s"),
            in_words(base, "samples_per_s"),
            direction(cell, base),
            sweep.n(),
            break_even(view, cell, base).unwrap_or_default(),
        ))
    });
    sentences.collect()
}

fn direction(cell: &Cell<'_>, base: &Cell<'_>) -> &'static str {
    match (
        interval(cell, "samples_per_s"),
        interval(base, "samples_per_s"),
    ) {
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
    let share = |cell: &Cell<'_>| human(waited_share(cell).unwrap_or(0.0), 2);
    let change = if after > before { "longer" } else { "less" };
    let pays = if before - after > cost {
        "above break-even"
    } else {
        "below break-even"
    };
    Some(format!(
        " An epoch waited {} {change} ({} → {}, of training {} % → {} %); starting and stopping the workers took {} an \
         epoch: {pays}.",
        human_seconds((before - after).abs() / 1e3),
        human_seconds(before / 1e3),
        human_seconds(after / 1e3),
        share(base),
        share(cell),
        human_seconds(cost / 1e3),
    ))
}
