//! Times of runs within their session: durations, rows that are the same execution, and the number of threads that
//! computed at the same time.

use std::collections::{BTreeMap, BTreeSet};

use crate::results::{BlockRow, ResultSet};

/// Wall seconds of a run; for results of earlier versions without this column, the time measured by the worker.
pub(crate) fn wall_s(run: &BlockRow) -> Option<f64> {
    let inside = || {
        let times = run.times.as_deref()?;
        Some(times.total_s + times.assessment_s.unwrap_or(0.0))
    };
    run.wall_s.or_else(inside)
}

/// Values that identify an execution: session, start, wall time, time in the worker, seed, block.
pub(crate) type Execution<'r> = (&'r Option<String>, [Option<u64>; 3], u64, usize);

/// The execution that a row of `blocks.csv` describes.
pub(crate) fn execution(run: &BlockRow) -> Execution<'_> {
    let total_s = run.times.as_deref().map(|times| times.total_s);
    let seconds = [run.start_s, run.wall_s, total_s].map(|seconds| seconds.map(f64::to_bits));
    (&run.session, seconds, run.seed, run.block)
}

/// A run with its start and end on the clock of its session, in seconds.
pub(super) struct Span<'a> {
    pub(super) run: &'a BlockRow,
    pub(super) start: f64,
    pub(super) end: f64,
    /// Number of threads that the run computed with; 1 for a failed run without this number.
    pub(super) threads: f64,
}

impl<'a> Span<'a> {
    pub(super) fn of(run: &'a BlockRow) -> Option<(&'a str, Self)> {
        let start = run.start_s?;
        let threads = run.times.as_deref().map_or(1, |times| times.threads.max(1));
        let span = Self {
            run,
            start,
            end: start + wall_s(run)?,
            threads: threads as f64,
        };
        Some((run.session.as_deref()?, span))
    }
}

/// Start of the earliest of some runs, in seconds of the session.
pub(super) fn first_start(spans: &[Span<'_>]) -> f64 {
    let starts = spans.iter().map(|span| span.start);
    starts.fold(f64::INFINITY, f64::min)
}

/// Runs by session, sessions in the order in which they began. Runs without a start are left out, and a run that
/// several cells share is counted once.
pub(super) fn by_session<'a>(
    runs: impl Iterator<Item = &'a BlockRow>,
) -> BTreeMap<&'a str, Vec<Span<'a>>> {
    let mut seen = BTreeSet::new();
    let mut sessions: BTreeMap<&str, Vec<Span<'_>>> = BTreeMap::new();
    for (session, span) in runs.filter_map(Span::of) {
        if seen.insert(execution(span.run)) {
            sessions.entry(session).or_default().push(span);
        }
    }
    sessions
}

/// For each session a list of (second, number of threads that compute in concurrent runs from then on).
#[derive(Debug, Default)]
pub(crate) struct BusyThreads<'a>(BTreeMap<&'a str, Vec<(f64, f64)>>);

impl<'a> BusyThreads<'a> {
    /// The busy threads of all runs of a result.
    pub(crate) fn of(set: &'a ResultSet) -> Self {
        let shared = set.blocks.iter().filter(|run| !run.exclusive);
        let levels = by_session(shared).into_iter().map(|(session, spans)| {
            let starts = spans.iter().map(|span| (span.start, span.threads));
            let ends = spans.iter().map(|span| (span.end, -span.threads));
            let mut changes: Vec<(f64, f64)> = starts.chain(ends).collect();
            changes.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            let mut threads = 0.0;
            for change in &mut changes {
                threads += change.1;
                change.1 = threads;
            }
            (session, changes)
        });
        Self(levels.collect())
    }

    /// Mean fraction of a core that each thread of a run had: below 1 if more threads computed than there are cores.
    pub(super) fn core_fraction(&self, run: &BlockRow, cores: f64) -> f64 {
        let Some((session, span)) = Span::of(run).filter(|(_, span)| span.end > span.start) else {
            return 1.0;
        };
        let levels = self.0.get(session).map_or(&[][..], Vec::as_slice);
        let first = levels.partition_point(|(from, _)| *from <= span.start);
        let inside = levels[first.saturating_sub(1)..].windows(2);
        let inside = inside.take_while(|pair| pair[0].0 < span.end);
        let had = inside.map(|pair| {
            let seconds = pair[1].0.min(span.end) - pair[0].0.max(span.start);
            seconds.max(0.0) * (cores / pair[0].1).min(1.0)
        });
        had.sum::<f64>() / (span.end - span.start)
    }
}
