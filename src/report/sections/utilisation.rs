//! How much of the machine was used, from counters only: CPU seconds, counted FLOPs; never from shares of phases.

use crate::base::units::human;
use crate::report::number::fixed;
use crate::report::section::Section;
use crate::report::table::{ColumnKind, Entry};
use crate::report::view::{Cell, View};
use crate::results::{BlockRow, Interval, interval_over_runs};

use super::field::{self, OfCell};
use super::{gpu, machine};

/// The table of core use and achieved arithmetic.
pub(crate) fn judged(view: &View<'_>) -> Section {
    let fields = [
        OfCell::derived(
            "cores busy",
            "",
            "CPU seconds ÷ wall seconds, median of n runs",
            |cell| {
                let found = busy(view, cell, 1.0);
                let entry = |found: Interval| {
                    Entry::between(found.median, found.ends(), |cores| human(cores, 3))
                };
                found.map_or_else(|| Entry::text("–"), entry)
            },
        )
        .of(ColumnKind::Utilisation),
        OfCell::derived(
            "of the machine's cores",
            "%",
            "CPU seconds ÷ (wall seconds × logical cores)",
            |cell| {
                let share = core_share(view, cell).map(|share| share.median * 100.0);
                Entry::shown(share, |share| fixed(share, 1))
            },
        )
        .of(ColumnKind::Utilisation),
    ];
    let about = format!(
        "CPU seconds and wall seconds are those of the process from its start to its end, with start-up, evaluation and \
         profiled steps; achieved arithmetic stands under “Complexity against time”.{}",
        left_out(view)
    );
    let has_times = |cell: &Cell<'_>| cell.counted.first().is_some_and(|run| run.times.is_some());
    let head = ("utilisation", "Use of the machine", about);
    let table = field::of_cells(view, head, &fields, has_times);
    let counted = if gpu::is_measured(view) {
        "how busy GPUs were stands below"
    } else {
        "none did in these results"
    };
    let rule = format!(
        "Utilisation comes from counters alone: CPU seconds of the process, FLOPs counted by the operations. A share of \
         the device's peak, and how busy a GPU was, are stated only where a counter measured them; {counted}."
    );
    Section::judged(table, rule, Vec::new())
}

/// Largest excess of CPU seconds over what all cores give in the wall seconds that rounding of clocks explains.
const ROUNDING: f64 = 1.01;

/// Cores that a run kept busy on average: CPU seconds by wall seconds, both of its process from start to end. `None` where
/// the parent did not time the process (the worker's own seconds leave out profiled steps, which its CPU seconds contain),
/// or where the CPU seconds are more than `cores` give in that time.
fn busy_of(run: &BlockRow, cores: f64) -> Option<f64> {
    let busy = run.cpu_s? / run.wall_s.filter(|wall| *wall > 0.0)?;
    (busy <= cores * ROUNDING).then_some(busy.min(cores))
}

/// The same over the runs of a cell, in units of `unit` cores.
fn busy(view: &View<'_>, cell: &Cell<'_>, unit: f64) -> Option<Interval> {
    let cores = machine::cores(view, &cell.timing?.env_id).unwrap_or(f64::INFINITY);
    let runs = cell.counted.iter();
    let values = runs.filter_map(|run| Some(busy_of(run, cores)? / unit));
    interval_over_runs(&cell.info.key, &values.collect::<Vec<_>>())
}

/// Share of the machine's logical cores that a cell's runs kept busy, 0 to 1.
pub(crate) fn core_share(view: &View<'_>, cell: &Cell<'_>) -> Option<Interval> {
    busy(view, cell, machine::cores(view, &cell.timing?.env_id)?)
}

/// Why cells with CPU seconds have no number of cores, as a sentence that follows another; empty where none is left out.
fn left_out(view: &View<'_>) -> &'static str {
    let has_seconds = |cell: &&Cell<'_>| cell.counted.iter().any(|run| run.cpu_s.is_some());
    let mut cells = view.cells.iter().filter(has_seconds);
    if cells.all(|cell| busy(view, cell, 1.0).is_some()) {
        ""
    } else {
        " Cores busy are left out where the wall seconds of the process were not recorded, or do not cover the CPU seconds."
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::table::Column;
    use crate::results::ResultSet;
    use crate::results::golden::ddpm;

    /// "cores busy" and its share of the machine in the first row, and what stands above the table.
    fn first_row(set: &ResultSet) -> (Vec<String>, String) {
        let table = judged(&View::of(set)).tables.remove(0);
        let is_busy = |column: &Column| column.heading == "cores busy";
        let place = table.columns.iter().position(is_busy);
        let fields = table.rows[0].fields.iter().skip(place.expect("a column"));
        let texts = fields.take(2).map(|field| field.text.clone());
        (texts.collect(), table.about)
    }

    #[test]
    fn cpu_seconds_are_held_only_against_wall_seconds_that_cover_them() {
        let mut set = ddpm();
        let (fields, about) = first_row(&set);
        assert!(fields.iter().all(|text| text != "–"), "{fields:?}");
        assert!(!about.contains("left out where"), "{about}");
        // The worker's own seconds lack profiled steps: 2.17 of 2 cores.
        for run in &mut set.blocks {
            run.cpu_s = run.times.as_deref().map(|times| times.total_s * 2.17);
            run.wall_s = None;
        }
        let (fields, about) = first_row(&set);
        assert_eq!(fields, ["–", "–"]);
        assert!(about.contains("left out where"), "{about}");
        // Nor do wall seconds count that cannot contain so many.
        for run in &mut set.blocks {
            run.wall_s = run.times.as_deref().map(|times| times.total_s);
        }
        assert_eq!(first_row(&set).0, ["–", "–"]);
    }
}
