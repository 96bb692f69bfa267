//! All differences besides times: facts, quality, cells, axes, settings.

use crate::base::text::count;
use crate::compare::{CellPair, Comparison, CountsComparability};
use crate::report::{comparison_unmatched, deciding_metrics};
use crate::results::grouped;

use super::metrics::{add_facts, add_quality};
use super::page::Page;
use crate::cli::work::{largest_change_text, text};

/// Adds all kinds of differences; a kind without any is a sentence or left out.
pub(super) fn add(page: &mut Page, comparison: &Comparison) {
    let deciding = deciding_metrics(comparison);
    add_facts(page, comparison, &deciding);
    add_work(page, comparison);
    add_quality(page, comparison, &deciding);
    let unmatched = comparison_unmatched(comparison);
    page.section("Cells and axes of one side only", &unmatched);
    page.section("Settings", &settings(&comparison.cells));
}

/// Adds "Work: 8 cells equal, 1 cell changed", and for each changed cell the operation whose counts changed most; with
/// `--all`, each changed operation. Nothing for results without counts.
fn add_work(page: &mut Page, comparison: &Comparison) {
    let cells = &comparison.cells;
    let are = |counts| cells.iter().filter(|cell| cell.counts == counts).count();
    let compared = are(CountsComparability::Compared);
    if compared == 0 {
        if are(CountsComparability::Missing(true, true)) < cells.len() {
            page.add("\nWork: not compared: one side has no counts, or they come from another device or other code.\n");
        }
        return;
    }
    let changed: Vec<&CellPair> = cells
        .iter()
        .filter(|cell| !cell.operations.is_empty())
        .collect();
    let equal_cells = count(compared - changed.len(), "cell");
    if changed.is_empty() {
        page.add(&format!("\nWork: {equal_cells} equal.\n"));
        return;
    }
    let is_all = page.printing.is_all;
    let lines = changed.iter().flat_map(|cell| {
        let texts = match &*cell.operations {
            all if is_all => all.iter().map(text).collect(),
            all => vec![largest_change_text(all)],
        };
        texts
            .into_iter()
            .map(|text| format!("{}: {text}", cell.label))
    });
    let lines: Vec<String> = lines.collect();
    page.is_cut |= !is_all && changed.iter().any(|cell| cell.operations.len() > 1);
    let changed = count(changed.len(), "cell");
    let heading = format!("Work of a step: {equal_cells} equal, {changed} changed:");
    page.section(&heading, &lines);
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
