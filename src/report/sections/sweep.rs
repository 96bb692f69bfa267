//! [`Sweep`]: cells that differ in one numeric axis and in nothing else.

use crate::report::judged::{plain, span};
use crate::report::view::{Cell, View};
use crate::results::{Interval, IntervalKind, grouped};

use super::ranking::not_comparable;
use super::speed::{THROUGHPUT, throughput, timing_value};

/// Cells that differ in one axis only, in its order.
pub(crate) struct Sweep<'v, 'a> {
    /// Place of the axis.
    pub(crate) axis: usize,
    /// The measured cells, with their value.
    pub(crate) cells: Vec<(&'v Cell<'a>, f64)>,
}

/// Every line of two measured cells or more of one work, code and environment along the axis of this path, in plan order.
pub(crate) fn sweeps<'v, 'a>(view: &'v View<'a>, path: &str) -> Vec<Sweep<'v, 'a>> {
    let axes = &view.set.plan.axes;
    let Some(axis) = axes.iter().position(|axis| axis.path == path) else {
        return Vec::new();
    };
    let others = |cell: &'v Cell<'a>| -> Vec<&'v str> {
        let places = (0..axes.len()).filter(|&place| place != axis);
        places.map(|place| &*cell.info.axes[place]).collect()
    };
    let swept = view.cells.iter();
    let swept = swept.filter_map(|cell| Some((cell, cell.info.axes[axis].parse::<f64>().ok()?)));
    let measured = swept.filter(|(cell, _)| timing_value(cell, THROUGHPUT).is_some());
    let lines = grouped(measured, |(cell, _)| others(cell)).into_iter();
    let sweeps = lines.map(|mut cells| {
        // Cells measured with other code or elsewhere have no ratio to the rest.
        let first = cells[0].0;
        cells.retain(|(cell, _)| not_comparable(view, first, cell).is_none());
        cells.sort_by(|a, b| a.1.total_cmp(&b.1));
        Sweep { axis, cells }
    });
    sweeps.filter(|sweep| sweep.cells.len() > 1).collect()
}

impl Sweep<'_, '_> {
    /// Settings that the sweep's cells share and others do not have.
    pub(crate) fn name(&self, view: &View<'_>) -> String {
        let cells: Vec<&Cell<'_>> = self.cells.iter().map(|(cell, _)| *cell).collect();
        view.shared_name(&cells)
    }

    /// "n = 2", or "n = 2–9".
    pub(crate) fn n(&self) -> String {
        let counts = self.cells.iter();
        let counts = counts.filter_map(|(cell, _)| Some(cell.timing?.n as f64));
        format!("n = {}", span(&counts.collect::<Vec<f64>>(), plain))
    }
}

/// The interval of the throughput; `None` where there was one run.
pub(crate) fn interval(cell: &Cell<'_>) -> Option<Interval> {
    let found = cell.timing?.values.get("samples_per_s")?;
    (found.kind != IntervalKind::Single).then_some(*found)
}

/// "9.06 samples/s (8.67–9.45)".
pub(crate) fn in_words(cell: &Cell<'_>) -> String {
    throughput(cell).map_or_else(|| "not measured".to_owned(), |speed| speed.shown())
}
