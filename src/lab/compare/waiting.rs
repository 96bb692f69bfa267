//! [`Waiting`]: wall time of runs that their CPU time does not explain.

use crate::base::statistics::median;
use crate::results::{BlockRow, value};

use super::cells::Cell;
use super::comparison::Waiting;
use super::timings::Runs;

/// Wall seconds for a CPU second above which a run waits: a run that computes all the time, with one thread or more, takes at
/// most 1 and what starting and ending takes (1.08 in the shipped reports, of runs on an idle machine).
const LEAST: f64 = 1.2;
/// How many times as many as on the other side, or of our own trainer as 1, are far above.
const FAR: f64 = 1.5;
/// CPU seconds of a run below which the clock's resolution and the start of the process decide.
const SHORT_S: f64 = 0.1;

/// The waiting of the runs of two cells; `None` where no side waits, where it was not measured, and on a GPU, for which a
/// CPU waits as a rule.
///
/// A side waits where its runs take 1.2 wall seconds or more for a CPU second, and 1.5 times as many as on the other side; or as
/// 1, where Fieldtrial trains itself: then a thread or a loader's worker always computes, whatever their number. Of a program
/// nobody knows what else it waits for by itself.
pub(super) fn waiting(before: &Cell<'_>, after: &Cell<'_>, runs: &Runs<'_>) -> Option<Waiting> {
    let (old, new) = (
        wall_per_cpu(before, &runs.before)?,
        wall_per_cpu(after, &runs.after)?,
    );
    let is_far = |own: f64, other: f64, cell: &Cell<'_>| {
        let is_program = cell.set.plan.is_of_command(cell.info);
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
