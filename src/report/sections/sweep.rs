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
    /// Cells of the same line that were measured with other code or elsewhere.
    pub(crate) apart: Vec<&'v Cell<'a>>,
}

/// Every line of two cells or more along the axis of this path, in plan order; only measured cells of one work, code
/// and environment stand in [`Sweep::cells`].
///
/// At 0 the axes in `idle` set nothing (workers that persist, where there are none): such a cell belongs to every line
/// that differs in them only.
pub(crate) fn sweeps<'v, 'a>(view: &'v View<'a>, path: &str, idle: &[&str]) -> Vec<Sweep<'v, 'a>> {
    let axes = &view.set.plan.axes;
    let Some(axis) = axes.iter().position(|axis| axis.path == path) else {
        return Vec::new();
    };
    let is_idle = |place: usize| idle.contains(&&*axes[place].path);
    let has_idle = (0..axes.len()).any(is_idle);
    // A cell's values on the other axes, those in `idle` only where they are asked for.
    let others = |cell: &'v Cell<'a>, with_idle: bool| -> Vec<&'v str> {
        let places = (0..axes.len()).filter(|&place| place != axis);
        let places = places.filter(|&place| with_idle || !is_idle(place));
        places.map(|place| &*cell.info.axes[place]).collect()
    };
    let swept = view.cells.iter();
    let swept = swept.filter_map(|cell| Some((cell, cell.info.axes[axis].parse::<f64>().ok()?)));
    let is_zero = |(_, value): &(&Cell<'_>, f64)| has_idle && *value == 0.0;
    let (zeros, rest): (Vec<_>, Vec<_>) = swept.partition(is_zero);
    let lines = grouped(rest, |(cell, _)| others(cell, true)).into_iter();
    let sweeps = lines.map(|line| {
        let first = others(line[0].0, false);
        let zeros = zeros
            .iter()
            .filter(|(cell, _)| others(cell, false) == first);
        Sweep::of(view, axis, line.iter().chain(zeros))
    });
    let is_line = |sweep: &Sweep<'_, '_>| sweep.cells.len() + sweep.apart.len() > 1;
    sweeps.filter(is_line).collect()
}

impl<'v, 'a> Sweep<'v, 'a> {
    fn of<'c>(
        view: &View<'_>,
        axis: usize,
        line: impl Iterator<Item = &'c (&'v Cell<'a>, f64)>,
    ) -> Self
    where
        'v: 'c,
        'a: 'c,
    {
        let (mut cells, mut apart): (Vec<(&Cell<'_>, f64)>, Vec<&Cell<'_>>) = Default::default();
        for &(cell, value) in line {
            // What was measured with other code or elsewhere has no ratio to the rest.
            let mut first = cells.iter().take(1);
            let fits = first.all(|(first, _)| not_comparable(view, first, cell).is_none());
            if timing_value(cell, THROUGHPUT).is_some() && fits {
                cells.push((cell, value));
            } else if cell.is_measured() {
                apart.push(cell);
            }
        }
        cells.sort_by(|a, b| a.1.total_cmp(&b.1));
        Self { axis, cells, apart }
    }
}

impl Sweep<'_, '_> {
    /// Whether there are two measured cells, which a verdict needs.
    pub(crate) fn is_curve(&self) -> bool {
        self.cells.len() > 1
    }

    /// What its cells have in common and others do not.
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
