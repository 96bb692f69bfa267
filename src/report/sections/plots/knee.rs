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
    let mut places: Vec<(f64, Vec<String>)> = Vec::new();
    for sweep in &shown {
        let Some(found) = knee(sweep, tolerance(view)) else {
            continue;
        };
        let at = sweep
            .cells
            .iter()
            .find(|(cell, _)| cell.info.key == found.cell.info.key);
        let Some((_, size)) = at else { continue };
        let name = sweep.name(view);
        // The same size in several curves is the same number.
        match places
            .iter_mut()
            .find(|(place, _)| place.total_cmp(size).is_eq())
        {
            Some((_, names)) => names.push(name),
            None => places.push((*size, vec![name])),
        }
    }
    let text = |names: &[String]| match names {
        _ if shown.len() == 1 || names.len() == shown.len() => "knee".to_owned(),
        [one] => format!("knee: {one}"),
        several => format!("knee of {} curves", several.len()),
    };
    places
        .iter()
        .map(|(place, names)| Guide::X(*place, text(names)))
        .collect()
}
