//! The knees of the batch-size curves, as guides of a plot.

use crate::report::plot::SERIES;
use crate::report::sections::batch_curve::{AXIS, knee, tolerance};
use crate::report::sections::sweep::{Sweep, sweeps};
use crate::report::view::View;
use crate::results::grouped;

/// One guide for each batch size at which some curve has its knee: the smallest within a few percent of its best.
pub(super) fn guides(view: &View<'_>) -> Vec<(f64, String)> {
    let mut shown = sweeps(view, AXIS, &[]);
    shown.retain(Sweep::is_curve);
    shown.truncate(SERIES);
    let is_one = shown.len() == 1;
    let knees = shown.iter().filter_map(|sweep| {
        let knee = knee(sweep, tolerance(view))?;
        let mut cells = sweep.cells.iter();
        let (_, size) = cells.find(|(cell, _)| cell.info.key == knee.cell.info.key)?;
        Some((*size, sweep))
    });
    // Curves with the same knee share a guide.
    let mut guides = grouped(knees, |(size, _)| size.to_bits());
    guides.sort_by(|a, b| a[0].0.total_cmp(&b[0].0));
    let text = |knees: &[(f64, &Sweep<'_, '_>)]| match knees {
        [(_, sweep)] if !is_one => format!("knee: {}", sweep.name(view)),
        _ => "knee".to_owned(),
    };
    let guides = guides.iter();
    guides.map(|knees| (knees[0].0, text(knees))).collect()
}
