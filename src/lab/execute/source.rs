//! [`Source`]: supplies runs, from a list or from a search that decides during execution.

use std::collections::HashMap;

use crate::base::statistics::mean;
use crate::event::{EpochRow, Job, KeptTrial, Pruned, RunId, RunOutcome, Status};

use super::PrecisionTracker;

/// Supplies the runs to execute, one at a time.
pub trait Source {
    /// Number of remaining runs, as far as known.
    fn remaining(&self) -> usize;

    /// The next item; `None` if nothing can start now, because there is nothing left or because the source waits for running
    /// runs. Called as late as possible, and again whenever a run has ended.
    fn next(&mut self) -> Option<SourceItem>;

    /// Why a pruner ends the run after this epoch; `None` if the run continues. Called in the order of its epochs, for
    /// jobs that await verdicts; the worker waits for the reply.
    fn verdict(&mut self, _id: RunId, _epoch: &EpochRow) -> Option<Pruned> {
        None
    }

    /// A run of this source has ended. Called before the event sink sees the outcome; may add to the job, for example a
    /// trial's values.
    fn ended(&mut self, _job: &mut Job, _outcome: &RunOutcome) {}
}

/// The next item that a [`Source`] supplies.
#[derive(Debug)]
pub enum SourceItem {
    /// A run to execute.
    Run(Job),
    /// A trial that is already finished.
    Kept(KeptTrial),
    /// A run that is not needed: the times of its cell are precise.
    NotNeeded(Job),
}

/// A fixed list of runs. Their expected times are corrected by the measured times of ended runs. Repeats of a cell that
/// are no longer needed (`measure.until`) are left out.
#[derive(Debug)]
pub struct RunList {
    jobs: std::vec::IntoIter<Job>,
    until: PrecisionTracker,
    measured: MeasuredTimes,
}

impl RunList {
    /// The runs of `jobs`, in their order. `until` starts with the times of runs that are already in the results.
    pub fn new(jobs: Vec<Job>, until: PrecisionTracker) -> Self {
        Self {
            jobs: jobs.into_iter(),
            until,
            measured: MeasuredTimes::default(),
        }
    }
}

impl Source for RunList {
    fn remaining(&self) -> usize {
        self.jobs.len()
    }

    fn next(&mut self) -> Option<SourceItem> {
        let mut job = self.jobs.next()?;
        if !self.until.needs(job.id) {
            return Some(SourceItem::NotNeeded(job));
        }
        let before_s = job.estimated_s.map(|seconds| (job.id, seconds));
        self.measured.before_s.extend(before_s);
        job.estimated_s = self.measured.expected_s(&job);
        Some(SourceItem::Run(job))
    }

    fn ended(&mut self, job: &mut Job, outcome: &RunOutcome) {
        let times = outcome.times.as_ref();
        self.until.add(job.id, &job.spec, outcome.status, times);
        self.measured.add(job.id, outcome);
    }
}

/// Measured seconds of the ended runs of a [`RunList`] source.
#[derive(Debug, Default)]
struct MeasuredTimes {
    /// Seconds of ended runs, by cell and by whether the block is the first, which alone has the costly evaluation.
    by_cell: HashMap<(usize, bool), Vec<f64>>,
    /// Expected seconds of runs before the list began.
    before_s: HashMap<RunId, f64>,
    /// Sums over ended runs that had an expected time: expected and actual seconds.
    sums: (f64, f64),
}

impl MeasuredTimes {
    /// The mean of the cell's ended runs. Before one has ended, the time expected before the list began, multiplied by
    /// actual ÷ expected of the ended runs, once their expected times sum to at least this one's (short runs say little
    /// about a long one).
    fn expected_s(&self, job: &Job) -> Option<f64> {
        if let Some(seconds) = self.by_cell.get(&(job.id.cell, job.id.block == 0)) {
            return mean(seconds);
        }
        let before = job.estimated_s?;
        let (expected, taken) = self.sums;
        let is_known = expected > 0.0 && expected >= before;
        Some(if is_known {
            before * taken / expected
        } else {
            before
        })
    }

    fn add(&mut self, id: RunId, outcome: &RunOutcome) {
        let before = self.before_s.remove(&id);
        if outcome.status != Status::Done {
            return;
        }
        let assessment_s = outcome.times.as_ref().and_then(|times| times.assessment_s);
        let mut add = |is_first: bool, seconds: f64| {
            let own = self.by_cell.entry((id.cell, is_first)).or_default();
            own.push(seconds);
        };
        if id.block == 0 {
            add(true, outcome.wall_s);
        }
        add(false, outcome.wall_s - assessment_s.unwrap_or(0.0));
        if let Some(before) = before {
            self.sums = (self.sums.0 + before, self.sums.1 + outcome.wall_s);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::job_of;
    use super::*;
    use crate::event::RunTimes;
    use crate::plan::LimitsSpec;

    fn job(cell: usize, block: usize, estimated_s: Option<f64>) -> Job {
        let mut job = job_of(cell, LimitsSpec::default());
        (job.id.block, job.estimated_s) = (block, estimated_s);
        job
    }

    /// The run ends after `wall_s`, of which `assessment_s` are the costly evaluation's.
    fn end(list: &mut RunList, mut job: Job, wall_s: f64, assessment_s: Option<f64>) {
        let times = RunTimes {
            assessment_s,
            ..RunTimes::default()
        };
        let outcome = RunOutcome {
            times: Some(times),
            wall_s,
            ..RunOutcome::empty(Status::Done, String::new())
        };
        list.ended(&mut job, &outcome);
    }

    fn next(list: &mut RunList) -> Job {
        let Some(SourceItem::Run(job)) = list.next() else {
            panic!("a run is left");
        };
        job
    }

    #[test]
    fn after_the_first_run_expected_times_are_from_what_was_measured() {
        let (far, near) = (Some(520.0), Some(52.0));
        let jobs = vec![
            job(0, 0, far),
            job(1, 0, near),
            job(2, 0, None),
            job(3, 0, Some(5200.0)),
            job(0, 1, far),
            job(1, 1, near),
        ];
        let mut list = RunList::new(jobs, PrecisionTracker::default());
        let first = next(&mut list);
        assert_eq!(first.estimated_s, far, "nothing is measured yet");
        end(&mut list, first, 10.0, Some(4.0));
        let second = next(&mut list);
        assert_eq!(second.estimated_s, Some(1.0), "as far off as the first");
        end(&mut list, second, 3.0, None);
        assert_eq!(next(&mut list).estimated_s, None, "nothing is known of it");
        let long = next(&mut list);
        assert_eq!(
            long.estimated_s,
            Some(5200.0),
            "far longer than all of them"
        );
        // The costly evaluation belongs to the first block.
        assert_eq!(next(&mut list).estimated_s, Some(6.0));
        assert_eq!(next(&mut list).estimated_s, Some(3.0));
    }

    #[test]
    fn a_run_that_failed_says_nothing_of_the_others() {
        let jobs = vec![job(0, 0, Some(8.0)), job(0, 1, Some(8.0))];
        let mut list = RunList::new(jobs, PrecisionTracker::default());
        let mut first = next(&mut list);
        let failed = RunOutcome::empty(Status::Failed, "no".into());
        list.ended(&mut first, &failed);
        assert_eq!(next(&mut list).estimated_s, Some(8.0));
    }
}
