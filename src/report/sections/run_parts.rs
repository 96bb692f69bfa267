//! Parts of a run's wall time in percent (startup, training, validation …), with the residual.

use crate::base::statistics::mean;
use crate::base::units::human;
use crate::event::RunTimes;
use crate::report::clock::wall_s;
use crate::report::number::{fixed, round_to_sum_100};
use crate::report::table::{Column, Entry, Table};
use crate::report::view::{Cell, View};
use crate::results::BlockRow;

use super::field;

/// Smallest percentage of a part that still counts as 0: clocks are rounded.
const ROUNDING: f64 = -0.05;

/// Names of the parts of a run; the last is the residual.
const PARTS: [&str; 6] = [
    "start-up",
    "measured steps",
    "warm-up, loader start and stop",
    "validation and evaluation",
    "costly evaluation",
    "process, checkpoints, the rest",
];

/// Name of the third of [`PARTS`] for PyTorch programs that Fieldtrial observes: it profiles some of their ordinary
/// steps.
const OBSERVED: &str = "steps left out of means (first, profiled), loader start";

/// The table of shares; `None` if no parts are known.
pub(crate) fn table(view: &View<'_>) -> Option<Table> {
    let all: Vec<(f64, Vec<f64>)> = view.cells.iter().filter_map(parts).collect();
    let is_there = |&place: &usize| {
        place + 1 == PARTS.len() || all.iter().any(|(_, shares)| shares[place] > 0.0)
    };
    let places: Vec<usize> = (0..PARTS.len()).filter(is_there).collect();
    let mut columns = vec![Column::measured("run", "s", "mean of n runs")];
    let is_observed = view
        .cells
        .iter()
        .any(|cell| cell.times().any(|times| times.is_observed));
    let name = |place: usize| match place {
        2 if is_observed => OBSERVED,
        _ => PARTS[place],
    };
    let share = |&place: &usize| Column::share(name(place), "part ÷ run");
    columns.extend(places.iter().map(share));
    Column::mark_last_as_residual(&mut columns);
    let about = "Means over the runs of a cell, costly evaluation in the first block only.";
    let head = ("run-parts", "Where a run’s time went", about.to_owned());
    let table = field::of_each_cell(view, head, columns, |cell| {
        let (seconds, shares) = parts(cell)?;
        let percent = |&place: &usize| Entry::value(shares[place], fixed(shares[place], 1));
        let run = Entry::value(seconds, human(seconds, 3));
        Some(
            [run]
                .into_iter()
                .chain(places.iter().map(percent))
                .collect(),
        )
    });
    (!all.is_empty()).then_some(table)
}

/// Seconds of a cell's mean run, and the percentage of each of [`PARTS`]; `None` if unknown.
fn parts(cell: &Cell<'_>) -> Option<(f64, Vec<f64>)> {
    let runs = cell.counted.iter();
    let times = runs.filter_map(|run| Some((*run, run.times.as_deref()?)));
    // The parts of a command's time are unknown.
    let times: Vec<_> = times.filter(|(_, times)| !times.is_of_command()).collect();
    let over = |get: fn(&BlockRow, &RunTimes) -> f64| {
        mean(
            &times
                .iter()
                .map(|(run, times)| get(run, times))
                .collect::<Vec<f64>>(),
        )
    };
    let whole = over(|run, _| wall_s(run).unwrap_or_default())?;
    let steps = over(|_, times| {
        times.measured_steps.unwrap_or_default() as f64 * times.step_mean_ms / 1e3
    })?;
    let mut seconds = vec![
        over(|_, times| times.startup_s)?,
        steps,
        over(|_, times| times.train_s)? - steps,
        over(|_, times| times.validation_s)?,
        over(|_, times| times.assessment_s.unwrap_or(0.0))?,
    ];
    seconds.push(whole - seconds.iter().sum::<f64>());
    let exact: Vec<f64> = seconds.iter().map(|part| part / whole * 100.0).collect();
    // Parts that sum to more than the run cannot be right.
    let fits = exact.iter().all(|share| *share >= ROUNDING);
    fits.then(|| (whole, round_to_sum_100(&exact)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::golden::ddpm;

    #[test]
    fn shares_are_of_the_run_that_its_parent_saw_and_sum_to_a_hundred() {
        let set = ddpm();
        let view = View::of(&set);
        let mut cells = view.measured();
        let cell = cells.find(|cell| parts(cell).is_some()).expect("a cell");
        let walls: Vec<f64> = cell.counted.iter().filter_map(|run| run.wall_s).collect();
        let (seconds, shares) = parts(cell).expect("times");
        assert!((seconds - walls.iter().sum::<f64>() / walls.len() as f64).abs() < 1e-12);
        assert!(
            (shares.iter().sum::<f64>() - 100.0).abs() < 1e-9,
            "{shares:?}"
        );
    }

    #[test]
    fn a_part_that_no_cell_has_is_no_column() {
        let mut set = ddpm();
        let columns = |set: &_| table(&View::of(set)).expect("a table").columns.len();
        let without = columns(&set);
        set.change_times(|_, times| times.assessment_s = Some(2.0));
        assert_eq!(columns(&set), without + 1);
    }
}
