//! Where a step's time goes: exclusive shares of one denominator, with the residual, that sum to 100 %.

use crate::base::statistics::mean;
use crate::base::units::human;
use crate::event::{PhaseTimes, RunTimes};
use crate::report::number::{Provenance, fixed, to_hundred};
use crate::report::section::Section;
use crate::report::table::{Column, Entry, Table};
use crate::report::view::{Cell, View};

use super::bottleneck;

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

/// A step of a cell, mean over its runs, in the phases of [`PHASES`] and their residual.
pub(crate) struct Breakdown {
    /// Milliseconds of the step.
    pub(crate) step_ms: f64,
    /// Percent of each part, the residual last; as shown they sum to 100.0.
    pub(crate) shares: Vec<f64>,
}

/// Names of the parts of a [`Breakdown`].
pub(crate) fn names() -> Vec<&'static str> {
    let phases = PHASES.iter().map(|(name, _)| *name);
    phases.chain(["other"]).collect()
}

/// Percent of the step by which the phases of a run may miss it.
const MISSED: f64 = 1.0;

/// Percent of the step that a cell's phases sum to, where in some run that is not the step: shares of them would say
/// nothing.
pub(crate) fn not_the_step(cell: &Cell<'_>) -> Option<f64> {
    let sums = cell.times().map(|times| {
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
    let over_runs =
        |get: &dyn Fn(&RunTimes) -> f64| mean(&cell.times().map(get).collect::<Vec<f64>>());
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

/// Places of the phases that some cell has; the residual is always among them.
pub(crate) fn present(view: &View<'_>) -> Vec<usize> {
    let all: Vec<Breakdown> = view.cells.iter().filter_map(breakdown).collect();
    let is_there =
        |&place: &usize| place == PHASES.len() || all.iter().any(|found| found.shares[place] > 0.0);
    (0..=PHASES.len()).filter(is_there).collect()
}

/// The table of shares, and what bounds the steps.
pub(crate) fn judged(view: &View<'_>) -> Section {
    let how = Provenance::Measured("mean over steps and runs".into());
    let (names, present) = (names(), present(view));
    let mut columns = vec![Column::text("bound by")];
    columns.push(Column::number("step, mean", "ms", &how));
    let share = |&place: &usize| Column::share(names[place], "phase ÷ step");
    columns.extend(present.iter().map(share));
    Column::last_is_residual(&mut columns);
    let numbers = columns.len() - 1;
    let about = "Shares of the mean step; “other” is what the named phases leave.";
    let head = ("phases", "Phases of a step", about.to_owned());
    let table = Table::of_cells(view, head, columns, |cell| {
        if cell.is_measured() && not_the_step(cell).is_some() {
            let words = [Entry::text("–")].into_iter();
            let unknown = std::iter::repeat_n(Entry::text("unknown"), numbers);
            return Some(words.chain(unknown).collect());
        }
        let found = breakdown(cell)?;
        let [bound_by, _] = bottleneck::words(&found);
        let mut fields = vec![Entry::text(bound_by)];
        fields.push(Entry::value(found.step_ms, human(found.step_ms, 4)));
        let percent = |share: f64| Entry::value(share, fixed(share, 1));
        fields.extend(present.iter().map(|&place| percent(found.shares[place])));
        Some(fields)
    });
    Section::judged(table, bottleneck::rule(), bottleneck::verdicts(view))
}
