//! Where a step's time goes: percentages of the phases and of the residual, which sum to 100 %.

use crate::base::statistics::mean;
use crate::event::{PhaseTimes, RunTimes};
use crate::report::number::round_to_sum_100;
use crate::report::view::{Cell, View};

/// The name of a phase, and the function that returns its milliseconds.
type Phase = (&'static str, fn(&PhaseTimes) -> f64);

/// The phases without the residual, in the order of a step.
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

/// A cell's step, averaged over runs, divided into [`PHASES`] and the residual.
pub(crate) struct Breakdown {
    /// Milliseconds of the step.
    pub(crate) step_ms: f64,
    /// Percentage of each part, the residual last; rounded so that they sum to 100.0.
    pub(crate) shares: Vec<f64>,
    /// Whether each part was measured: a program may report only some phases.
    pub(crate) is_known: Vec<bool>,
}

/// Names of the parts of a [`Breakdown`].
pub(crate) fn breakdown_part_names() -> Vec<&'static str> {
    let phases = PHASES.iter().map(|(name, _)| *name);
    phases.chain(["other"]).collect()
}

/// Percent of the step by which the sum of a run's phases may differ from it.
const MISSED: f64 = 1.0;

/// The sum of a cell's phases in percent of the step, if in some run it differs from the step by more than [`MISSED`];
/// percentages would then be meaningless.
pub(crate) fn mismatched_phase_sum(cell: &Cell<'_>) -> Option<f64> {
    let sums = cell.times().map(|times| {
        let named: f64 = PHASES.iter().map(|(_, phase)| phase(&times.phases)).sum();
        (named + times.phases.other_ms) / times.phase_step_ms() * 100.0
    });
    let is_off = |sum: &f64| !(100.0 - MISSED..=100.0 + MISSED).contains(sum);
    sums.into_iter().find(is_off)
}

/// Returns the breakdown of a cell; `None` if it was not measured, or if the phases do not sum to the step.
pub(crate) fn breakdown(cell: &Cell<'_>) -> Option<Breakdown> {
    if !cell.is_measured() || mismatched_phase_sum(cell).is_some() {
        return None;
    }
    let over_runs =
        |get: &dyn Fn(&RunTimes) -> f64| mean(&cell.times().map(get).collect::<Vec<f64>>());
    let step_ms = over_runs(&RunTimes::phase_step_ms).filter(|step| *step > 0.0)?;
    let mut exact = Vec::new();
    for (_, phase) in PHASES {
        exact.push(over_runs(&|times| phase(&times.phases))? / step_ms * 100.0);
    }
    // The residual is 100 % minus the named phases, so that the whole is exactly the step.
    exact.push(100.0 - exact.iter().sum::<f64>());
    let is_told = |phase: &Phase| {
        let mut times = cell.times();
        times.any(|times| !times.are_reported_by_program() || phase.1(&times.phases) > 0.0)
    };
    let is_known: Vec<bool> = PHASES.iter().map(is_told).collect();
    // If no phase was measured, there is no breakdown: the whole step would be shown as `other`.
    is_known.contains(&true).then(|| Breakdown {
        step_ms,
        shares: round_to_sum_100(&exact),
        is_known: [is_known, vec![true]].concat(),
    })
}

/// Indices of the phases that some cell has, always including the residual.
pub(crate) fn present_phases(view: &View<'_>) -> Vec<usize> {
    let all: Vec<Breakdown> = view.cells.iter().filter_map(breakdown).collect();
    let is_there =
        |&place: &usize| place == PHASES.len() || all.iter().any(|found| found.shares[place] > 0.0);
    (0..=PHASES.len()).filter(is_there).collect()
}
