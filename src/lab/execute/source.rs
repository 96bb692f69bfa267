//! [`Source`]: supplies runs, from a list or from a search that decides during execution.

use crate::event::{EpochRow, Job, RunId, RunOutcome, Status, Verdict};
use crate::plan::search::TrialInfo;

/// Supplies runs.
pub trait Source {
    /// Number of remaining runs, as far as known.
    fn remaining(&self) -> usize;

    /// The next item; `None` if nothing can start now, because there is nothing left or because the source waits for running
    /// runs. Called as late as possible, and again whenever a run has ended.
    fn next(&mut self) -> Option<Next>;

    /// Whether the run continues after this epoch. Called in the order of its epochs, for jobs that await verdicts; the
    /// worker waits for the reply.
    fn verdict(&mut self, _id: RunId, _epoch: &EpochRow) -> Verdict {
        Verdict::GoOn
    }

    /// A run of this source has ended. Called before the event sink sees the outcome; may add to the job.
    fn ended(&mut self, _job: &mut Job, _outcome: &RunOutcome) {}
}

/// An item of a source.
#[derive(Debug)]
pub enum Next {
    /// A run to execute.
    Run(Job),
    /// A trial that is already finished.
    Kept {
        /// The job that would run the trial.
        job: Job,
        /// How it ended.
        status: Status,
        /// Its values, and why it was ended.
        info: TrialInfo,
        /// One-line reason for its row.
        reason: String,
    },
}

/// A fixed list of runs.
#[derive(Debug)]
pub struct Listed(std::vec::IntoIter<Job>);

impl Listed {
    /// The runs of `jobs`, in order.
    pub fn new(jobs: Vec<Job>) -> Self {
        Self(jobs.into_iter())
    }
}

impl Source for Listed {
    fn remaining(&self) -> usize {
        self.0.len()
    }

    fn next(&mut self) -> Option<Next> {
        self.0.next().map(Next::Run)
    }
}
