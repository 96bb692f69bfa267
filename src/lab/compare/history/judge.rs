//! Finds lasting changes and blips (single sessions apart from others) in the histories of cells.

use crate::compare::statistics::{Step, changes_and_blips};

use super::series::{CellHistory, SESSIONS_FOR_A_CHANGE, Shift};

/// Finds changes and blips of the cells of an experiment on logarithms of their times, so that differences are ratios.
pub(super) fn judge(cells: &mut [CellHistory]) {
    let is_judged = |cell: &CellHistory| cell.points.len() >= SESSIONS_FOR_A_CHANGE;
    let judged = cells.iter().filter(|cell| is_judged(cell)).count();
    for cell in cells.iter_mut().filter(|cell| is_judged(cell)) {
        let logs: Vec<f64> = cell.points.iter().map(|point| point.ms.ln()).collect();
        let found = changes_and_blips(&logs, judged, cell.threshold.value.ln_1p());
        let shift = |step: &Step| Shift {
            session: cell.points[step.at].session,
            before_ms: step.before.exp(),
            after_ms: step.after.exp(),
            p: step.p,
        };
        let (changes, blips) = (found.changes.iter(), found.blips.iter());
        (cell.changes, cell.blips) = (changes.map(shift).collect(), blips.map(shift).collect());
    }
}
