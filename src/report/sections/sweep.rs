//! [`Sweep`]: cells that differ in one numeric axis and in nothing else.

use std::collections::BTreeSet;

use crate::report::judged::{plain, span};
use crate::report::section::Section;
use crate::report::table::{Entry, Row, Table};
use crate::report::view::{Cell, View};
use crate::results::{Interval, IntervalKind, grouped};

use super::field::{self, Field};
use super::ranking::not_comparable;
use super::speed::{THROUGHPUT, throughput, timing_value};

/// Cells that differ in one axis only, in its order.
pub(crate) struct Sweep<'v, 'a> {
    /// Place of the axis.
    pub(crate) axis: usize,
    /// The measured cells, with their value.
    pub(crate) cells: Vec<(&'v Cell<'a>, f64)>,
    /// Cells of the same line that were measured with other code or elsewhere.
    apart: Vec<&'v Cell<'a>>,
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

/// A measured cell of a sweep.
pub(crate) struct At<'s, 'v, 'a> {
    pub(crate) sweep: &'s Sweep<'v, 'a>,
    pub(crate) cell: &'v Cell<'a>,
}

/// A column of a table of sweeps.
pub(super) type OfAt<'f, 's, 'v, 'a> = Field<'f, At<'s, 'v, 'a>>;

impl At<'_, '_, '_> {
    /// The column of the throughput.
    pub(super) fn throughput<'f>() -> Field<'f, Self> {
        Field::measured(
            "throughput",
            "samples/s",
            "median of n runs",
            |at: &Self| Entry::number(throughput(at.cell).as_ref()),
        )
    }
}

/// The table of sweeps, a cell that belongs to several of them once, with what a rule says of each sweep, or `none` where
/// it says nothing. Cells that are not comparable say why.
pub(super) fn judged<'s, 'v, 'a>(
    view: &View<'_>,
    sweeps: &'s [Sweep<'v, 'a>],
    head: (&str, &str, String),
    fields: &[OfAt<'_, 's, 'v, 'a>],
    (rule, mut verdicts, none): (String, Vec<String>, &str),
) -> Section {
    let mut columns = view.axis_columns();
    columns.extend(field::columns(fields));
    let labels = |cell: &Cell<'_>| view.labels(cell).into_iter();
    let mut seen = BTreeSet::new();
    let mut rows = Vec::new();
    for sweep in sweeps {
        let measured = sweep.cells.iter().map(|(cell, _)| {
            let own = field::entries(fields, &At { sweep, cell });
            Row::new(&*cell.info.key, labels(cell).chain(own).collect())
        });
        let apart = sweep.apart.iter().map(|cell| Row {
            missing: Some("not comparable: measured with other code or elsewhere".to_owned()),
            ..Row::new(&*cell.info.key, labels(cell).collect())
        });
        let all = measured.chain(apart);
        rows.extend(all.filter(|row| seen.insert(row.key.clone())));
    }
    if verdicts.is_empty() {
        verdicts.push(none.to_owned());
    }
    Section::judged(Table::of_rows(head, columns, rows), rule, verdicts)
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
