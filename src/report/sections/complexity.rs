//! Size and arithmetic of the models against the time that they take.

use crate::base::statistics::{median, range};
use crate::base::units::{human_integer, human_si};
use crate::event::RunFacts;
use crate::report::number::{Number, Provenance};
use crate::report::table::{Column, Entry, Table};
use crate::report::view::{Cell, View};
use crate::results::interval_over_runs;

use super::speed::{throughput, timing};
use super::target::targets;

/// The table of parameters, FLOPs and times.
pub(crate) fn table(view: &View<'_>) -> Table {
    let targets = targets(view);
    let counted = Provenance::Derived("counted by the operations".into());
    let median = Provenance::Measured("median of n runs".into());
    let values = Provenance::Derived("counted values".into());
    let per_sample =
        Provenance::Derived("median step ÷ samples of a step, median of n runs".into());
    let rate = Provenance::Derived("FLOPs per sample × throughput".into());
    let mut columns = vec![
        Column::count("parameters", &values),
        Column::number("FLOPs per sample", "", &counted),
        Column::number("epoch", "s", &median),
        Column::number("step", "ms", &median),
        Column::number("time per sample", "ms", &per_sample),
        Column::number("achieved", "", &rate),
    ];
    columns.extend(targets.iter().map(super::target::Target::column));
    columns.push(Column::number("time to the best epoch", "s", &median));
    let stated = if targets.is_empty() {
        " No target is stated ([report] target), so that no time to one is told."
    } else {
        ""
    };
    let about = format!(
        "FLOPs of forward and backward pass, counted by each operation on its shapes, a multiplication and an addition as \
         two; achieved is over the whole step, waiting included. The best epoch need not be where training \
         converges.{stated}"
    );
    let head = ("complexity", "Complexity against time", about);
    Table::of_cells(view, head, columns, |cell| {
        let facts = cell.runs.iter().find_map(|row| row.facts.as_ref())?;
        let both =
            |facts: &RunFacts| facts.flops_forward_per_sample + facts.flops_backward_per_sample;
        let flops = counted_flops(cell, both)?;
        let work = flops.value?;
        let achieved = throughput(cell).map(|speed| speed.value * work);
        let mut fields = vec![
            Entry::value(facts.parameters as f64, human_integer(facts.parameters)),
            flops,
            Entry::number(timing(cell, "epoch_s").as_ref()),
            Entry::number(timing(cell, "step_ms").as_ref()),
            sample_entry(view, cell),
            achieved.map_or_else(
                || Entry::text("–"),
                |rate| Entry::value(rate, human_si(rate, "FLOP/s")),
            ),
        ];
        fields.extend(targets.iter().map(|target| target.time(cell)));
        fields.push(Entry::number(timing(cell, "best_epoch_s").as_ref()));
        Some(fields)
    })
}

/// FLOPs over the seeds: counts that differ by seed, as work that depends on the data does, are medians with their range.
fn counted_flops(cell: &Cell<'_>, both: fn(&RunFacts) -> f64) -> Option<Entry> {
    let rows = cell.runs.iter().filter_map(|row| row.facts.as_ref());
    let forward: Vec<f64> = rows
        .clone()
        .map(|facts| facts.flops_forward_per_sample)
        .collect();
    let all: Vec<f64> = rows.map(both).collect();
    let (low, high) = range(&all)?;
    let show = |value: f64| human_si(value, "FLOP");
    let spread = match (show(low), show(high)) {
        (low, high) if low == high => String::new(),
        (low, high) => format!("{low}–{high}; "),
    };
    let middle = median(&all)?;
    Some(Entry {
        detail: format!("{spread}forward {}", show(median(&forward)?)),
        interval: (all.len() > 1).then_some((low, high)),
        ..Entry::value(middle, show(middle))
    })
}

/// Milliseconds per sample of each run that counts: its median step by the samples of a step, as comparisons have it.
pub(crate) fn sample_times(view: &View<'_>, cell: &Cell<'_>) -> Vec<f64> {
    let runs = cell.counted.iter();
    let plan = &view.set.plan;
    runs.filter_map(|run| plan.sample_ms(cell.info, run))
        .collect()
}

/// The same as a field: median with interval.
pub(crate) fn sample_entry(view: &View<'_>, cell: &Cell<'_>) -> Entry {
    let found = interval_over_runs(&cell.info.key, &sample_times(view, cell));
    let number = found.map(|found| Number::timing(&found, "ms", cell.counted.len()));
    Entry::number(number.as_ref())
}

/// The median of [`sample_times`].
pub(crate) fn sample_ms(view: &View<'_>, cell: &Cell<'_>) -> Option<f64> {
    median(&sample_times(view, cell))
}
