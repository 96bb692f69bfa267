//! [`Job`]: a run to be done.

use std::sync::Arc;

use super::Member;
use crate::plan::search::{PrunedInfo, TrialInfo};
use crate::plan::{CellSpec, PlannedCell, Resume};

/// Identity of a run: a cell by its row in the plan, a seed, a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId {
    /// Row of the cell in the plan.
    pub cell: usize,
    /// Seed.
    pub seed: u64,
    /// Block, from 0.
    pub block: usize,
}

/// A run to be done.
#[derive(Debug, Clone)]
pub struct Job {
    /// Cell, seed and block.
    pub id: RunId,
    /// What to train.
    pub spec: Arc<CellSpec>,
    /// Expected seconds; `None` without an estimate.
    pub estimated_s: Option<f64>,
    /// Where the run's training state is stored, if it can resume.
    pub resume: Option<Resume>,
    /// The trial, if the run belongs to a search; its cell is not part of a plan.
    pub trial: Option<Arc<Trial>>,
}

/// A trial of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The trial's cell.
    pub cell: PlannedCell,
    /// The trial's number and point; values and pruning are added when it has ended.
    pub info: TrialInfo,
    /// Whether the worker waits for a verdict after every epoch.
    pub awaits_verdicts: bool,
    /// The trained models whose ensemble the trial is; empty for a trial that trains a model.
    pub members: Vec<Member>,
}

/// Why a trial was pruned.
#[derive(Debug, Clone, PartialEq)]
pub struct Pruned {
    /// Entry for `plan.json`.
    pub info: PrunedInfo,
    /// The reason in the trial's row, one line.
    pub reason: String,
}

impl Job {
    /// Whether the worker waits for a verdict after every epoch.
    pub fn awaits_verdicts(&self) -> bool {
        self.trial
            .as_ref()
            .is_some_and(|trial| trial.awaits_verdicts)
    }
}
