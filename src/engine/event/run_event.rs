//! [`RunEvent`]: the events of an experiment; received by `record` and `progress`.
//!
//! ```text
//! Start · (RunStarted · Worker* · RunEnded)* · Stopping? · End        runs overlap when there are several slots
//! ```
//! [`RunEvent::RunEnded`] comes for every run that started, also after Ctrl-C; `End` always comes, unless a sink failed.

use crate::base::text::count;

use crate::plan::search::TrialInfo;

use super::{Event, Job, RunId, RunOutcome, Status};

/// An event.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// Before the first run.
    Start {
        /// Runs to do, as far as they are known.
        runs: usize,
        /// Most runs that execute concurrently.
        slots: usize,
    },
    /// A worker is about to start.
    RunStarted {
        /// The run.
        job: &'a Job,
        /// Slot of the run, from 0.
        slot: usize,
    },
    /// A worker sent an event.
    Worker {
        /// The run.
        id: RunId,
        /// The event.
        event: &'a Event,
    },
    /// A run has ended, in success or failure.
    RunEnded {
        /// The run.
        job: &'a Job,
        /// Status and results of the run.
        outcome: &'a RunOutcome,
    },
    /// A trial of a search is finished already, from an earlier invocation; it is not run.
    Kept {
        /// The trial as a job.
        job: &'a Job,
        /// Status of the run.
        status: Status,
        /// The trial with its values, and why a search pruned it.
        info: &'a TrialInfo,
        /// One line for the trial's row; empty for `done`.
        reason: &'a str,
    },
    /// A run is not needed, since the times of its cell are precise (`measure.until`).
    NotNeeded {
        /// The run.
        job: &'a Job,
    },
    /// No further run will start; running ones end soon (each with its `RunEnded`).
    Stopping {
        /// Why.
        reason: StopReason,
        /// Number of running runs.
        running: usize,
    },
    /// At least once a second while runs are in flight, so that sinks can write what they have.
    Tick,
    /// After the last run.
    End {
        /// Runs that were not started.
        left: usize,
    },
}

/// Why no further run starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// Ctrl-C or SIGTERM; running workers are ended.
    Interrupted,
    /// `--max-failures` was reached; running workers finish.
    Failures {
        /// The limit of `--max-failures`.
        limit: usize,
    },
}

impl StopReason {
    /// The message for the user, with `running` runs in flight.
    pub fn sentence(self, running: usize) -> String {
        match self {
            Self::Interrupted => format!(
                "interrupted: ending {}; what is finished is kept (Ctrl-C again ends at once)",
                count(running, "run")
            ),
            Self::Failures { limit } if running == 0 => {
                format!("stopping after {}", count(limit, "failed run"))
            }
            Self::Failures { limit } => format!(
                "stopping after {}; {} running will finish",
                count(limit, "failed run"),
                count(running, "run")
            ),
        }
    }
}
