//! How much of the machine was used, from counters only: CPU seconds, counted FLOPs; never from shares of phases.

use crate::base::units::{human, human_si};
use crate::report::judged::{Judged, span};
use crate::report::number::{Provenance, fixed};
use crate::report::table::{Column, Entry, Table};
use crate::report::view::{Cell, View};
use crate::results::{BlockRow, Interval, IntervalKind, interval_over_runs};

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
        ),
        Column::number(
            "of the machine's cores",
            "%",
            &Provenance::Derived("cores busy ÷ logical cores".into()),
        ),
        Column::number(
            "achieved",
            "",
            &Provenance::Derived("FLOPs per sample × throughput".into()),
        ),
        Column::number(
            "per busy core",
            "",
            &Provenance::Derived("achieved ÷ cores busy".into()),
        ),
    ];
    let about = "CPU seconds are the process's own (wait4), over the whole run with start-up and evaluation; achieved \
                 arithmetic is over the steps, waiting included."
        .to_owned();
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
    let busy = busy(cell);
    let share = core_share(view, cell).map(|share| fixed(share.median * 100.0, 1));
    let facts = cell.runs.iter().find_map(|row| row.facts.as_ref());
    let work = facts.map(|facts| facts.flops_forward_per_sample + facts.flops_backward_per_sample);
    let achieved = work
        .zip(throughput(cell))
        .map(|(work, speed)| work * speed.value);
    let rate = |rate: Option<f64>| {
        rate.map_or_else(
            || Entry::text("–"),
            |rate| Entry::value(rate, human_si(rate, "FLOP/s")),
        )
    };
    let per_core = achieved.zip(busy).map(|(rate, busy)| rate / busy.median);
    Some(vec![
        Entry::text(times.threads.to_string()),
        busy.map_or_else(|| Entry::text("–"), |found| entry(&found)),
        Entry::text(share.unwrap_or_else(|| "–".to_owned())),
        rate(achieved),
        rate(per_core),
    ])
}

fn entry(interval: &Interval) -> Entry {
    let ends = (interval.kind != IntervalKind::Single)
        .then(|| format!("{}–{}", human(interval.low, 3), human(interval.high, 3)));
    Entry {
        detail: ends.unwrap_or_default(),
        ..Entry::value(interval.median, human(interval.median, 3))
    }
}

/// Cores that a run kept busy on average: its CPU seconds by its wall seconds.
fn busy_of(run: &BlockRow) -> Option<f64> {
    let times = run.times.as_ref()?;
    let inside = times.total_s + times.assessment_s.unwrap_or(0.0);
    let wall = run.wall_s.unwrap_or(inside);
    (wall > 0.0).then_some(run.cpu_s? / wall)
}

fn busy(cell: &Cell<'_>) -> Option<Interval> {
    let values: Vec<f64> = cell.counted.iter().filter_map(|run| busy_of(run)).collect();
    interval_over_runs(&cell.info.key, &values)
}

/// Share of the machine's logical cores that a cell's runs kept busy, 0 to 1.
pub(crate) fn core_share(view: &View<'_>, cell: &Cell<'_>) -> Option<Interval> {
    let cores = machine::cores(view, &cell.timing?.env_id)?;
    let runs = cell.counted.iter().filter_map(|run| busy_of(run));
    // Above all cores is a clock's rounding, not a use.
    let shares: Vec<f64> = runs.map(|busy| (busy / cores).min(1.0)).collect();
    interval_over_runs(&cell.info.key, &shares)
}

fn verdicts(view: &View<'_>) -> Vec<String> {
    let shares: Vec<f64> = view
        .cells
        .iter()
        .filter(|cell| cell.is_measured())
        .filter_map(|cell| Some(core_share(view, cell)?.median * 100.0))
        .collect();
    if shares.is_empty() {
        return vec!["No run has CPU seconds.".to_owned()];
    }
    let low_to_high = span(&shares, |share| fixed(share, 1));
    vec![format!(
        "Over whole runs {low_to_high} % of the machine's logical cores were busy, by the processes' CPU seconds."
    )]
}
