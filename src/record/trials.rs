//! [`TrialRow`]: what a search says of a trial that has ended. Its rows are those of the cells of a matrix otherwise.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::{Job, RunOutcome, Status, Trial};
use crate::plan::PlannedCell;
use crate::plan::search::TrialInfo;

/// Trials that have ended, by row; rows of others are missing.
pub(super) type Trials = BTreeMap<usize, TrialRow>;

/// A trial that has ended.
#[derive(Debug, Clone)]
pub struct TrialRow {
    trial: Arc<Trial>,
    pub(super) info: TrialInfo,
    pub(super) status: Status,
    /// One line; empty for `done`.
    pub(super) reason: String,
}

impl TrialRow {
    /// One that was finished before.
    pub(super) fn kept(job: &Job, status: Status, info: &TrialInfo, reason: &str) -> Option<Self> {
        Some(Self {
            trial: Arc::clone(job.trial.as_ref()?),
            info: info.clone(),
            status,
            reason: reason.to_owned(),
        })
    }

    /// One that has just ended; `None` where the run is no trial's.
    pub(super) fn ended(job: &Job, outcome: &RunOutcome) -> Option<Self> {
        let info = &job.trial.as_ref()?.info;
        Self::kept(job, outcome.status, info, &outcome.reason)
    }

    /// Epochs of its run, where a search ended it.
    pub(super) fn until(&self) -> Option<usize> {
        let pruned = self.info.pruned.as_ref();
        let pruned = pruned.filter(|_| self.status == Status::Pruned);
        pruned.map(|pruned| pruned.step + 1)
    }
}

/// A cell whose rows are shown, with what a search says of it.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) cell: &'a PlannedCell,
    pub(super) trial: Option<&'a TrialRow>,
}

impl<'a> Shown<'a> {
    /// All cells in row order: those of the plan, then the trials.
    pub(super) fn all(
        cells: &'a [PlannedCell],
        trials: &'a Trials,
    ) -> impl Iterator<Item = Shown<'a>> {
        let planned = cells.iter().map(|cell| Self { cell, trial: None });
        let trials = trials.values().map(|row| Self {
            cell: &row.trial.cell,
            trial: Some(row),
        });
        planned.chain(trials)
    }
}
