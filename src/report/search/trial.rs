//! [`Trial`]: one trial of a search, and how it ended.

use crate::plan::search::TrialInfo;
use crate::report::clock::wall_s;
use crate::report::view::Cell;
use crate::results::{RunRow, Status};

/// A trial: its cell, and its number, parameter values and objective values.
#[derive(Clone, Copy)]
pub(crate) struct Trial<'v, 'a> {
    pub(crate) cell: &'v Cell<'a>,
    pub(crate) info: &'a TrialInfo,
}

/// How a trial ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The trial has a value for every objective.
    Done,
    /// A pruner ended the trial.
    Pruned,
    /// The trial failed, or has no value.
    Failed,
}

impl<'a> Trial<'_, 'a> {
    /// How the trial ended.
    pub(crate) fn ending(&self) -> Ending {
        let values = &self.info.values;
        let is_whole =
            !values.is_empty() && values.iter().all(|value| value.is_some_and(f64::is_finite));
        match self.cell.status {
            Status::Pruned => Ending::Pruned,
            Status::Done if is_whole => Ending::Done,
            _ => Ending::Failed,
        }
    }

    /// The trial's row of `runs.csv`.
    pub(crate) fn row(&self) -> Option<&'a RunRow> {
        self.cell.runs.first().copied()
    }

    /// Wall seconds of the trial, summed over all attempts.
    pub(crate) fn wall_s(&self) -> Option<f64> {
        let runs = self.cell.blocks.iter();
        let times: Vec<f64> = runs.filter_map(|run| wall_s(run)).collect();
        (!times.is_empty()).then(|| times.iter().sum())
    }

    /// Number of epochs that the trial was trained.
    pub(crate) fn epochs(&self) -> Option<usize> {
        let facts = self.row().and_then(|row| row.facts.as_ref());
        let of_curve = || {
            let last = self.cell.epochs.last()?;
            Some(last.epoch.epoch + 1)
        };
        facts.map(|facts| facts.epochs).or_else(of_curve)
    }
}
