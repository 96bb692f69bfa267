//! The plan as a table.

use crate::cli::table::table;
use crate::plan::{AxisKind, Feasibility, Plan, PlannedCell};

use super::summary::status;

/// Gives the expected time of a cell as text, from earlier results; `None` without an estimate.
pub(super) type Estimate<'a> = &'a dyn Fn(&PlannedCell) -> Option<String>;

/// The table of a plan: its first cells, and the number of cells left out.
pub(super) fn cells_table(
    plan: &Plan,
    cells: &[PlannedCell],
    left_out: usize,
    estimate: Option<Estimate<'_>>,
) -> String {
    let has_reasons = cells
        .iter()
        .any(|cell| !status(&cell.feasibility).1.is_empty());
    let row = |cell| row(plan, cell, estimate, has_reasons);
    let gap = (left_out > 0).then(|| vec![format!("… {left_out} more")]);
    let rows = cells.iter().map(row).chain(gap);
    let axes = plan.cell_axes().iter().enumerate();
    let numbers = axes.filter(|(_, axis)| axis.kind != AxisKind::Category);
    let header = header(plan, estimate.is_some(), has_reasons);
    table(header, rows, numbers.map(|(column, _)| column))
}

fn header(plan: &Plan, has_estimate: bool, has_reasons: bool) -> Vec<&str> {
    let mut header: Vec<&str> = plan.cell_axes().iter().map(|axis| &*axis.name).collect();
    if header.is_empty() {
        header.push("key");
    }
    header.push("status");
    header.extend(has_estimate.then_some("estimate"));
    header.extend(has_reasons.then_some("reason"));
    header
}

/// Estimated time as text; empty for a cell that does not run, a dash without an estimate.
fn estimated(estimate: Estimate<'_>, cell: &PlannedCell) -> String {
    let runs = cell.feasibility == Feasibility::Runs;
    let unknown = if runs { "–" } else { "" };
    estimate(cell).unwrap_or_else(|| unknown.to_owned())
}

fn row(
    plan: &Plan,
    cell: &PlannedCell,
    estimate: Option<Estimate<'_>>,
    has_reasons: bool,
) -> Vec<String> {
    let (status, reason) = status(&cell.feasibility);
    let axes = cell.axes.iter().take(plan.cell_axes().len());
    let mut row: Vec<String> = axes.map(ToString::to_string).collect();
    if row.is_empty() {
        row.push(cell.spec.key.clone());
    }
    row.push(status.to_owned());
    row.extend(estimate.map(|estimate| estimated(estimate, cell)));
    row.extend(has_reasons.then(|| reason.to_owned()));
    row
}
