//! [`TrialRow`]: status, reason and search data of a finished trial. All else in the rows of a trial is as for a matrix
//! cell.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::event::{Job, Status};
use crate::plan::PlannedCell;
use crate::plan::search::TrialInfo;

/// Finished trials by row index.
pub(super) type Trials = BTreeMap<usize, TrialRow>;

/// Status, reason and search data of a trial that has ended.
#[derive(Debug, Clone)]
pub struct TrialRow {
    cell: PlannedCell,
    pub(super) info: TrialInfo,
    pub(super) status: Status,
    pub(super) reason: String,
}

impl TrialRow {
    /// A finished trial; `None` if the run belongs to no trial.
    pub(super) fn of(job: &Job, status: Status, reason: &str) -> Option<Self> {
        let trial = job.trial.as_ref()?;
        Some(Self {
            cell: trial.cell.clone(),
            info: trial.info.clone(),
            status,
            reason: reason.to_owned(),
        })
    }

    /// Shares equal parts of the specification with `other` to save memory: thousands of trials differ in a few
    /// settings.
    pub(super) fn share_with(&mut self, other: &Self) {
        let (own, other) = (&mut self.cell, &other.cell);
        share(&mut own.spec.model, &other.spec.model);
        share(&mut own.spec.dataset, &other.spec.dataset);
        share(&mut own.spec.loss, &other.spec.loss);
        share(&mut own.spec.train, &other.spec.train);
        share(&mut own.spec.loader, &other.spec.loader);
        share(&mut own.spec.validation, &other.spec.validation);
        share(&mut own.spec.measure, &other.spec.measure);
        share(&mut own.spec.limits, &other.spec.limits);
        share(&mut own.facts, &other.facts);
        let parts = own.hash_parts.iter_mut().zip(&other.hash_parts);
        parts.for_each(|((_, own), (_, other))| share(own, other));
    }

    /// Number of epochs after which the search ended the trial early; `None` if it did not.
    pub(super) fn pruned_after_epochs(&self) -> Option<usize> {
        let pruned = self.info.pruned.as_ref();
        let pruned = pruned.filter(|_| self.status == Status::Pruned);
        pruned.map(|pruned| pruned.step + 1)
    }
}

fn share<T: PartialEq + ?Sized>(own: &mut Arc<T>, other: &Arc<T>) {
    if own == other {
        *own = Arc::clone(other);
    }
}

/// A cell that has rows in the results files; for a trial of a search with its [`TrialRow`].
#[derive(Clone, Copy)]
pub(super) struct CellWithRows<'a> {
    pub(super) cell: &'a PlannedCell,
    pub(super) trial: Option<&'a TrialRow>,
}

impl<'a> CellWithRows<'a> {
    /// All cells in row order: those of the plan, then the trials.
    pub(super) fn all(
        cells: &'a [PlannedCell],
        trials: &'a Trials,
    ) -> impl Iterator<Item = CellWithRows<'a>> {
        let planned = cells.iter().map(|cell| Self { cell, trial: None });
        let trials = trials.values().map(|row| Self {
            cell: &row.cell,
            trial: Some(row),
        });
        planned.chain(trials)
    }
}
