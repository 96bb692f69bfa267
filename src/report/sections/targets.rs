//! Targets of the manifest compared with measurements: met, not met, undecided, not measured.

use crate::base::units::{human, human_bytes};
use crate::event::{PhaseTimes, RunTimes};
use crate::plan::TargetSpec;
use crate::report::language::Words;
use crate::report::measure::Measure;
use crate::report::number::{Number, with_unit};
use crate::report::section::Section;
use crate::report::table::{Column, Entry, Row, Table};
use crate::report::view::{Cell, View};
use crate::results::{
    BlockRow, Interval, IntervalKind, exact_interval_over_runs, fixed_unit, value,
};

use super::machine;
use super::phases::PHASES;

/// Result of a measured value compared with its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Status {
    Met,
    NotToldApart,
    NotMet,
}

impl Status {
    fn text(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotToldApart => "undecided: its interval contains the target",
            Self::NotMet => "not met",
        }
    }
}

/// The cell that is furthest from meeting a target.
struct Worst<'v, 'a> {
    cell: &'v Cell<'a>,
    figure: Interval,
    /// Number of runs or seeds of the measured value.
    n: usize,
    status: Status,
}

/// The table of targets; `None` if the manifest has none.
pub(crate) fn targets_section(view: &View<'_>) -> Option<Section> {
    let specs: Vec<TargetSpec> = view.set.plan.report_setting("targets");
    if specs.is_empty() {
        return None;
    }
    let assumed = Words::default().assumed("from the manifest");
    let columns = vec![
        Column::text("target"),
        Column::text("figure"),
        Column::number("at least", "", &assumed),
        Column::number("at most", "", &assumed),
        Column::measured("measured", "", "median of n runs, metrics: of n seeds"),
        Column::measured("n", "", "runs or seeds that count"),
        Column::text("in cell"),
        Column::text("status"),
    ];
    let rows = specs.iter().map(|spec| row(view, spec)).collect();
    let about = "Each target with the measured cell that meets it least.".to_owned();
    let table = Table::of_rows(("targets", "Targets", about), columns, rows);
    let rule = "A target is met, or not met, where the whole interval lies on one side of it. One run has no interval: its value \
                decides.";
    Some(Section::of_table_and_rule(table, rule, Vec::new()))
}

/// The number of targets that are met, and the others, as text: "Targets: 2 of 3 met; memory: not met."
pub(crate) fn targets_summary(table: &Table) -> String {
    let rows = &table.rows;
    let status = |row: &Row| match (&row.missing, row.fields.last()) {
        (Some(_), _) | (None, None) => "not measured".to_owned(),
        (None, Some(status)) => status.text.clone(),
    };
    let met = rows.iter().filter(|row| status(row) == Status::Met.text());
    let others = rows.iter().filter(|row| status(row) != Status::Met.text());
    let others = others.map(|row| format!("; {}: {}", row.fields[0].text, status(row)));
    let (met, all) = (met.count(), rows.len());
    format!("Targets: {met} of {all} met{}.", others.collect::<String>())
}

/// The row of a target.
fn row(view: &View<'_>, spec: &TargetSpec) -> Row {
    let about: Vec<&Cell<'_>> = view
        .cells
        .iter()
        .filter(|cell| view.has_axis_values(cell, &spec.cells))
        .collect();
    let judged: Vec<Worst<'_, '_>> = about
        .iter()
        .filter_map(|cell| {
            let (figure, n) = figure(view, cell, &spec.column)?;
            let status = status(spec, &figure);
            Some(Worst {
                cell,
                figure,
                n,
                status,
            })
        })
        .collect();
    let limit = |limit| Entry::shown(limit, |limit| show(&spec.column, limit));
    let names = [&spec.name, &spec.column].map(Entry::text).into_iter();
    let fields = names.chain([spec.min, spec.max].map(limit));
    let mut row = Row::new("", fields.collect());
    let worst = judged.into_iter().max_by(|a, b| {
        let by_status = a.status.cmp(&b.status);
        by_status.then(shortfall(spec, a).total_cmp(&shortfall(spec, b)))
    });
    let Some(worst) = worst else {
        row.missing = Some(format!("not measured: {}", why_not(&about, &spec.column)));
        return row;
    };
    row.key.clone_from(&worst.cell.info.key);
    row.fields.extend([
        entry(&spec.column, &worst.figure),
        Entry::count(worst.n),
        Entry::text(view.name(worst.cell, None)),
        Entry::text(worst.status.text()),
    ]);
    row
}

fn why_not(cells: &[&Cell<'_>], column: &str) -> String {
    match cells.first() {
        None => "no cell has these values".to_owned(),
        Some(_) if cells.iter().any(|cell| cell.is_measured()) => format!("no run has `{column}`"),
        Some(cell) => cell.why_missing(),
    }
}

fn status(spec: &TargetSpec, figure: &Interval) -> Status {
    let (min, max) = (
        spec.min.unwrap_or(f64::NEG_INFINITY),
        spec.max.unwrap_or(f64::INFINITY),
    );
    if figure.low >= min && figure.high <= max {
        Status::Met
    } else if figure.high < min || figure.low > max {
        Status::NotMet
    } else {
        Status::NotToldApart
    }
}

/// Distance by which the median misses the target; negative if it is met.
fn shortfall(spec: &TargetSpec, worst: &Worst<'_, '_>) -> f64 {
    let median = worst.figure.median;
    let below = spec.min.map_or(f64::NEG_INFINITY, |min| min - median);
    let above = spec.max.map_or(f64::NEG_INFINITY, |max| median - max);
    below.max(above)
}

/// The measured value of a target's column for one cell, and its number of runs or seeds.
fn figure(view: &View<'_>, cell: &Cell<'_>, column: &str) -> Option<(Interval, usize)> {
    let measure = Measure::of(column);
    let seeds = if measure.is_per_run {
        Vec::new()
    } else {
        measure.values(cell)
    };
    if let Some(found) = exact_interval_over_runs(&cell.info.key, &seeds) {
        return Some((found, seeds.len()));
    }
    let row = cell.timing.filter(|_| cell.is_measured())?;
    let runs = cell.counted.iter();
    let found = match (row.values.get(column), column, phase_of(column)) {
        (Some(known), ..) => Some(*known),
        (_, "core_share", _) => machine::core_share(view, cell),
        (_, "memory_share", _) => machine::memory_share(view, cell),
        (_, _, phase) => {
            let of_run = |run: &&BlockRow| match phase {
                Some(phase) => share(run.times.as_deref()?, phase),
                None => value(run, column),
            };
            let values: Option<Vec<f64>> = runs.map(of_run).collect();
            exact_interval_over_runs(&cell.info.key, &values?)
        }
    };
    Some((found?, cell.counted.len()))
}

fn share(times: &RunTimes, phase: fn(&PhaseTimes) -> f64) -> Option<f64> {
    let step_ms = times.phase_step_ms();
    (step_ms > 0.0).then(|| phase(&times.phases) / step_ms)
}

/// For a column with the share of a phase: the function that returns the phase's time.
fn phase_of(column: &str) -> Option<fn(&PhaseTimes) -> f64> {
    let name = column.strip_suffix("_share")?;
    if let Some((_, phase)) = PHASES
        .iter()
        .find(|(phase, _)| phase.replace(' ', "_") == name)
    {
        return Some(*phase);
    }
    Some(match name {
        "other" => |phases| phases.other_ms,
        "compute" => {
            |phases| phases.forward_ms + phases.loss_ms + phases.backward_ms + phases.optimizer_ms
        }
        _ => return None,
    })
}

fn entry(column: &str, figure: &Interval) -> Entry {
    let unit = fixed_unit(column);
    let entry = if ["ms", "s", "samples/s"].contains(&unit) {
        // Times are rounded in timings.csv: more digits are not known.
        let number = Number::timing(figure, "");
        Entry {
            text: with_unit(&number.text, unit),
            ..Entry::number(Some(&number))
        }
    } else {
        Entry::between(figure.median, figure.ends(), |value| show(column, value))
    };
    if figure.kind == IntervalKind::Single {
        let detail = "n = 1".to_owned();
        return Entry { detail, ..entry };
    }
    entry
}

/// A value of a column as text, with its unit.
fn show(column: &str, value: f64) -> String {
    if fixed_unit(column) == "%" {
        format!("{} %", human(value, 3))
    } else if column.ends_with("_share") {
        format!("{} %", human(value * 100.0, 3))
    } else if column.ends_with("_bytes") {
        human_bytes(value.max(0.0) as u64)
    } else {
        let unit = Some(fixed_unit(column)).filter(|unit| *unit != "1");
        with_unit(&human(value, 4), unit.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::TARGET_COLUMNS;
    use crate::results::golden::ddpm;
    use crate::results::testing::assert_starts_with;

    fn judged_with(targets: &serde_json::Value) -> Section {
        let mut set = ddpm();
        set.plan.report = json!({ "targets": targets });
        targets_section(&View::of(&set)).expect("targets")
    }

    fn status_of(section: &Section) -> &str {
        &section.tables[0].rows[0]
            .fields
            .last()
            .expect("a status")
            .text
    }

    #[test]
    fn a_target_is_met_not_met_not_told_apart_or_not_measured() {
        let one = json!({"batch-size": 8, "workers": 0});
        let met = json!([{"name": "a", "column": "data_wait_share", "max": 0.15, "where": one}]);
        assert_eq!(status_of(&judged_with(&met)), "met");
        let not = json!([{"name": "a", "column": "samples_per_s", "min": 1e6}]);
        assert_eq!(status_of(&judged_with(&not)), "not met");
        let set = ddpm();
        let speed = set.timings[0].values["samples_per_s"];
        let crossed =
            json!([{"name": "a", "column": "samples_per_s", "min": speed.median, "where": one}]);
        assert!(status_of(&judged_with(&crossed)).starts_with("undecided"));
        let gpu =
            json!([{"name": "a", "column": "step_ms", "max": 5, "where": {"device": "cuda"}}]);
        let found = judged_with(&gpu);
        let missing = found.tables[0].rows[0]
            .missing
            .as_deref()
            .expect("a reason");
        assert_starts_with(missing, "not measured: not run: device");
    }

    #[test]
    fn a_figure_has_the_digits_of_its_value() {
        let mut set = ddpm();
        let key = set.plan.cells[0].key.clone();
        let golden = set.runs.iter().find(|row| row.key == key).cloned();
        let golden = golden.expect("a run");
        set.runs.retain(|row| row.key != key);
        for (seed, loss) in [0.15281, 0.23333, 0.46112].into_iter().enumerate() {
            let mut row = golden.clone();
            row.seed = seed as u64;
            row.facts.as_mut().expect("facts").best_loss = Some(loss);
            set.runs.push(row);
        }
        let view = View::of(&set);
        let shown = |column| {
            let (figure, _) = figure(&view, &view.cells[0], column).expect("a figure");
            let entry = entry(column, &figure);
            (entry.text, entry.detail)
        };
        let loss = shown("best_loss");
        assert_eq!(loss, ("0.2333".into(), "0.1528–0.4611".into()));
        // Stored times are rounded, and no zeros are added when they are shown.
        let step = crate::report::timing::timing(&view.cells[0], "step_ms").expect("a time");
        assert_eq!(shown("step_ms").0, format!("{} ms", step.text));
    }

    #[test]
    fn every_column_that_a_manifest_may_name_has_a_figure() {
        let mut set = ddpm();
        set.change_times(|_, times| {
            times.observer_ratio = Some(1.01);
            times.assessment_s = Some(1.0);
            times.checkpoint_bytes = Some(1);
            times.log_bytes = Some(1);
            times.device_memory.peak_train_bytes = Some(1);
            times.gpu.busy_share = Some(90.0);
            times.gpu.power_w = Some(400.0);
            times.gpu.energy_j = Some(1.0);
            times.gpu.energy_j_per_epoch = Some(1.0);
            times.gpu.throttled_share = Some(0.0);
        });
        let view = View::of(&set);
        for column in TARGET_COLUMNS {
            let found = figure(&view, &view.cells[0], column);
            assert!(
                found.is_some_and(|(figure, _)| figure.median.is_finite()),
                "{column}"
            );
        }
        assert!(figure(&view, &view.cells[0], "val_loss").is_some());
        assert!(figure(&view, &view.cells[0], "val_r2").is_none());
    }
}
