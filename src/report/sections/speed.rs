//! Throughput, step and epoch times, with intervals over runs.

use crate::base::units::human;
use crate::plan::UntilSpec;
use crate::report::number::interval_name;
use crate::report::table::{Column, Entry, Table};
use crate::report::timing::{THROUGHPUT, timing_entry, timing_value};
use crate::report::view::{Cell, View};
use crate::results::IntervalKind;

use super::field::{self, CellColumn, MEDIAN};
use super::ranking;

/// The table of throughput, step and epoch times, and times that programs measure.
pub(crate) fn table(view: &View<'_>) -> Table {
    let mut about = format!("Medians over the runs of a cell; {}.", interval_note(view));
    let mut fields = vec![CellColumn::run_count_column()];
    let timed = TIMES.map(|(heading, column)| CellColumn::timed(heading, column));
    fields.extend(timed);
    // For commands only the time of the whole run is known.
    if view
        .measured()
        .any(|cell| timing_value(cell, THROUGHPUT).is_none())
    {
        fields.push(CellColumn::timed("run", "total_s"));
    }
    // Times that programs measure themselves.
    let own = view.set.plan.columns.iter().filter(|column| column.is_time);
    fields.extend(own.map(|column| {
        let (name, unit) = (&*column.name, &*column.unit);
        CellColumn::measured(name, unit, MEDIAN, move |cell| timing_entry(cell, name))
    }));
    let mut measured = view.measured();
    if measured.clone().any(|cell| cut(view, cell).is_some()) {
        let formula = "steps of a whole epoch × mean step, a fit of one constant to the runs, with its interval";
        let column = Column::extrapolated("whole epoch, ", "s", formula.to_owned());
        fields.push(CellColumn::new(column, |cell| whole_epoch(view, cell)));
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

/// Times of the table, by heading and column of `timings.csv`.
const TIMES: [(&str, &str); 3] = [
    ("throughput", THROUGHPUT),
    ("step, median", "step_ms"),
    ("epoch", "epoch_s"),
];
/// Index of the column for the time of an epoch.
const EPOCH: usize = 3;

/// Note of a table with extrapolated epochs.
const EXTRAPOLATED: &str = " Epochs were cut short (`train.steps-per-epoch`): the time of a whole one is extrapolated from \
                            the measured steps, without validation.";

/// Number of steps in an epoch that was cut short, and in a whole one.
fn cut(view: &View<'_>, cell: &Cell<'_>) -> Option<(u64, u64)> {
    let trained = view.section(cell, "train")?.get("steps-per-epoch")?;
    Some((trained.as_u64()?, cell.info.whole_epoch_steps?))
}

/// The extrapolated time of a whole epoch; none for a single run, which gives no error estimate.
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

/// Explains what stands below the medians of a table: the kinds of intervals, or nothing for single runs.
pub(crate) fn interval_note(view: &View<'_>) -> String {
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
        _ => "; none for a single run (n = 1)",
    };
    format!("each with its {intervals}{alone}")
}

/// The setting `measure.until`, if cells were repeated until their intervals were narrow enough.
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
