//! The knees of the batch-size curves, as guides of a plot.

use crate::report::plot::SERIES;
use crate::report::sections::batch_curve::{AXIS, knee, tolerance};
use crate::report::sections::sweep::{Sweep, sweeps};
use crate::report::view::View;

/// One guide for each batch size at which some curve has its knee: the smallest within a few percent of its best.
pub(super) fn guides(view: &View<'_>) -> Vec<(f64, String)> {
    let mut shown = sweeps(view, AXIS, &[]);
    shown.retain(Sweep::is_curve);
    shown.truncate(SERIES);
    let is_one = shown.len() == 1;
    let mut guides: Vec<(f64, Vec<String>)> = Vec::new();
    for sweep in &shown {
        let Some(knee) = knee(sweep, tolerance(view)) else {
            continue;
        };
        let mut cells = sweep.cells.iter();
        let Some((_, size)) = cells.find(|(cell, _)| cell.info.key == knee.cell.info.key) else {
            continue;
        };
        // The same size in several curves is the same number.
        match guides.iter_mut().find(|(at, _)| at.total_cmp(size).is_eq()) {
            Some((_, names)) => names.push(sweep.name(view)),
            None => guides.push((*size, vec![sweep.name(view)])),
        }
    }
    guides.sort_by(|a, b| a.0.total_cmp(&b.0));
    let text = |names: &[String]| match names {
        [name] if !is_one => format!("knee: {name}"),
        _ => "knee".to_owned(),
    };
    let guides = guides.into_iter();
    guides.map(|(size, names)| (size, text(&names))).collect()
}
