//! [`RunOutcome`]: a run that has ended, as observed by its parent process.

use super::{EpochRow, Profile, Pruned, RunFacts, RunTimes, Sample, Status};

/// How a run ended, and its results.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunOutcome {
    /// Status at the end; [`Status::NotRun`] if the run was interrupted.
    pub status: Status,
    /// One line with the kind of failure and its numbers; empty for `done`.
    pub reason: String,
    /// Why a search pruned the run; `None` if it was not pruned.
    pub pruned: Option<Pruned>,
    /// The facts, if the run ended by itself or was pruned.
    pub facts: Option<RunFacts>,
    /// The times, if the run ended by itself or was pruned.
    pub times: Option<RunTimes>,
    /// Results of the finished epochs, in order.
    pub epochs: Vec<EpochRow>,
    /// Images of the run's costly evaluation.
    pub samples: Vec<Sample>,
    /// Profile of the operations; `None` if none was recorded.
    pub profile: Option<Profile>,
    /// The end of the worker's standard error.
    pub stderr: String,
    /// Seconds from start to end, measured by the parent.
    pub wall_s: f64,
    /// Peak resident memory of the process in bytes, from `wait4`; `None` if unknown.
    pub peak_rss_bytes: Option<u64>,
    /// CPU seconds of the process, from `wait4`; `None` if unknown.
    pub cpu_s: Option<f64>,
}

impl RunOutcome {
    /// Whether the run ended, in success or failure, so that the result is kept.
    pub fn is_finished(&self) -> bool {
        self.status != Status::NotRun
    }

    /// A run interrupted by Ctrl-C.
    pub fn interrupted() -> Self {
        Self::empty(Status::NotRun, "interrupted".into())
    }

    /// An outcome without results.
    pub fn empty(status: Status, reason: String) -> Self {
        Self {
            status,
            reason,
            ..Self::default()
        }
    }
}
