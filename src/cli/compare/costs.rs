//! Costs of runs other than time, and wall time that CPU time does not explain.

use crate::base::text::capitalised;
use crate::compare::{CellPair, Comparison, CostChange};
use crate::report::{Words, comparison_costs, comparison_waiting};

use super::page::{Page, environments_note};
use super::words::{ratio, verdict};

/// Adds the numbers of cells by verdict, and a line for each cell with a higher or lower cost; with `--all`, for every
/// cell.
pub(super) fn add(page: &mut Page, comparison: &Comparison) {
    let told = comparison_costs(comparison).join(" ");
    let is_all = page.printing.is_all;
    let is_shown = |own: &&CostChange| is_all || own.is_effect();
    let cells = comparison.cells.iter();
    let lines = cells.flat_map(|cell| {
        let shown = cell.costs.iter().filter(is_shown);
        shown.map(|own| line(comparison, cell, own))
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() && !told.is_empty() {
        page.add(&format!("\n{told}\n"));
    }
    page.section(&told, &lines);
    if let Some(waiting) = comparison_waiting(comparison) {
        page.add(&format!("\n{}.\n", capitalised(&waiting)));
    }
}

/// A line on one cost of a cell: `batch-size 8: CPU time 61.3 s → 67.4 s, 1.100× (1.091–1.109), more, p = 0.0022`.
fn line(comparison: &Comparison, cell: &CellPair, own: &CostChange) -> String {
    let (judgement, words) = (&own.judgement, Words::default());
    let value = |value: Option<f64>| {
        value.map_or_else(|| "–".to_owned(), |value| words.cost_value(own.cost, value))
    };
    let (before, after) = (value(own.medians.0), value(own.medians.1));
    let (word, why) = verdict(&judgement.verdict, judgement.p_holm, judgement.detectable);
    let times = judgement.ratio.as_ref();
    let times = times.map(|times| format!("{}{}", ratio(times), environments_note(comparison)));
    let parts = times.into_iter().chain([word]).chain(why);
    let parts = parts.collect::<Vec<String>>().join(", ");
    let (label, name) = (&cell.label, words.cost(own.cost));
    format!("{label}: {name} {before} → {after}, {parts}")
}
