//! [`Eta`]: estimates the remaining time of all runs from the durations of ended runs.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::base::statistics::mean;
use crate::event::{Job, RunId};

/// Fraction of its steps that a run must have done before its duration is extrapolated.
const ENOUGH: f64 = 0.05;

/// Estimates the remaining time from durations of ended runs and expected durations, by cell index.
#[derive(Debug, Default)]
pub(super) struct Eta {
    slots: usize,
    left: usize,
    /// Number of runs that have not started, by cell; without runs whose cell is not known in advance.
    waiting: HashMap<usize, usize>,
    /// Duration in seconds that was expected for a run of the cell, by cell.
    expected_s: HashMap<usize, f64>,
    running: HashMap<RunId, Running>,
    /// Durations in seconds of ended runs, by cell; `all` has those of all cells.
    ended: HashMap<usize, Vec<f64>>,
    all: Vec<f64>,
    /// Sums over ended runs with an expected duration: expected and actual seconds.
    outcome: (f64, f64),
}

#[derive(Debug, Clone, Copy)]
struct Running {
    began: Instant,
    /// Fraction of the run's steps that are done.
    share: f64,
    /// Fraction of the run's steps that an earlier, interrupted process has done.
    before: f64,
}

impl Running {
    /// Extrapolated duration of the whole run in seconds; `None` while too few steps are done.
    fn whole_s(&self, now: Instant) -> Option<f64> {
        let own = self.share - self.before;
        (own > ENOUGH).then(|| (now - self.began).as_secs_f64() / own)
    }
}

impl Eta {
    /// An estimate for the planned runs `jobs`.
    pub(super) fn of(jobs: &[Job]) -> Self {
        let mut eta = Self::default();
        for job in jobs {
            *eta.waiting.entry(job.id.cell).or_default() += 1;
            let expected = job.estimated_s.map(|seconds| (job.id.cell, seconds));
            eta.expected_s.extend(expected);
        }
        eta
    }

    pub(super) fn start(&mut self, runs: usize, slots: usize) {
        self.left = runs;
        self.slots = slots.max(1);
    }

    pub(super) fn begin(&mut self, id: RunId, now: Instant) {
        self.skip(id.cell);
        let running = Running {
            began: now,
            share: 0.0,
            before: 0.0,
        };
        self.running.insert(id, running);
    }

    /// Removes one run of this cell from those that have not started.
    pub(super) fn skip(&mut self, cell: usize) {
        self.left = self.left.saturating_sub(1);
        if let Some(waiting) = self.waiting.get_mut(&cell) {
            *waiting = waiting.saturating_sub(1);
        }
    }

    /// Adds a run that was not planned.
    pub(super) fn add_one(&mut self) {
        self.left += 1;
    }

    /// Records that the fraction `share` of the run's steps is done.
    pub(super) fn advance(&mut self, id: RunId, share: f64) {
        if let Some(running) = self.running.get_mut(&id) {
            running.share = share;
        }
    }

    /// Records that the run resumes an interrupted one, which had done the fraction `share` of its steps.
    pub(super) fn set_resumed_share(&mut self, id: RunId, share: f64) {
        if let Some(running) = self.running.get_mut(&id) {
            running.before = share;
        }
    }

    pub(super) fn end(&mut self, id: RunId, wall_s: f64) {
        self.running.remove(&id);
        self.all.push(wall_s);
        self.ended.entry(id.cell).or_default().push(wall_s);
        if let Some(expected) = self.expected_s.get(&id.cell) {
            self.outcome.0 += expected;
            self.outcome.1 += wall_s;
        }
    }

    /// The remaining time; `None` if there is no estimate for some remaining run.
    ///
    /// The estimate is the sum of the durations of runs that have not started ÷ slots (concurrent runs), plus the
    /// longest remaining time of a current run. The duration of a run is the mean of its cell's ended runs. If there
    /// are none, it is the run's expected duration, times actual ÷ expected duration of the ended runs; without an
    /// expected duration it is the mean of all ended runs.
    pub(super) fn left(&self, now: Instant) -> Option<Duration> {
        let mut seconds = 0.0;
        let mut known = 0;
        for (cell, runs) in self.waiting.iter().filter(|(_, runs)| **runs > 0) {
            seconds += *runs as f64 * self.whole_s(*cell, now)?;
            known += runs;
        }
        let others = self.left.saturating_sub(known);
        if others > 0 {
            seconds += others as f64 * self.typical_s(now)?;
        }
        let mut rest = 0.0_f64;
        for (id, running) in &self.running {
            let so_far = (now - running.began).as_secs_f64();
            let whole = self.mean_s(id.cell).or_else(|| running.whole_s(now));
            let whole = whole.or_else(|| self.whole_s(id.cell, now))?;
            rest = rest.max(whole * (1.0 - running.before) - so_far);
        }
        Duration::try_from_secs_f64(seconds / self.slots.max(1) as f64 + rest).ok()
    }

    /// Mean duration in seconds of a cell's ended runs; `None` without any. A mean, not a median, because the remaining
    /// time is a sum over runs.
    fn mean_s(&self, cell: usize) -> Option<f64> {
        mean(self.ended.get(&cell)?)
    }

    fn whole_s(&self, cell: usize, now: Instant) -> Option<f64> {
        let (expected, measured) = self.outcome;
        let off = if expected > 0.0 {
            measured / expected
        } else {
            1.0
        };
        let expected = self.expected_s.get(&cell).map(|seconds| seconds * off);
        let typical = || self.typical_s(now);
        self.mean_s(cell).or(expected).or_else(typical)
    }

    /// Duration in seconds of a run whose cell has no ended runs and no expected duration: the mean of all ended runs,
    /// else the mean extrapolated from current runs.
    fn typical_s(&self, now: Instant) -> Option<f64> {
        let told = || {
            let whole = self.running.values().filter_map(|run| run.whole_s(now));
            mean(&whole.collect::<Vec<f64>>())
        };
        mean(&self.all).or_else(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(cell: usize, block: usize) -> RunId {
        RunId {
            cell,
            seed: 0,
            block,
        }
    }

    #[test]
    fn the_rest_is_the_mean_over_the_slots() {
        let now = Instant::now();
        let mut eta = Eta::default();
        eta.start(9, 2);
        assert_eq!(eta.left(now), None);
        for cell in 0..3 {
            eta.begin(id(cell, 0), now);
            eta.end(id(cell, 0), [10.0, 20.0, 30.0][cell]);
        }
        assert_eq!(eta.left(now), Some(Duration::from_mins(1)));
    }

    /// Two cells with two runs each, and their expected durations in seconds.
    fn two_cells(expected_s: [Option<f64>; 2]) -> Eta {
        let mut eta = Eta {
            waiting: [(0, 2), (1, 2)].into(),
            ..Eta::default()
        };
        let expected = (0..2).filter_map(|cell| Some((cell, expected_s[cell]?)));
        eta.expected_s = expected.collect();
        eta.start(4, 1);
        eta
    }

    #[test]
    fn after_the_first_runs_the_time_left_is_theirs_and_no_longer_the_estimate() {
        let now = Instant::now();
        let mut eta = two_cells([Some(1.0), Some(60.0)]);
        assert_eq!(eta.left(now), Some(Duration::from_secs(122)));
        eta.begin(id(0, 0), now);
        eta.end(id(0, 0), 2.0);
        // Cell 0 takes 2 s, twice as long as expected, so cell 1 is also expected to take twice as long.
        assert_eq!(eta.left(now), Some(Duration::from_secs(2 + 240)));
        eta.begin(id(1, 0), now);
        eta.end(id(1, 0), 50.0);
        assert_eq!(eta.left(now), Some(Duration::from_secs(2 + 50)));
    }

    #[test]
    fn without_an_estimate_there_is_none_until_a_run_has_ended_or_progressed() {
        let now = Instant::now();
        let mut eta = two_cells([None, None]);
        assert_eq!(eta.left(now), None);
        eta.begin(id(0, 0), now);
        assert_eq!(eta.left(now), None);
        eta.advance(id(0, 0), 0.5);
        let later = now + Duration::from_secs(3);
        assert_eq!(eta.left(later), Some(Duration::from_secs(3 + 3 * 6)));
    }

    #[test]
    fn a_run_that_goes_on_has_only_its_rest_to_do() {
        let now = Instant::now();
        let mut eta = Eta::default();
        eta.start(1, 1);
        eta.begin(id(0, 0), now);
        eta.advance(id(0, 0), 0.5);
        eta.set_resumed_share(id(0, 0), 0.5);
        assert_eq!(eta.left(now), None, "it has done nothing itself");
        eta.advance(id(0, 0), 0.75);
        let later = now + Duration::from_secs(10);
        assert_eq!(eta.left(later), Some(Duration::from_secs(10)));
    }
}
