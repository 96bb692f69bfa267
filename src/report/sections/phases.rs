//! Where a step's time goes: exclusive shares of one denominator, with the residual, that sum to 100 %.

use crate::base::statistics::mean;
use crate::base::units::human;
use crate::event::{PhaseTimes, RunTimes};
use crate::report::number::{Provenance, fixed, to_hundred};
use crate::report::table::{Column, Entry, Table};
use crate::report::view::{Cell, View};

/// The name of a phase, and its milliseconds.
type Phase = (&'static str, fn(&PhaseTimes) -> f64);

/// The phases but the residual, in the order of a step.
pub(crate) const PHASES: [Phase; 6] = [
    ("data wait", |phases| phases.data_wait_ms),
    ("transfer", |phases| phases.transfer_ms),
    ("forward", |phases| phases.forward_ms),
    ("loss", |phases| phases.loss_ms),
    ("backward", |phases| phases.backward_ms),
    ("optimizer", |phases| phases.optimizer_ms),
];

/// The column of `timings.csv` with the time of a phase, or of `other`.
pub(crate) fn column(phase: &str) -> String {
    format!("{}_ms", phase.replace(' ', "_"))
}

/// A step of a cell: mean over its runs.
pub(crate) struct Breakdown {
    /// Milliseconds of the step.
    pub(crate) step_ms: f64,
    /// Percent of each phase of [`PHASES`], then of the residual; as shown they sum to 100.0.
    pub(crate) shares: Vec<f64>,
}

/// Percent of the step by which the phases of a run may miss it.
const MISSED: f64 = 1.0;

/// Percent of the step that a cell's phases sum to, where in some run that is not the step: shares of them would say
/// nothing.
pub(crate) fn not_the_step(cell: &Cell<'_>) -> Option<f64> {
    let times = cell.counted.iter().filter_map(|run| run.times.as_ref());
    let sums = times.map(|times| {
        let named: f64 = PHASES.iter().map(|(_, phase)| phase(&times.phases)).sum();
        (named + times.phases.other_ms) / times.phase_step_ms() * 100.0
    });
    let is_off = |sum: &f64| !(100.0 - MISSED..=100.0 + MISSED).contains(sum);
    sums.into_iter().find(is_off)
}

/// Returns the breakdown of a cell; `None` where it was not measured, or where its phases are not its step.
pub(crate) fn breakdown(cell: &Cell<'_>) -> Option<Breakdown> {
    if !cell.is_measured() || not_the_step(cell).is_some() {
        return None;
    }
    let over_runs = |get: &dyn Fn(&RunTimes) -> f64| {
        let times = cell.counted.iter().filter_map(|run| run.times.as_ref());
        mean(&times.map(get).collect::<Vec<f64>>())
    };
    let step_ms = over_runs(&RunTimes::phase_step_ms).filter(|step| *step > 0.0)?;
    let mut exact = Vec::new();
    for (_, phase) in PHASES {
        exact.push(over_runs(&|times| phase(&times.phases))? / step_ms * 100.0);
    }
    // The residual is what the named phases leave, so that the whole is the step and nothing else.
    exact.push(100.0 - exact.iter().sum::<f64>());
    Some(Breakdown {
        step_ms,
        shares: to_hundred(&exact),
    })
}

/// Names of the phases that some cell has, with their places; the residual is always among them.
pub(crate) fn present(view: &View<'_>) -> Vec<(usize, &'static str)> {
    let measured: Vec<Breakdown> = view.cells.iter().filter_map(breakdown).collect();
    let names = PHASES.iter().map(|(name, _)| *name).chain(["other"]);
    names
        .enumerate()
        .filter(|&(place, _)| {
            place == PHASES.len() || measured.iter().any(|found| found.shares[place] > 0.0)
        })
        .collect()
}

/// The table of shares.
pub(crate) fn table(view: &View<'_>) -> Table {
    let how = Provenance::Measured("mean over steps and runs".into());
    let phases = present(view);
    let mut columns = vec![Column::number("step, mean", "ms", &how)];
    columns.extend(
        phases
            .iter()
            .map(|(_, name)| Column::share(name, "phase ÷ step")),
    );
    Column::last_is_residual(&mut columns);
    columns.push(Column::number(
        "sum",
        "%",
        &Provenance::Derived("sum of the shares".into()),
    ));
    let absent: Vec<&str> = PHASES
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !phases.iter().any(|(_, there)| there == name))
        .collect();
    let absent = if absent.is_empty() {
        String::new()
    } else {
        format!(" Below 0.05 % in every cell: {}.", absent.join(", "))
    };
    let about = format!(
        "Exclusive shares of the mean step; “other” is the step less all named phases.{absent}"
    );
    Table::of_cells(
        view,
        ("phases", "Phases of a step", about),
        columns,
        |cell| {
            if cell.is_measured() && not_the_step(cell).is_some() {
                return Some(vec![Entry::text("unknown"); phases.len() + 2]);
            }
            let found = breakdown(cell)?;
            let mut fields = vec![Entry::value(found.step_ms, human(found.step_ms, 4))];
            let shown = phases.iter().map(|&(place, _)| found.shares[place]);
            fields.extend(shown.map(|share| Entry::value(share, fixed(share, 1))));
            fields.push(Entry::shown(Some(found.shares.iter().sum()), |sum| {
                fixed(sum, 1)
            }));
            Some(fields)
        },
    )
}
