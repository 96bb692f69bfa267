//! Size and arithmetic of the models compared with their times.

use crate::base::units::{human_integer, human_si};
use crate::event::RunFacts;
use crate::report::table::{Column, ColumnKind, Entry, Table, spread_entry};
use crate::report::view::{Cell, View};

use super::field::{self, CellColumn};
use crate::report::timing::{THROUGHPUT, timing_value};

/// Parameters and FLOPs of a sample as a sentence, if all cells have the same numbers.
pub(crate) fn common_size_sentence(view: &View<'_>) -> Option<String> {
    let mut works = view.cells.iter().filter_map(work);
    let (parameters, flops) = works.next()?;
    let are_same = works.all(|own| own == (parameters, flops));
    (are_same && flops > 0.0).then(|| {
        format!(
            "In all cells: {} parameters, {} per sample, forward and backward.",
            human_integer(parameters),
            human_si(flops, "FLOP")
        )
    })
}

/// Number of parameters, and FLOPs per sample (forward and backward).
fn work(cell: &Cell<'_>) -> Option<(u64, f64)> {
    let facts = cell.facts().next()?;
    Some((facts.parameters, both(facts)))
}

/// The table of parameters and FLOPs; `None` if all cells have the same numbers.
pub(crate) fn table(view: &View<'_>) -> Option<Table> {
    if common_size_sentence(view).is_some() {
        return None;
    }
    let counted = Column::derived("parameters", "", "counted values").with_kind(ColumnKind::Count);
    let flops = |heading, get: fn(&RunFacts) -> f64| {
        CellColumn::derived(heading, "", "counted by the operations", move |cell| {
            over_seeds(cell, get)
        })
    };
    let fields = [
        CellColumn::new(counted, |cell| {
            let parameters = cell.facts().next().map(|facts| facts.parameters as f64);
            let parameters = parameters.filter(|count| *count > 0.0);
            Entry::shown(parameters, |parameters| human_integer(parameters as u64))
        }),
        flops("forward, per sample", |facts| {
            facts.flops_forward_per_sample
        }),
        flops("FLOPs per sample", both),
        CellColumn::derived("achieved", "", "FLOPs per sample × throughput", |cell| {
            let work = over_seeds(cell, both).value;
            let rate = work.zip(timing_value(cell, THROUGHPUT));
            let rate = rate.map(|(work, speed)| speed * work);
            Entry::shown(rate, |rate| human_si(rate, "FLOP/s"))
        }),
    ];
    let about = "Counted by each operation on its shapes, a multiplication and an addition as two; achieved is over the whole step."
        .to_owned();
    let head = ("complexity", "Parameters and FLOPs", about);
    Some(field::of_cells(view, head, &fields, |cell| {
        over_seeds(cell, both).value.is_some()
    }))
}

/// FLOPs over the seeds: if they differ by seed (work may depend on the data), the median with the range.
fn over_seeds(cell: &Cell<'_>, get: fn(&RunFacts) -> f64) -> Entry {
    // A program that does not report FLOPs has the value 0, which means unknown.
    let values = cell.facts().map(get).filter(|flops| *flops > 0.0);
    let values: Vec<f64> = values.collect();
    spread_entry(&values, |value| human_si(value, "FLOP"))
}

fn both(facts: &RunFacts) -> f64 {
    facts.flops_forward_per_sample + facts.flops_backward_per_sample
}
