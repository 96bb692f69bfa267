//! [`Waiting`]: wall time of runs that their CPU time does not explain.

use crate::base::statistics::median;
use crate::results::{BlockRow, value};

use super::cells::Cell;
use super::comparison::Waiting;
use super::timings::Runs;

/// Wall seconds per CPU second from which on a run counts as waiting: a run that computes all the time needs at most 1,
/// plus start and end of the process (1.08 in the shipped reports, on an idle machine).
const LEAST: f64 = 1.2;
/// A side waits if its ratio of wall to CPU seconds is at least this multiple of the other side's. For Fieldtrial's own
/// trainer, a ratio of at least this value is enough.
const FAR: f64 = 1.5;
/// CPU seconds of a run below which no waiting is computed: the clock's resolution and the start of the process would
/// dominate.
const SHORT_S: f64 = 0.1;

/// The waiting of the runs of two cells; `None` where no side waits, where CPU time was not measured, and on a GPU,
/// where waiting for the device is normal.
///
/// A side waits if its runs take at least 1.2 wall seconds per CPU second, and at least 1.5 times as many as those of
/// the other side. Where Fieldtrial trains itself, 1.5 wall seconds per CPU second suffice: a thread or a loader worker
/// always computes there. A program of the user may wait for other things, and is only compared with the other side.
pub(super) fn waiting(before: &Cell<'_>, after: &Cell<'_>, runs: &Runs<'_>) -> Option<Waiting> {
    let (old, new) = (
        wall_per_cpu(before, &runs.before)?,
        wall_per_cpu(after, &runs.after)?,
    );
    let is_far = |own: f64, other: f64, cell: &Cell<'_>| {
        let is_program = cell.set.plan.is_trained_by_command(cell.info);
        own >= LEAST && (own >= FAR * other || !is_program && own >= FAR)
    };
    let is_far = (is_far(old, new, before), is_far(new, old, after));
    (is_far != (false, false)).then_some(Waiting {
        wall_per_cpu: (old, new),
        is_far,
    })
}

fn wall_per_cpu(cell: &Cell<'_>, runs: &[&BlockRow]) -> Option<f64> {
    let of_run = |run: &&BlockRow| {
        let cpu = value(run, "cpu_s").filter(|seconds| *seconds >= SHORT_S)?;
        Some(value(run, "wall_s")? / cpu)
    };
    let is_on_gpu = |run: &&BlockRow| value(run, "peak_device_bytes").is_some();
    if cell.is_on_gpu() || runs.iter().any(is_on_gpu) {
        return None;
    }
    let found: Option<Vec<f64>> = runs.iter().map(of_run).collect();
    median(&found?)
}

#[cfg(test)]
mod tests;
