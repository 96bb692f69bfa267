//! The knees of the batch-size curves, as guides of a plot.

use crate::report::plot::{Guide, SERIES};
use crate::report::sections::batch_curve::{AXIS, knee, tolerance};
use crate::report::sections::sweep::{Sweep, sweeps};
use crate::report::view::View;

/// One guide for each batch size at which some curve has its knee: the smallest within a few percent of its best.
pub(super) fn guides(view: &View<'_>) -> Vec<Guide> {
    let mut shown = sweeps(view, AXIS, &[]);
    shown.retain(Sweep::is_curve);
    shown.truncate(SERIES);
    let knees = shown.iter().filter_map(|sweep| {
        let key = &knee(sweep, tolerance(view))?.cell.info.key;
        let mut cells = sweep.cells.iter();
        cells.find(|(cell, _)| cell.info.key == *key)
    });
    let mut sizes: Vec<f64> = knees.map(|(_, size)| *size).collect();
    sizes.sort_by(f64::total_cmp);
    // The same size in several curves is the same number.
    sizes.dedup_by(|a, b| a.total_cmp(b).is_eq());
    let guide = |size| Guide::X(size, "knee".to_owned());
    sizes.into_iter().map(guide).collect()
}
