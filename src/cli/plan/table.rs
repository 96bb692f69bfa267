//! The plan as a table.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};

use crate::plan::{AxisKind, Feasibility, Plan, PlannedCell};

use super::summary::status;

/// Expected seconds of a cell, from earlier results.
pub(super) type Estimate<'a> = &'a dyn Fn(&PlannedCell) -> Option<String>;

/// Prints the first and the last cells, and the number of cells left out between them.
pub(super) fn table(
    plan: &Plan,
    first: &[PlannedCell],
    last: &[PlannedCell],
    left_out: usize,
    estimate: Option<Estimate<'_>>,
) -> String {
    let cells = || first.iter().chain(last);
    let has_reasons = cells().any(|cell| !status(&cell.feasibility).1.is_empty());
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header(plan, estimate.is_some(), has_reasons));
    for cell in first {
        table.add_row(row(plan, cell, estimate, has_reasons));
    }
    if left_out > 0 {
        table.add_row(vec![format!("… {left_out} more")]);
    }
    for cell in last {
        table.add_row(row(plan, cell, estimate, has_reasons));
    }
    for (index, axis) in plan.cell_axes().iter().enumerate() {
        if axis.kind != AxisKind::Category
            && let Some(column) = table.column_mut(index)
        {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    if let Some(column) = table.column_mut(0) {
        column.set_padding((0, 1));
    }
    let text = table.to_string();
    text.lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

fn header(plan: &Plan, has_estimate: bool, has_reasons: bool) -> Vec<String> {
    let axes = plan.cell_axes().iter().map(|axis| axis.name.clone());
    let lonely = plan.cell_axes().is_empty().then(|| "key".to_owned());
    let estimate = has_estimate.then(|| "estimate".to_owned());
    let reason = has_reasons.then(|| "reason".to_owned());
    lonely
        .into_iter()
        .chain(axes)
        .chain(["status".to_owned()])
        .chain(estimate)
        .chain(reason)
        .collect()
}

/// Empty for a cell that does not run, a dash if there is no estimate.
fn estimated(estimate: Estimate<'_>, cell: &PlannedCell) -> String {
    let unknown = if cell.feasibility == Feasibility::Runs {
        "–"
    } else {
        ""
    };
    estimate(cell).unwrap_or_else(|| unknown.to_owned())
}

fn row(
    plan: &Plan,
    cell: &PlannedCell,
    estimate: Option<Estimate<'_>>,
    has_reasons: bool,
) -> Vec<Cell> {
    let (status, reason) = status(&cell.feasibility);
    let lonely = plan
        .cell_axes()
        .is_empty()
        .then_some(cell.spec.key.as_str());
    let shown = plan.cell_axes().len();
    let texts = lonely
        .into_iter()
        .chain(cell.axes.iter().take(shown).map(|text| &**text))
        .chain([status]);
    let mut row: Vec<Cell> = texts.map(Cell::new).collect();
    row.extend(estimate.map(|estimate| Cell::new(estimated(estimate, cell))));
    row.extend(has_reasons.then(|| Cell::new(reason)));
    row
}
