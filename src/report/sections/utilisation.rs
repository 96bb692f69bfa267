//! How much of the machine was used, from CPU seconds; never from shares of phases.

use crate::report::view::{Cell, View};
use crate::results::{BlockRow, Interval, interval_over_runs};

use super::machine;

/// Largest excess of CPU seconds over what all cores give in the wall seconds that rounding of clocks explains.
const ROUNDING: f64 = 1.01;

/// Cores that a run kept busy on average: CPU seconds by wall seconds, both of its process from start to end. `None` where
/// the parent did not time the process (the worker's own seconds leave out profiled steps, which its CPU seconds contain),
/// or where the CPU seconds are more than `cores` give in that time.
fn busy_of(run: &BlockRow, cores: f64) -> Option<f64> {
    let busy = run.cpu_s? / run.wall_s.filter(|wall| *wall > 0.0)?;
    (busy <= cores * ROUNDING).then_some(busy.min(cores))
}

/// Share of the machine's logical cores that a cell's runs kept busy, 0 to 1.
pub(crate) fn core_share(view: &View<'_>, cell: &Cell<'_>) -> Option<Interval> {
    let cores = machine::cores(view, &cell.timing?.env_id)?;
    let runs = cell.counted.iter();
    let values = runs.filter_map(|run| Some(busy_of(run, cores)? / cores));
    interval_over_runs(&cell.info.key, &values.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::ResultSet;
    use crate::results::golden::ddpm;

    fn first_share(set: &ResultSet) -> Option<f64> {
        let view = View::of(set);
        core_share(&view, view.measured().next()?).map(|share| share.median)
    }

    #[test]
    fn cpu_seconds_are_held_only_against_wall_seconds_that_cover_them() {
        let mut set = ddpm();
        assert!(first_share(&set).is_some_and(|share| 0.0 < share && share <= 1.0));
        // The worker's own seconds lack profiled steps: 2.17 of 2 cores.
        for run in &mut set.blocks {
            run.cpu_s = run.times.as_deref().map(|times| times.total_s * 2.17);
            run.wall_s = None;
        }
        assert_eq!(first_share(&set), None);
        // Nor do wall seconds count that cannot contain so many.
        for run in &mut set.blocks {
            run.wall_s = run.times.as_deref().map(|times| times.total_s);
        }
        assert_eq!(first_share(&set), None);
    }
}
