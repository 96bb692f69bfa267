//! [`Source`]: where runs come from: a list, or a search that decides as it goes.

use crate::event::{EpochRow, Job, RunId, RunOutcome, Status, Verdict};
use crate::plan::search::TrialInfo;

/// Where runs come from.
pub trait Source {
    /// Runs to come, as far as they are known.
    fn remaining(&self) -> usize;

    /// What comes next; `None` when nothing can begin now: there is no more, or it waits for runs that go on. It is asked
    /// as late as possible, and again whenever a run has ended.
    fn next(&mut self) -> Option<Next>;

    /// Whether the run goes on after this epoch. Asked, in the order of its epochs, for jobs that await verdicts; the
    /// worker waits for the answer.
    fn verdict(&mut self, _id: RunId, _epoch: &EpochRow) -> Verdict {
        Verdict::GoOn
    }

    /// A run of this source has ended; what it gave, before anybody else sees it.
    fn ended(&mut self, _job: &mut Job, _outcome: &RunOutcome) {}
}

/// What comes next.
#[derive(Debug)]
pub enum Next {
    /// A run.
    Run(Job),
    /// A trial that is finished already.
    Kept {
        /// The trial, as it would be run.
        job: Job,
        /// How it ended.
        status: Status,
        /// With its values, and why it was ended.
        info: TrialInfo,
        /// One line for its row.
        reason: String,
    },
}

/// A list of runs.
#[derive(Debug)]
pub struct Listed(std::vec::IntoIter<Job>);

impl Listed {
    /// The runs of `jobs`, in their order.
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
