//! Runs side by side: how long they took together, and how well that used the places that there were (R15).

use std::collections::BTreeMap;

use crate::results::BlockRow;

use super::cost::wall_s;

/// Runs of one session, in the order of their starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Together {
    pub(crate) runs: usize,
    /// The most that ran at one time.
    pub(crate) at_once: usize,
    /// From the first start to the last end, in seconds.
    pub(crate) makespan_s: f64,
    /// Sum of the runs' own times, in seconds.
    pub(crate) sum_s: f64,
    /// No order of these runs on that many places could have been faster: the longer of the longest run and the sum ÷
    /// the most at once.
    pub(crate) bound_s: f64,
}

impl Together {
    /// From starts and ends of at least one run, in seconds.
    pub(crate) fn of(spans: &[(f64, f64)]) -> Self {
        let first = spans
            .iter()
            .map(|span| span.0)
            .fold(f64::INFINITY, f64::min);
        let last = spans
            .iter()
            .map(|span| span.1)
            .fold(f64::NEG_INFINITY, f64::max);
        let longest = spans
            .iter()
            .map(|(start, end)| end - start)
            .fold(0.0, f64::max);
        let sum_s: f64 = spans.iter().map(|(start, end)| end - start).sum();
        let at_once = at_once(spans).max(1);
        Self {
            runs: spans.len(),
            at_once,
            makespan_s: last - first,
            sum_s,
            bound_s: longest.max(sum_s / at_once as f64),
        }
    }

    /// Lower bound ÷ makespan.
    pub(crate) fn efficiency(&self) -> f64 {
        // Rounding to milliseconds may put the bound of a single run a hair above its makespan.
        (self.bound_s / self.makespan_s).min(1.0)
    }

    /// Several sessions one after the other: times and bounds add up.
    pub(crate) fn and(self, next: &Self) -> Self {
        Self {
            runs: self.runs + next.runs,
            at_once: self.at_once.max(next.at_once),
            makespan_s: self.makespan_s + next.makespan_s,
            sum_s: self.sum_s + next.sum_s,
            bound_s: self.bound_s + next.bound_s,
        }
    }
}

/// The most spans that overlap at one time; one that begins when another ends does not overlap it.
fn at_once(spans: &[(f64, f64)]) -> usize {
    let starts = spans.iter().map(|span| (span.0, 1));
    let ends = spans.iter().map(|span| (span.1, -1));
    let mut changes: Vec<(f64, i32)> = starts.chain(ends).collect();
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut now, mut most) = (0, 0);
    for (_, change) in changes {
        now += change;
        most = most.max(now);
    }
    usize::try_from(most).unwrap_or(0)
}

/// Starts and ends of runs by session, sessions in the order of their begin; runs without a start are left out.
pub(crate) fn spans<'a>(
    runs: impl Iterator<Item = &'a BlockRow>,
) -> BTreeMap<&'a str, Vec<(f64, f64)>> {
    let mut sessions: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for run in runs {
        if let (Some(session), Some(start), Some(wall)) = (&run.session, run.start_s, wall_s(run)) {
            sessions
                .entry(session)
                .or_default()
                .push((start, start + wall));
        }
    }
    sessions
}

/// When each run ended, in seconds of a clock that stands still between sessions and begins with the first start.
pub(crate) fn ends<'a>(runs: &[&'a BlockRow]) -> Vec<(&'a BlockRow, f64)> {
    let sessions = spans(runs.iter().copied());
    let mut begins: BTreeMap<&str, f64> = BTreeMap::new();
    let mut clock = 0.0;
    for (session, spans) in &sessions {
        let first = spans
            .iter()
            .map(|span| span.0)
            .fold(f64::INFINITY, f64::min);
        begins.insert(session, clock - first);
        clock += Together::of(spans).makespan_s;
    }
    let end = |run: &&'a BlockRow| {
        let begin = begins.get(run.session.as_deref()?)?;
        Some((*run, begin + run.start_s? + wall_s(run)?))
    };
    runs.iter().filter_map(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_runs_two_at_once() {
        let found = Together::of(&[(0.0, 4.0), (0.0, 2.0), (2.0, 5.0), (4.0, 6.0)]);
        assert_eq!(
            found,
            Together {
                runs: 4,
                at_once: 2,
                makespan_s: 6.0,
                sum_s: 11.0,
                bound_s: 5.5,
            }
        );
    }

    #[test]
    fn one_long_run_bounds_the_makespan() {
        let found = Together::of(&[(0.0, 10.0), (0.0, 1.0), (1.0, 2.0)]);
        assert_eq!(
            (found.at_once, found.bound_s, found.makespan_s),
            (2, 10.0, 10.0)
        );
        assert!((found.efficiency() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_clock_of_ends_stands_still_between_sessions() {
        let run = |session: &str, start: f64, wall: f64| {
            let mut run = crate::results::golden::ddpm().blocks.remove(0);
            (run.session, run.start_s, run.wall_s) =
                (Some(session.into()), Some(start), Some(wall));
            run
        };
        let runs = [
            run("2026-11-21T09:30:00Z", 1.0, 4.0),
            run("2026-11-22T09:30:00Z", 3.0, 2.0),
        ];
        let runs: Vec<&BlockRow> = runs.iter().collect();
        let found: Vec<f64> = ends(&runs).iter().map(|(_, end)| *end).collect();
        assert_eq!(found, [4.0, 6.0]);
    }
}
