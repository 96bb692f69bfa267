//! [`PrecisionTracker`]: which cells run in further blocks because the intervals of their times are still too wide
//! (`measure.until`).

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::event::{RunId, RunTimes, Status};
use crate::plan::{CellSpec, Plan, PlannedCell, UntilSpec, axis_value};
use crate::results::{MIN_RUNS_FOR_BOOTSTRAP, interval_over_runs, run_sample_ms};

/// The times so far of all cells that repeat until their interval is narrow enough, by the cells' rows in the plan.
#[derive(Debug, Default)]
pub struct PrecisionTracker {
    cells: HashMap<usize, Repeated>,
}

#[derive(Debug)]
struct Repeated {
    key: String,
    /// Number of repeats that every cell gets.
    least: usize,
    until: UntilSpec,
    /// Rows of the cells that this one is compared with (its baseline cells, or the cells whose baseline it is): they
    /// are repeated together, since only runs of the same block are compared.
    compared: Vec<usize>,
    /// Block of each run that has ended, and its milliseconds per sample; `None` if the run has no time.
    runs: Vec<(usize, Option<f64>)>,
}

impl PrecisionTracker {
    /// Starts without times, for those of `cells` that have `measure.until`. Each cell comes with its row in the plan.
    pub fn of<'a>(plan: &Plan, cells: impl IntoIterator<Item = (usize, &'a PlannedCell)>) -> Self {
        let repeated = |(row, cell): (usize, &'a PlannedCell)| {
            let until = cell.spec.measure.until?;
            Some((row, cell, until))
        };
        let repeated: Vec<_> = cells.into_iter().filter_map(repeated).collect();
        let rows = repeated.iter().map(|(row, cell, until)| {
            let cell = Repeated {
                key: cell.spec.key.clone(),
                least: cell.spec.measure.repeats,
                until: *until,
                compared: Vec::new(),
                runs: Vec::new(),
            };
            (*row, cell)
        });
        let mut all = Self {
            cells: rows.collect(),
        };
        let bases = Bases::of(plan, &repeated);
        for (row, cell, _) in &repeated {
            for base in bases.of_cell(cell).filter(|base| base != row) {
                all.compare(base, *row);
            }
        }
        all
    }

    fn compare(&mut self, one: usize, other: usize) {
        for (row, with) in [(one, other), (other, one)] {
            if let Some(cell) = self.cells.get_mut(&row) {
                cell.compared.push(with);
            }
        }
    }

    /// Adds a run that has ended.
    pub fn add(&mut self, id: RunId, spec: &CellSpec, status: Status, times: Option<&RunTimes>) {
        if let Some(cell) = self.cells.get_mut(&id.cell) {
            // Only finished and measured runs, from which the intervals in the results are computed too.
            let times = times.filter(|times| status == Status::Done && times.are_measured());
            let time = times.and_then(|times| run_sample_ms(spec, times));
            cell.runs.push((id.block, time));
        }
    }

    /// Whether run `id` is still needed, given the times of the blocks before its own.
    pub fn needs(&self, id: RunId) -> bool {
        self.cells.get(&id.cell).is_none_or(|cell| {
            let mut others = cell.compared.iter().filter_map(|row| self.cells.get(row));
            id.block < cell.least
                || cell.is_wide(id.block)
                || others.any(|other| other.is_wide(id.block))
        })
    }
}

impl Repeated {
    /// Whether the interval of the median over the runs before `block` is wider than `measure.until` allows; false for
    /// a cell whose runs all failed.
    fn is_wide(&self, block: usize) -> bool {
        let before = self.runs.iter().filter(|(of, _)| *of < block);
        let times: Vec<f64> = before.clone().filter_map(|(_, time)| *time).collect();
        if times.is_empty() {
            return before.count() == 0;
        }
        let interval = interval_over_runs(&self.key, &times);
        times.len() < MIN_RUNS_FOR_BOOTSTRAP
            || interval.is_some_and(|found| {
                found.high - found.low > self.until.relative_width * found.median
            })
    }
}

/// The baseline cells: those that `report.baseline` names, else those with the baseline value of the treatment.
struct Bases {
    /// Index of the treatment's axis, on which a cell and its baseline cell differ.
    treatment: Option<usize>,
    /// Rows of the baseline cells, by their axis values without the treatment's; without a treatment, by an empty list.
    rows: HashMap<Vec<Arc<str>>, Vec<usize>>,
}

impl Bases {
    fn of(plan: &Plan, cells: &[(usize, &PlannedCell, UntilSpec)]) -> Self {
        let place = |name: &str| plan.axes.iter().position(|axis| axis.is_called(name));
        let text = |value: &Value| {
            value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned)
        };
        let named = plan.report.baseline.iter().flatten();
        let mut wanted: Vec<_> = named
            .map(|(name, value)| (place(name), text(value)))
            .collect();
        let treatment = plan.compare.treatment.as_deref().and_then(place);
        let treatment = treatment.filter(|_| wanted.is_empty());
        if let Some(axis) = treatment.map(|at| &plan.axes[at]) {
            let first = axis
                .values
                .first()
                .map(|value| axis_value(value).into_owned());
            let value = plan.compare.baseline.clone().or(first);
            wanted.extend(value.map(|value| (treatment, value)));
        }
        let mut bases = Self {
            treatment,
            rows: HashMap::new(),
        };
        let is_base = |cell: &PlannedCell| {
            let has = |(at, value): &(Option<usize>, String)| {
                at.is_some_and(|at| axis_value(&cell.axes[at]) == *value)
            };
            !wanted.is_empty() && wanted.iter().all(has)
        };
        for (row, cell, _) in cells.iter().filter(|(_, cell, _)| is_base(cell)) {
            bases.rows.entry(bases.rest(cell)).or_default().push(*row);
        }
        bases
    }

    fn rest(&self, cell: &PlannedCell) -> Vec<Arc<str>> {
        let Some(treatment) = self.treatment else {
            return Vec::new();
        };
        let axes = cell.axes.iter().enumerate();
        let axes = axes.filter(|(at, _)| *at != treatment);
        axes.map(|(_, value)| Arc::clone(value)).collect()
    }

    fn of_cell(&self, cell: &PlannedCell) -> impl Iterator<Item = usize> {
        let rows = self.rows.get(&self.rest(cell)).into_iter();
        rows.flatten().copied()
    }
}
