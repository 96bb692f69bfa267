//! All differences besides times: facts, quality, cells, axes, settings.

use crate::base::text::count;
use crate::compare::{CellPair, Comparison};
use crate::report::{comparison_matching, deciding_metrics};
use crate::results::grouped;

use super::metrics::{add_facts, add_quality};
use super::page::Page;

/// Adds every part; one without differences is a sentence or nothing.
pub(super) fn add(page: &mut Page, comparison: &Comparison) {
    let deciding = deciding_metrics(comparison);
    add_facts(page, comparison, &deciding);
    add_quality(page, comparison, &deciding);
    let unmatched = comparison_matching(comparison);
    page.section("Cells and axes of one side only", &unmatched);
    page.section("Settings", &settings(&comparison.cells));
}

/// Each changed setting once, with the number of cells that have the change.
fn settings(cells: &[CellPair]) -> Vec<String> {
    let changes = cells.iter().flat_map(|cell| &cell.changes);
    let found = grouped(changes, |change| {
        (&change.path, &change.before, &change.after)
    });
    let value = |text: &Option<String>| text.clone().unwrap_or_else(|| "–".to_owned());
    let lines = found.iter().map(|same| {
        let change = same[0];
        let cells = if same.len() == cells.len() {
            "all cells".to_owned()
        } else {
            count(same.len(), "cell")
        };
        let (before, after) = (value(&change.before), value(&change.after));
        format!("{}: {before} → {after} ({cells})", change.path)
    });
    lines.collect()
}
