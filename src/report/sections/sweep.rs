//! [`Sweep`]: cells that differ in one numeric axis and in nothing else.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::statistics::range;
use crate::report::table::{Column, Entry, Row};
use crate::report::view::{Cell, View};
use crate::results::{Interval, IntervalKind};

use super::ranking::not_comparable;
use super::speed::{throughput, timing};

/// Cells that differ in one axis only, in its order.
pub(crate) struct Sweep<'v, 'a> {
    /// Place of the axis.
    pub(crate) axis: usize,
    /// The measured cells, with their value.
    pub(crate) cells: Vec<(&'v Cell<'a>, f64)>,
    /// Cells of the same line that were measured with other code or elsewhere.
    apart: Vec<&'v Cell<'a>>,
}

/// A line of cells under construction, by its values on the other axes.
type Line<'v, 'a> = (Vec<&'v str>, Sweep<'v, 'a>);

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
    let mut lines: Vec<Line<'v, 'a>> = Vec::new();
    let mut places: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    let mut zeros: Vec<&'v Cell<'a>> = Vec::new();
    for cell in &view.cells {
        let Ok(value) = cell.info.axes[axis].parse::<f64>() else {
            continue;
        };
        if value == 0.0 && (0..axes.len()).any(is_idle) {
            zeros.push(cell);
            continue;
        }
        let others = others(cell, axis);
        let place = *places.entry(others.clone()).or_insert(lines.len());
        if place == lines.len() {
            lines.push((others, Sweep::new(axis)));
        }
        lines[place].1.add(view, cell, value);
    }
    for cell in zeros {
        let own = others(cell, axis);
        for (known, line) in &mut lines {
            let pairs = own.iter().zip(known.iter()).enumerate();
            // The swept axis itself is left out of the values.
            let mut apart = pairs.filter(|(_, (a, b))| a != b).map(|(place, _)| place);
            if apart.all(|place| is_idle(place + usize::from(place >= axis))) {
                line.add(view, cell, 0.0);
            }
        }
    }
    let mut found: Vec<Sweep<'v, 'a>> = lines.into_iter().map(|(_, line)| line).collect();
    found.retain(|line| line.cells.len() + line.apart.len() > 1);
    for line in &mut found {
        line.cells.sort_by(|a, b| a.1.total_cmp(&b.1));
    }
    found
}

/// A cell's values on all axes but one.
fn others<'c>(cell: &'c Cell<'_>, axis: usize) -> Vec<&'c str> {
    let texts = cell.info.axes.iter().enumerate();
    texts
        .filter(|(place, _)| *place != axis)
        .map(|(_, text)| text.as_str())
        .collect()
}

/// The rows of several sweeps, a cell that belongs to several of them once.
pub(crate) fn rows_once(rows: impl Iterator<Item = Row>) -> Vec<Row> {
    let mut seen = BTreeSet::new();
    rows.filter(|row| seen.insert(row.key.clone())).collect()
}

impl<'v, 'a> Sweep<'v, 'a> {
    fn new(axis: usize) -> Self {
        Self {
            axis,
            cells: Vec::new(),
            apart: Vec::new(),
        }
    }

    fn add(&mut self, view: &View<'_>, cell: &'v Cell<'a>, value: f64) {
        // What was measured with other code or elsewhere has no ratio to the rest.
        let first = self.cells.first();
        let fits = first.is_none_or(|(first, _)| not_comparable(view, first, cell).is_none());
        if throughput(cell).is_some() && fits {
            self.cells.push((cell, value));
        } else if cell.is_measured() {
            self.apart.push(cell);
        }
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

    /// Its rows of a table: the axes that vary, then what `fields` gives; cells that are not comparable say why.
    pub(crate) fn rows(
        &self,
        view: &View<'_>,
        fields: impl Fn(&Cell<'_>) -> Vec<Entry>,
    ) -> Vec<Row> {
        let labels = |cell: &Cell<'_>| view.labels(cell).into_iter().map(Entry::text);
        let measured = self.cells.iter().map(|(cell, _)| Row {
            key: cell.info.key.clone(),
            fields: labels(cell).chain(fields(cell)).collect(),
            missing: None,
        });
        let apart = self.apart.iter().map(|cell| Row {
            key: cell.info.key.clone(),
            fields: labels(cell).collect(),
            missing: Some("not comparable: measured with other code or elsewhere".to_owned()),
        });
        measured.chain(apart).collect()
    }

    /// "n = 2", or "n = 2 to 9".
    pub(crate) fn n(&self) -> String {
        let counts = self
            .cells
            .iter()
            .filter_map(|(cell, _)| Some(cell.timing?.n as f64));
        match range(&counts.collect::<Vec<_>>()) {
            Some((low, high)) if low < high => format!("n = {low} to {high}"),
            Some((low, _)) => format!("n = {low}"),
            None => "n = 0".to_owned(),
        }
    }
}

/// Columns of a table of sweeps: the axes that vary, then `own`.
pub(crate) fn columns(view: &View<'_>, own: Vec<Column>) -> Vec<Column> {
    let mut columns = view.axis_columns();
    columns.extend(own);
    columns
}

/// The interval of a timing; `None` where there was one run.
pub(crate) fn interval(cell: &Cell<'_>, column: &str) -> Option<Interval> {
    let found = cell.timing?.values.get(column)?;
    (found.kind != IntervalKind::Single).then_some(*found)
}

/// "9.06 samples/s (8.67–9.45)".
pub(crate) fn in_words(cell: &Cell<'_>, column: &str) -> String {
    timing(cell, column).map_or_else(
        || "not measured".to_owned(),
        |number| {
            let ends = number
                .interval
                .map_or(String::new(), |ends| format!(" ({ends})"));
            format!("{} {}{ends}", number.text, number.unit)
        },
    )
}
