//! [`Job`]: a run to execute.

use std::sync::Arc;

use super::Member;
use crate::plan::search::{PrunedInfo, TrialInfo};
use crate::plan::{CellSpec, PlannedCell, ResumeFiles};

/// Identity of a run: a cell by its row in the plan, a seed, a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId {
    /// Row of the cell in the plan, from 0.
    pub cell: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Block, from 0.
    pub block: usize,
}

/// A run to execute.
#[derive(Debug, Clone)]
pub struct Job {
    /// Cell, seed and block.
    pub id: RunId,
    /// The resolved cell that is trained.
    pub spec: Arc<CellSpec>,
    /// Expected seconds; `None` without an estimate.
    pub estimated_s: Option<f64>,
    /// Where the run's training state is stored; `None` if the run stores none.
    pub resume: Option<ResumeFiles>,
    /// The trial, if the run belongs to a search (its cell is then not one of the plan's cells); else `None`.
    pub trial: Option<Arc<Trial>>,
}

/// A trial of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The cell that the trial trains.
    pub cell: PlannedCell,
    /// The trial's number and point; values and pruning are added when it has ended.
    pub info: TrialInfo,
    /// Whether the worker waits after every epoch for a [`Reply`](super::Reply): continue or stop.
    pub awaits_verdicts: bool,
    /// The trained models that form the ensemble; empty for a trial that trains a model.
    pub members: Vec<Member>,
}

/// Why a trial was pruned.
#[derive(Debug, Clone, PartialEq)]
pub struct Pruned {
    /// Step, metric and threshold of the decision, as stored in `plan.json`.
    pub info: PrunedInfo,
    /// The reason in one line, for the trial's row in the results.
    pub reason: String,
}

impl Job {
    /// Whether the worker waits after every epoch for a [`Reply`](super::Reply): continue or stop.
    pub fn awaits_replies(&self) -> bool {
        self.trial
            .as_ref()
            .is_some_and(|trial| trial.awaits_verdicts)
    }
}
