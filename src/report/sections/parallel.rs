//! Concurrent runs: their elapsed time, and the fraction of the machine's cores that they used (rule R15 of
//! `report::contract`).

use std::collections::BTreeMap;

use crate::report::clock::{Span, by_session, first_start};
use crate::report::view::View;
use crate::results::BlockRow;

use super::machine;

/// Numbers and times of the runs of one session, or of several sessions together ([`Self::combined_with`]).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ParallelRuns {
    pub(crate) runs: usize,
    /// Largest number of runs at the same time.
    pub(crate) at_once: usize,
    /// From the first start to the last end, in seconds.
    pub(crate) makespan_s: f64,
    /// Sum of the runs' wall times in seconds.
    pub(crate) sum_s: f64,
    /// Core-seconds of the runs, and core-seconds of the machine within the makespan; `None` if its number of cores is
    /// unknown.
    pub(crate) core_s: Option<(f64, f64)>,
}

impl ParallelRuns {
    /// Computes the numbers and times of a session; `spans` must not be empty.
    fn of(view: &View<'_>, spans: &[Span<'_>]) -> Self {
        let ends = spans.iter().map(|span| span.end);
        let makespan_s = ends.fold(f64::NEG_INFINITY, f64::max) - first_start(spans);
        let had = spans.iter().map(|span| {
            let cores = machine::cores(view, &span.run.env_id)?;
            Some(cores_of(view, span.run, span.threads, cores) * (span.end - span.start))
        });
        let had: Option<f64> = had.sum();
        let cores = machine::cores(view, &spans[0].run.env_id);
        Self {
            runs: spans.len(),
            at_once: at_once(spans).max(1),
            makespan_s,
            sum_s: spans.iter().map(|span| span.end - span.start).sum(),
            core_s: had.zip(cores.map(|cores| cores * makespan_s)),
        }
    }

    /// Core-seconds of the runs ÷ core-seconds of the machine within the makespan.
    pub(crate) fn efficiency(&self) -> Option<f64> {
        // Limited to 1: times are rounded to milliseconds, so a run may seem slightly longer than its makespan.
        self.core_s.map(|(had, all)| (had / all).min(1.0))
    }

    /// Combines two sessions: their times add up.
    pub(crate) fn combined_with(self, next: &Self) -> Self {
        let both = self.core_s.zip(next.core_s);
        Self {
            runs: self.runs + next.runs,
            at_once: self.at_once.max(next.at_once),
            makespan_s: self.makespan_s + next.makespan_s,
            sum_s: self.sum_s + next.sum_s,
            core_s: both.map(|(one, other)| (one.0 + other.0, one.1 + other.1)),
        }
    }
}

/// The sums for each session.
pub(crate) fn sessions<'a>(
    view: &View<'_>,
    runs: impl Iterator<Item = &'a BlockRow>,
) -> Vec<ParallelRuns> {
    let sessions = by_session(runs);
    let each = sessions.values().map(|spans| ParallelRuns::of(view, spans));
    each.collect()
}

/// Largest number of runs at the same time; a run that begins when another ends does not overlap it.
fn at_once(spans: &[Span<'_>]) -> usize {
    let starts = spans.iter().map(|span| (span.start, 1));
    let ends = spans.iter().map(|span| (span.end, -1));
    let mut changes: Vec<(f64, i32)> = starts.chain(ends).collect();
    changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut now, mut most) = (0, 0);
    for (_, change) in changes {
        now += change;
        most = most.max(now);
    }
    usize::try_from(most).unwrap_or(0)
}

/// Number of cores that a run with this number of threads had: all if it ran alone, else one per thread, reduced in
/// proportion while concurrent runs have more threads than the machine has cores.
pub(crate) fn cores_of(view: &View<'_>, run: &BlockRow, threads: f64, cores: f64) -> f64 {
    if run.exclusive {
        cores
    } else {
        threads * view.busy.core_fraction(run, cores)
    }
}

/// When each run ended, in seconds since the first start, without the time between sessions.
pub(crate) fn ends<'a>(view: &View<'_>, runs: &[&'a BlockRow]) -> Vec<(&'a BlockRow, f64)> {
    let sessions = by_session(runs.iter().copied());
    let mut begins: BTreeMap<&str, f64> = BTreeMap::new();
    let mut clock = 0.0;
    for (session, spans) in &sessions {
        begins.insert(session, clock - first_start(spans));
        clock += ParallelRuns::of(view, spans).makespan_s;
    }
    let end = |run: &&'a BlockRow| {
        let (session, span) = Span::of(run)?;
        Some((*run, begins.get(session)? + span.end))
    };
    runs.iter().filter_map(end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::ResultSet;
    use crate::results::golden::ddpm;

    /// Runs of one thread that share the golden machine of two cores, with these sessions, starts and wall times.
    fn set(spans: &[(&str, f64, f64)]) -> ResultSet {
        let mut set = ddpm();
        let golden = set.blocks[0].clone();
        let runs = spans
            .iter()
            .enumerate()
            .map(|(block, (session, start, wall))| {
                let mut run = golden.clone();
                (run.block, run.exclusive) = (block, false);
                (run.session, run.start_s, run.wall_s) =
                    (Some((*session).into()), Some(*start), Some(*wall));
                run.times_mut().expect("a measured run").threads = 1;
                run
            });
        set.blocks = runs.collect();
        set
    }

    fn together(spans: &[(&str, f64, f64)]) -> ParallelRuns {
        let set = set(spans);
        let all = sessions(&View::of(&set), set.blocks.iter());
        all.into_iter()
            .reduce(|one, next| one.combined_with(&next))
            .expect("a session")
    }

    #[test]
    fn four_runs_two_at_once() {
        let found = together(&[
            ("a", 0.0, 4.0),
            ("a", 0.0, 2.0),
            ("a", 2.0, 3.0),
            ("a", 4.0, 2.0),
        ]);
        assert_eq!(
            found,
            ParallelRuns {
                runs: 4,
                at_once: 2,
                makespan_s: 6.0,
                sum_s: 11.0,
                core_s: Some((11.0, 12.0)),
            }
        );
    }

    /// A report once stated 157 core-seconds in 42.7 s on 2 cores, and an efficiency of 91.8 % for four concurrent
    /// runs.
    #[test]
    fn runs_on_fewer_cores_than_they_have_threads_share_them() {
        let found = together(&[10.0, 10.01, 10.02, 10.03].map(|wall| ("a", 0.0, wall)));
        let (had, all) = found.core_s.expect("known cores");
        assert_eq!(found.at_once, 4);
        assert!(
            found.sum_s > 40.0 && had <= all && had > 0.99 * all,
            "{found:?}"
        );
        assert!(found.efficiency() <= Some(1.0));
    }

    #[test]
    fn one_run_of_one_thread_uses_half_of_two_cores() {
        let found = together(&[("a", 0.0, 10.0)]);
        assert_eq!(found.efficiency(), Some(0.5));
        let mut set = set(&[("a", 0.0, 10.0)]);
        set.environments.clear();
        let view = View::of(&set);
        assert_eq!(sessions(&view, set.blocks.iter())[0].efficiency(), None);
    }

    #[test]
    fn a_run_that_several_cells_share_counts_once() {
        let mut set = set(&[("a", 0.0, 10.0), ("a", 0.0, 10.0)]);
        let runs = |set: &ResultSet| sessions(&View::of(set), set.blocks.iter())[0].runs;
        assert_eq!(runs(&set), 2);
        set.blocks[1].block = 0;
        assert_eq!(runs(&set), 1);
    }

    #[test]
    fn the_clock_of_ends_stands_still_between_sessions() {
        let set = set(&[
            ("2026-11-21T09:30:00Z", 1.0, 4.0),
            ("2026-11-22T09:30:00Z", 3.0, 2.0),
        ]);
        let runs: Vec<&BlockRow> = set.blocks.iter().collect();
        let ends = ends(&View::of(&set), &runs);
        let found: Vec<f64> = ends.iter().map(|(_, end)| *end).collect();
        assert_eq!(found, [4.0, 6.0]);
    }
}
