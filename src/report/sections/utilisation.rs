//! How much of the machine was used, from counters only: CPU seconds, counted FLOPs; never from shares of phases.

use crate::base::units::{human, human_si};
use crate::report::judged::{Judged, span};
use crate::report::number::{Provenance, fixed};
use crate::report::table::{Column, ColumnKind, Entry, Table};
use crate::report::view::{Cell, View};
use crate::results::{BlockRow, Interval, interval_over_runs};

use super::speed::throughput;
use super::{gpu, machine};

/// The table of core use and achieved arithmetic.
pub(crate) fn judged(view: &View<'_>) -> Judged {
    let columns = vec![
        Column::number(
            "threads",
            "",
            &Provenance::Measured("threads that computed".into()),
        ),
        Column::number(
            "cores busy",
            "",
            &Provenance::Derived("CPU seconds ÷ wall seconds, median of n runs".into()),
        )
        .of(ColumnKind::Utilisation),
        Column::number(
            "of the machine's cores",
            "%",
            &Provenance::Derived("CPU seconds ÷ (wall seconds × logical cores)".into()),
        )
        .of(ColumnKind::Utilisation),
        Column::number(
            "achieved",
            "",
            &Provenance::Derived("FLOPs per sample × throughput".into()),
        ),
    ];
    let about = format!(
        "CPU seconds and wall seconds are those of the process from its start to its end, with start-up, evaluation and \
         profiled steps; achieved arithmetic is over the measured steps, waiting included, so that the one is not held \
         against the other.{}",
        left_out(view)
    );
    let table = Table::of_cells(
        view,
        ("utilisation", "Use of the machine", about),
        columns,
        |cell| fields(view, cell),
    );
    let counted = if gpu::is_measured(view) {
        "how busy GPUs were stands below"
    } else {
        "none did in these results"
    };
    let rule = format!(
        "Utilisation comes from counters alone: CPU seconds of the process, FLOPs counted by the operations. A share of \
         the device's peak, and how busy a GPU was, are stated only where a counter measured them; {counted}."
    );
    Judged::new(table, rule, verdicts(view))
}

fn fields(view: &View<'_>, cell: &Cell<'_>) -> Option<Vec<Entry>> {
    let times = cell.counted.first()?.times.as_ref()?;
    let busy = busy(view, cell, 1.0);
    let share = core_share(view, cell).map(|share| share.median * 100.0);
    let facts = cell.runs.iter().find_map(|row| row.facts.as_ref());
    let work = facts.map(|facts| facts.flops_forward_per_sample + facts.flops_backward_per_sample);
    let achieved = work
        .zip(throughput(cell))
        .map(|(work, speed)| work * speed.value);
    Some(vec![
        Entry::count(times.threads),
        busy.map_or_else(|| Entry::text("–"), |found| entry(&found)),
        Entry::shown(share, |share| fixed(share, 1)),
        Entry::shown(achieved, |rate| human_si(rate, "FLOP/s")),
    ])
}

fn entry(interval: &Interval) -> Entry {
    Entry::between(interval.median, interval.ends(), |value| human(value, 3))
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

fn verdicts(view: &View<'_>) -> Vec<String> {
    let shares: Vec<f64> = view
        .cells
        .iter()
        .filter(|cell| cell.is_measured())
        .filter_map(|cell| Some(core_share(view, cell)?.median * 100.0))
        .collect();
    if shares.is_empty() {
        return vec!["No run has CPU seconds and wall seconds of the same process.".to_owned()];
    }
    let low_to_high = span(&shares, |share| fixed(share, 1));
    vec![format!(
        "Over whole runs {low_to_high} % of the machine's logical cores were busy, by the processes' CPU seconds."
    )]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::ResultSet;
    use crate::results::golden::ddpm;

    /// "cores busy" and its share of the machine in the first row, and what stands above the table.
    fn first_row(set: &ResultSet) -> (Vec<String>, String) {
        let table = judged(&View::of(set)).table;
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
            run.cpu_s = run.times.as_ref().map(|times| times.total_s * 2.17);
            run.wall_s = None;
        }
        let (fields, about) = first_row(&set);
        assert_eq!(fields, ["–", "–"]);
        assert!(about.contains("left out where"), "{about}");
        // Nor do wall seconds count that cannot contain so many.
        for run in &mut set.blocks {
            run.wall_s = run.times.as_ref().map(|times| times.total_s);
        }
        assert_eq!(first_row(&set).0, ["–", "–"]);
    }
}
