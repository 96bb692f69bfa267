//! [`RunEvent`]: the events of an experiment; received by `record` and `progress`.
//!
//! ```text
//! Start · (RunStarted · Worker* · RunEnded)* · Stopping? · End        runs overlap when there are several slots
//! ```
//! [`RunEvent::RunEnded`] comes for every run that started, also after Ctrl-C; `End` always comes, unless a sink failed.

use crate::base::text::count;

use super::{Event, Job, RunId, RunOutcome, Status};

/// An event of the runs of an experiment, as the parent process sends it to its sinks.
#[derive(Debug)]
pub enum RunEvent<'a> {
    /// Sent before the first run.
    Start {
        /// Number of planned runs, as far as it is known before the start.
        runs: usize,
        /// Largest number of concurrent runs.
        slots: usize,
    },
    /// A worker is about to start.
    RunStarted {
        /// The run that starts.
        job: &'a Job,
        /// Slot that the run occupies, from 0.
        slot: usize,
    },
    /// A worker sent an event.
    Worker {
        /// The worker's run.
        id: RunId,
        /// The event as the worker sent it.
        event: &'a Event,
    },
    /// A run has ended, in success or failure.
    RunEnded {
        /// The run that has ended.
        job: &'a Job,
        /// Status and results of the run.
        outcome: &'a RunOutcome,
    },
    /// A trial of a search that finished in an earlier invocation and is not run again.
    Kept(&'a KeptTrial),
    /// A run is not needed, since the times of its cell are already precise (`measure.until`).
    NotNeeded {
        /// The run that is left out.
        job: &'a Job,
    },
    /// No further run will start; running ones end soon (each with its `RunEnded`).
    Stopping {
        /// Why no further run starts.
        reason: StopReason,
        /// Number of running runs.
        running: usize,
    },
    /// Sent at least once a second during runs, so that sinks can write intermediate results.
    Tick,
    /// Sent after the last run.
    End {
        /// Number of runs that were not started.
        left: usize,
    },
}

/// A finished trial of a search.
#[derive(Debug)]
pub struct KeptTrial {
    /// The job that would run the trial; its [`Job::trial`] has the objective values and, if the trial was pruned, the
    /// reason.
    pub job: Job,
    /// Status of the run.
    pub status: Status,
    /// Reason of the status, one line; empty for `done`.
    pub reason: String,
}

/// Why no further run starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// Ctrl-C or SIGTERM; running workers are ended.
    Interrupted,
    /// `--max-failures` was reached; running workers finish.
    Failures {
        /// The value of `--max-failures`.
        limit: usize,
    },
}

impl StopReason {
    /// The message for the user, with `running` current runs.
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
