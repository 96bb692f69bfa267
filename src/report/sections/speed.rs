//! Throughput, step and epoch times, with intervals over runs.

use crate::base::units::human;
use crate::plan::UntilSpec;
use crate::report::number::{Number, interval_name};
use crate::report::table::{Column, Entry, Table};
use crate::report::view::{Cell, View};
use crate::results::{Interval, IntervalKind, fixed_unit};

use super::field::{self, OfCell};
use super::memory::MIB;
use super::ranking;

/// The table of times.
pub(crate) fn table(view: &View<'_>) -> Table {
    let mut about = format!("Medians over the runs of a cell; {}.", below(view));
    let mut fields = vec![OfCell::n()];
    let timed = TIMES.map(|(heading, column)| OfCell::timed(heading, column));
    fields.extend(timed);
    // Nothing smaller is known of commands.
    if view
        .measured()
        .any(|cell| timing_value(cell, THROUGHPUT).is_none())
    {
        fields.push(OfCell::timed("run", "total_s"));
    }
    let mut measured = view.measured();
    if measured.clone().any(|cell| cut(view, cell).is_some()) {
        let formula = "steps of a whole epoch × mean step, a fit of one constant to the runs, with its interval";
        let column = Column::extrapolated("whole epoch, ", "s", formula.to_owned());
        fields.push(OfCell::new(column, |cell| whole_epoch(view, cell)));
        about.push_str(EXTRAPOLATED);
        // If no epoch was whole, every field of the column would be a dash.
        if measured.all(|cell| timing_value(cell, "epoch_s").is_none()) {
            fields.remove(EPOCH);
        }
    }
    let (speed_up, against) = ranking::speed_up(view);
    fields.extend(speed_up);
    about.push_str(&against);
    let head = ("speed", "Speed", about);
    field::of_cells(view, head, &fields, Cell::is_measured)
}

/// Column of the throughput.
pub(crate) const THROUGHPUT: &str = "samples_per_s";

/// Times of the table, by heading and column of `timings.csv`.
const TIMES: [(&str, &str); 3] = [
    ("throughput", THROUGHPUT),
    ("step, median", "step_ms"),
    ("epoch", "epoch_s"),
];
/// Place of the time of an epoch, after `n`.
const EPOCH: usize = 3;

/// Note of a table with extrapolated epochs.
const EXTRAPOLATED: &str = " Epochs were cut short (`train.steps-per-epoch`): the time of a whole one is extrapolated from \
                            the measured steps, without validation.";

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
    if timing_value(cell, STEP).is_none() || step.kind == IntervalKind::Single {
        return Entry::detailed("–", format!("{of}, no interval of the step"));
    }
    let seconds = |step_ms: f64| step_ms * all as f64 / 1e3;
    let ends = Some((seconds(step.low), seconds(step.high)));
    let epoch = Entry::between(seconds(step.median), ends, |seconds| human(seconds, 3));
    let detail = match &*epoch.detail {
        "" => format!("not measured: {of}"),
        ends => format!("{ends}; not measured: {of}"),
    };
    Entry { detail, ..epoch }
}

/// Notes below the medians.
pub(crate) fn below(view: &View<'_>) -> String {
    let (single, intervals): (Vec<&str>, Vec<&str>) = kinds(view)
        .into_iter()
        .partition(|kind| *kind == interval_name(IntervalKind::Single));
    let mut intervals = intervals.join(" or, below six runs, the ");
    if until(view).is_some() {
        intervals += ", stopped by width";
    }
    if intervals.is_empty() {
        return "each cell ran once (n = 1), so that nothing is known of their dispersion"
            .to_owned();
    }
    let alone = match single[..] {
        [] => "",
        _ => "; nothing stands below those of a single run (n = 1)",
    };
    format!("below each the {intervals}{alone}")
}

/// Until when cells were repeated, where that depended on their intervals.
pub(super) fn until(view: &View<'_>) -> Option<UntilSpec> {
    let plan = &view.set.plan;
    let measure = plan.section(plan.cells.first()?, "measure")?;
    serde_json::from_value(measure.get("until")?.clone()).ok()
}

/// Kinds of the intervals of this report.
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
    timing(cell, THROUGHPUT)
}

/// A timing as a field: `unknown` where it is not plausible.
pub(super) fn shown(cell: &Cell<'_>, column: &str) -> Entry {
    let raw = cell.timing.and_then(|row| row.values.get(column));
    let number = timing(cell, column);
    if raw.is_some() && number.is_none() {
        return Entry::text("unknown");
    }
    Entry::number(number.as_ref())
}

/// A column of bytes as an entry in MiB, with its interval below.
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
    let (interval, unit) = measured(cell, column)?;
    Some(Number::timing(interval, unit))
}

/// The median of a timing: [`timing`] without texts and interval, for computing and ordering.
pub(crate) fn timing_value(cell: &Cell<'_>, column: &str) -> Option<f64> {
    measured(cell, column).map(|(interval, _)| interval.median)
}

fn measured<'a>(cell: &Cell<'a>, column: &str) -> Option<(&'a Interval, &'static str)> {
    let row = cell.timing.filter(|_| cell.is_measured())?;
    let interval = row.values.get(column)?;
    let unit = fixed_unit(column);
    is_plausible(column, unit, interval.median).then_some((interval, unit))
}
