//! Throughput, step and epoch times, with intervals over runs.

use super::memory::MIB;
use crate::base::units::human;
use crate::report::number::{Number, Provenance, interval_name};
use crate::report::table::{Column, Entry, Table};
use crate::report::view::{Cell, View};
use crate::results::{IntervalKind, fixed_column};

/// The table of times.
pub(crate) fn table(view: &View<'_>) -> Table {
    let median = Provenance::Measured("median of n runs".into());
    let mut columns = vec![
        Column::count("n", &Provenance::Measured("runs that count".into())),
        Column::number("throughput", "samples/s", &median),
        Column::number("step", "ms", &median),
        Column::number("epoch", "s", &median),
        Column::number("training", "s", &median),
        Column::number("start-up", "s", &median),
    ];
    let mut about = format!("Medians over the runs of a cell; {}.", below(view));
    let is_cut = view.cells.iter().any(|cell| cut(view, cell).is_some());
    if is_cut {
        let formula = "steps of a whole epoch × mean step, a fit of one constant to the runs; ± to the further end of its interval";
        columns.push(Column::extrapolated(
            "whole epoch, ",
            "s",
            formula.to_owned(),
        ));
        about.push_str(EXTRAPOLATED);
    }
    Table::of_cells(view, ("speed", "Speed", about), columns, |cell| {
        let n = cell.timing.filter(|_| cell.is_measured())?.n;
        let mut fields = vec![Entry::count(n)];
        let names = [
            "samples_per_s",
            "step_ms",
            "epoch_s",
            "train_s",
            "startup_s",
        ];
        fields.extend(names.map(|name| entry(cell, name)));
        fields.extend(is_cut.then(|| whole_epoch(view, cell)));
        Some(fields)
    })
}

/// What a table with extrapolated epochs says of them.
const EXTRAPOLATED: &str = " Epochs were cut short (`train.steps-per-epoch`): the time of a whole one is extrapolated from \
                            the steps that were measured, as if all of them took as long; validation is not in it.";

/// Steps of an epoch that was cut short, and of a whole one.
fn cut(view: &View<'_>, cell: &Cell<'_>) -> Option<(u64, u64)> {
    let trained = view.section(cell, "train")?.get("steps-per-epoch")?;
    Some((trained.as_u64()?, cell.info.whole_epoch_steps?))
}

/// The extrapolated time of a whole epoch; of one run there is no error, and so no extrapolation.
fn whole_epoch(view: &View<'_>, cell: &Cell<'_>) -> Entry {
    const STEP: &str = "step_mean_ms";
    let step = cell.timing.and_then(|row| row.values.get(STEP));
    let Some(((trained, all), step)) = cut(view, cell).zip(step) else {
        return Entry::text("–");
    };
    let of = format!("{trained} of {all} steps");
    if timing(cell, STEP).is_none() || step.kind == IntervalKind::Single {
        return Entry::detailed("–", format!("{of}, no interval of the step"));
    }
    let seconds = |step_ms: f64| step_ms * all as f64 / 1e3;
    let error = (step.high - step.median).max(step.median - step.low);
    let error = human(seconds(error), 2);
    Entry {
        detail: format!("± {error}, {of}"),
        ..Entry::value(seconds(step.median), human(seconds(step.median), 3))
    }
    .within(seconds(step.low), seconds(step.high))
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

/// Bytes of a cell as a field of a column in MiB, with their interval below.
pub(crate) fn in_mib(cell: &Cell<'_>, column: &str, show: impl Fn(f64) -> String) -> Entry {
    let Some(bytes) = timing(cell, column) else {
        return Entry::text("–");
    };
    let ends = bytes.ends.map(|(low, high)| (low / MIB, high / MIB));
    Entry::between(bytes.value / MIB, ends, show)
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
