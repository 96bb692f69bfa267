//! [`Sweep`]: cells that differ in one numeric axis and in nothing else.

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
    /// Cells of the same line that have no measurement.
    pub(crate) missing: Vec<&'v Cell<'a>>,
}

/// Every sweep over the axis of this path with two measured cells or more, in plan order.
pub(crate) fn sweeps<'v, 'a>(view: &'v View<'a>, path: &str) -> Vec<Sweep<'v, 'a>> {
    let Some(axis) = view.set.plan.axes.iter().position(|axis| axis.path == path) else {
        return Vec::new();
    };
    let mut lines: Vec<Sweep<'v, 'a>> = Vec::new();
    let mut places: std::collections::BTreeMap<Vec<&str>, usize> = std::collections::BTreeMap::new();
    for cell in &view.cells {
        let Ok(value) = cell.info.axes[axis].parse::<f64>() else {
            continue;
        };
        let place = *places.entry(others(cell, axis)).or_insert_with(|| {
            let (cells, missing) = (Vec::new(), Vec::new());
            lines.push(Sweep { axis, cells, missing });
            lines.len() - 1
        });
        let line = &mut lines[place];
        // What was measured with other code or elsewhere has no ratio to the rest.
        let fits = line.cells.first().is_none_or(|(first, _)| not_comparable(first, cell).is_none());
        if throughput(cell).is_some() && fits {
            line.cells.push((cell, value));
        } else {
            line.missing.push(cell);
        }
    }
    lines.retain(|line| line.cells.len() > 1);
    for line in &mut lines {
        line.cells.sort_by(|a, b| a.1.total_cmp(&b.1));
    }
    lines
}

/// A cell's values on all axes but one.
fn others<'c>(cell: &'c Cell<'_>, axis: usize) -> Vec<&'c str> {
    let texts = cell.info.axes.iter().enumerate();
    texts
        .filter(|(place, _)| *place != axis)
        .map(|(_, text)| text.as_str())
        .collect()
}

impl Sweep<'_, '_> {
    /// What its cells have in common and others do not.
    pub(crate) fn name(&self, view: &View<'_>) -> String {
        let cells: Vec<&Cell<'_>> = self.cells.iter().map(|(cell, _)| *cell).collect();
        view.shared_name(&cells)
    }

    /// Its rows of a table: the axes that vary, then what `fields` gives; cells without a measurement say why.
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
        let missing = self.missing.iter().map(|cell| Row {
            key: cell.info.key.clone(),
            fields: labels(cell).collect(),
            missing: Some(if cell.is_measured() {
                "not comparable: measured with other code or elsewhere".to_owned()
            } else {
                cell.why_missing()
            }),
        });
        measured.chain(missing).collect()
    }

    /// "n = 2", or "n = 2 to 9".
    pub(crate) fn n(&self) -> String {
        let counts = self.cells.iter().filter_map(|(cell, _)| Some(cell.timing?.n as f64));
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
            let ends = number.interval.map_or(String::new(), |ends| format!(" ({ends})"));
            format!("{} {}{ends}", number.text, number.unit)
        },
    )
}
