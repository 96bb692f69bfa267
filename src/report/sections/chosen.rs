//! The few cells that are shown in detail; all of them are in the CSV files.

use crate::report::view::{Cell, View};

use super::ranking::{baseline, fastest_first};
use super::speed::timing_value;
use super::tasks::tasks;

/// Cells that are shown in detail at most.
pub(crate) const CHOSEN: usize = 3;

/// All measured cells where they are few; else of each task the baseline and the fastest, and of these the ones that
/// trained longest. In plan order.
pub(crate) fn chosen<'v, 'a>(view: &'v View<'a>) -> Vec<&'v Cell<'a>> {
    let measured: Vec<&Cell<'_>> = view.measured().collect();
    if measured.len() <= CHOSEN {
        return measured;
    }
    let mut found: Vec<&Cell<'_>> = Vec::new();
    for task in tasks(view) {
        let cells = task.cells;
        let fastest = fastest_first(&cells).first().map(|(cell, _)| *cell);
        found.extend(baseline(view, &cells).into_iter().chain(fastest));
    }
    let longest = |cell: &Cell<'_>| timing_value(cell, "train_s").unwrap_or(0.0);
    found.sort_by(|a, b| {
        let by_time = longest(b).total_cmp(&longest(a));
        by_time.then_with(|| a.info.key.cmp(&b.info.key))
    });
    found.dedup_by(|a, b| a.info.key == b.info.key);
    found.truncate(CHOSEN);
    measured
        .into_iter()
        .filter(|cell| found.iter().any(|one| one.info.key == cell.info.key))
        .collect()
}

/// Which cells are shown, in words.
pub(crate) fn which(view: &View<'_>) -> String {
    let measured = view.measured().count();
    if measured <= CHOSEN {
        "Every measured cell.".to_owned()
    } else {
        format!(
            "Of {measured} measured cells the baseline and the fastest of each task, at most {CHOSEN} that trained \
             longest; the others are in blocks.csv."
        )
    }
}
