//! Throughput, step and epoch times, with intervals over runs.

use crate::report::number::{Number, Provenance, interval_name};
use crate::report::table::{Column, Entry, Table};
use crate::report::view::{Cell, View};
use crate::results::{IntervalKind, fixed_column};

/// The table of times.
pub(crate) fn table(view: &View<'_>) -> Table {
    let median = Provenance::Measured("median of n runs".into());
    let columns = vec![
        Column::number("n", "", &Provenance::Measured("runs that count".into())),
        Column::number("throughput", "samples/s", &median),
        Column::number("step", "ms", &median),
        Column::number("epoch", "s", &median),
        Column::number("training", "s", &median),
        Column::number("start-up", "s", &median),
    ];
    let about = format!("Medians over the runs of a cell; {}.", below(view));
    Table::of_cells(view, ("speed", "Speed", about), columns, |cell| {
        let n = cell.timing.filter(|_| cell.is_measured())?.n;
        let mut fields = vec![Entry::text(n.to_string())];
        let names = [
            "samples_per_s",
            "step_ms",
            "epoch_s",
            "train_s",
            "startup_s",
        ];
        fields.extend(names.map(|name| entry(cell, name)));
        Some(fields)
    })
}

/// What stands below the medians, in words.
pub(crate) fn below(view: &View<'_>) -> String {
    let (single, intervals): (Vec<&str>, Vec<&str>) = kinds(view)
        .into_iter()
        .partition(|kind| *kind == interval_name(IntervalKind::Single));
    let intervals = intervals.join(" or, below six runs, the ");
    match (intervals.is_empty(), single.is_empty()) {
        (true, _) => {
            "each cell ran once (n = 1), so that nothing is known of their dispersion".to_owned()
        }
        (_, true) => format!("below each the {intervals}"),
        _ => format!(
            "below each the {intervals}; nothing stands below those of a single run (n = 1)"
        ),
    }
}

/// What the intervals of this report are.
pub(crate) fn kinds(view: &View<'_>) -> Vec<&'static str> {
    let all = [
        IntervalKind::Bootstrap95,
        IntervalKind::Range,
        IntervalKind::Single,
    ];
    let timings = || view.cells.iter().filter_map(|cell| cell.timing);
    let has = |kind| timings().any(|row| row.values.values().any(|value| value.kind == kind));
    let found: Vec<&str> = all
        .into_iter()
        .filter(|kind| has(*kind))
        .map(interval_name)
        .collect();
    if found.is_empty() {
        vec![interval_name(IntervalKind::Range)]
    } else {
        found
    }
}

/// The throughput of a cell: the one value that headline, ranking and table show.
pub(crate) fn throughput(cell: &Cell<'_>) -> Option<Number> {
    timing(cell, "samples_per_s")
}

/// A timing as a field: `unknown` where it is not plausible.
fn entry(cell: &Cell<'_>, column: &str) -> Entry {
    let raw = cell.timing.and_then(|row| row.values.get(column));
    let number = timing(cell, column);
    if raw.is_some() && number.is_none() {
        return Entry::text("unknown");
    }
    Entry::number(number.as_ref())
}

/// A timing as a field in other words than its own, with its interval below where that is seen in them.
pub(crate) fn shown_as(cell: &Cell<'_>, column: &str, show: impl Fn(f64) -> String) -> Entry {
    let raw = cell.timing.and_then(|row| row.values.get(column));
    let Some((interval, number)) = raw.zip(timing(cell, column)) else {
        return Entry::text("–");
    };
    let ends = (show(interval.low), show(interval.high));
    let text = show(number.value);
    if ends.0 == ends.1 {
        return Entry::value(number.value, text);
    }
    Entry {
        detail: format!("{}–{}", ends.0, ends.1),
        ..Entry::value(number.value, text)
    }
}

/// Whether a timing can be one: no time and no rate is below zero; only what is left over may be.
fn is_plausible(column: &str, unit: &str, value: f64) -> bool {
    let is_never_negative = ["ms", "s", "samples/s", "bytes"].contains(&unit);
    value.is_finite() && (value >= 0.0 || !is_never_negative || column == "other_ms")
}

/// A timing of a cell, as `timings.csv` has it; `None` where it is missing or not plausible.
pub(crate) fn timing(cell: &Cell<'_>, column: &str) -> Option<Number> {
    cell.shown_once(column, || written(cell, column))
}

fn written(cell: &Cell<'_>, column: &str) -> Option<Number> {
    let row = cell.timing.filter(|_| cell.is_measured())?;
    let unit = fixed_column(column).map_or(String::new(), |column| column.unit);
    let interval = row.values.get(column)?;
    is_plausible(column, &unit, interval.median).then(|| Number::timing(interval, &unit, row.n))
}
