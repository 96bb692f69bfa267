//! [`Field`]: a column of a table together with its entries.

use std::fmt::Display;

use crate::report::language::Words;
use crate::report::section::{ROWS, cut_note};
use crate::report::table::{Column, ColumnKind, Entry, Row, Table};
use crate::report::view::{Cell, View};
use crate::results::fixed_unit;

use crate::report::number::mebibytes;
use crate::report::timing::{memory_entry, timing_entry};

/// Description of how most times are aggregated.
pub(crate) const MEDIAN: &str = "median of n runs";

/// A column, with the function that gives its entry for a row of type `R`.
pub(crate) struct Field<'f, R> {
    column: Column,
    entry: Box<dyn Fn(&R) -> Entry + 'f>,
}

/// A column of a table of cells.
pub(crate) type CellColumn<'f, 'a> = Field<'f, Cell<'a>>;

impl<'f, R> Field<'f, R> {
    /// A column whose entries `entry` computes.
    pub(crate) fn new(column: Column, entry: impl Fn(&R) -> Entry + 'f) -> Self {
        let entry = Box::new(entry);
        Self { column, entry }
    }

    /// A column of texts.
    pub(crate) fn text<S: Into<String>>(heading: &str, text: impl Fn(&R) -> S + 'f) -> Self {
        Self::new(Column::text(heading), move |row| Entry::text(text(row)))
    }

    /// A column of integers; `how` describes how they were counted.
    pub(crate) fn count(heading: &str, how: &str, count: impl Fn(&R) -> usize + 'f) -> Self {
        let column = Column::measured(heading, "", how).with_kind(ColumnKind::Count);
        Self::new(column, move |row| Entry::count(count(row)))
    }

    /// A column of measured numbers; `how` describes how they were aggregated.
    pub(crate) fn measured(
        heading: &str,
        unit: &str,
        how: impl Display,
        entry: impl Fn(&R) -> Entry + 'f,
    ) -> Self {
        Self::new(Column::measured(heading, unit, how), entry)
    }

    /// A column of numbers that are computed by `formula`.
    pub(crate) fn derived(
        heading: &str,
        unit: &str,
        formula: impl Display,
        entry: impl Fn(&R) -> Entry + 'f,
    ) -> Self {
        Self::new(Column::derived(heading, unit, formula), entry)
    }

    /// A column of assumed numbers, taken from the manifest.
    pub(crate) fn assumed(
        heading: &str,
        unit: &str,
        place: &str,
        entry: impl Fn(&R) -> Entry + 'f,
    ) -> Self {
        let place = Words::default().assumed(place);
        Self::new(Column::number(heading, unit, &place), entry)
    }

    /// Sets the kind of the column's values.
    pub(crate) fn of(self, kind: ColumnKind) -> Self {
        let column = self.column.with_kind(kind);
        Self { column, ..self }
    }
}

impl CellColumn<'_, '_> {
    /// A column of `timings.csv`, in its unit; memory in MiB.
    pub(crate) fn timed(heading: &str, column: &'static str) -> Self {
        let unit = fixed_unit(column);
        let is_memory = unit == "bytes";
        let unit = if is_memory { "MiB" } else { unit };
        Self::measured(heading, unit, MEDIAN, move |cell| {
            if is_memory {
                memory_entry(cell, column, mebibytes)
            } else {
                timing_entry(cell, column)
            }
        })
    }

    /// The column with the number of runs from which a cell's times are computed.
    pub(crate) fn run_count_column() -> Self {
        Self::count("n", "runs that count", |cell| {
            cell.timing.map_or(0, |row| row.n)
        })
    }
}

/// The columns of these fields, without entries.
pub(crate) fn columns<R>(fields: &[Field<'_, R>]) -> Vec<Column> {
    fields.iter().map(|field| field.column.clone()).collect()
}

/// The entries that the fields give for one row.
pub(crate) fn entries<R>(fields: &[Field<'_, R>], row: &R) -> Vec<Entry> {
    fields.iter().map(|field| (field.entry)(row)).collect()
}

/// A table of the cells for which `has` is true; see [`of_each_cell`].
pub(crate) fn of_cells<'a>(
    view: &View<'a>,
    head: (&str, &str, String),
    fields: &[CellColumn<'_, 'a>],
    has: impl Fn(&Cell<'a>) -> bool,
) -> Table {
    let row = |cell: &Cell<'a>| has(cell).then(|| entries(fields, cell));
    of_each_cell(view, head, columns(fields), row)
}

/// A table of rows, each with the key of its cell, if it has one. Of very many rows only the first are kept.
pub(crate) fn of_rows<R>(
    head: (&str, &str, String),
    fields: &[Field<'_, R>],
    rows: impl IntoIterator<Item = (String, R)>,
) -> Table {
    let row = |(key, row): (String, R)| Row::new(key, entries(fields, &row));
    let mut rows = rows.into_iter();
    let shown: Vec<Row> = rows.by_ref().take(ROWS).map(row).collect();
    Table {
        cut: cut_note(shown.len() + rows.count()),
        ..Table::of_rows(head, columns(fields), shown)
    }
}

/// A table with one row per cell that has values, in plan order: first the axes that vary among the measured cells,
/// then `fields`. Cells without measurements are listed in a section of their own.
///
/// If there are many cells, only the best ones have a row.
pub(crate) fn of_each_cell<'a>(
    view: &View<'a>,
    naming: (&str, &str, String),
    columns: Vec<Column>,
    fields: impl Fn(&Cell<'a>) -> Option<Vec<Entry>>,
) -> Table {
    let shown = view.shown.as_ref();
    let cells = view.cells.iter();
    let cells = cells.filter(|cell| shown.is_none_or(|(keys, _)| keys.contains(&cell.info.key)));
    let rows = cells.filter_map(|cell| row_of_cell(view, cell, &fields));
    let mut all = view.axis_columns(false);
    all.extend(columns);
    Table {
        cut: shown.map(|(_, words)| words.clone()),
        ..Table::of_rows(naming, all, rows.collect())
    }
}

fn row_of_cell<'a>(
    view: &View<'a>,
    cell: &Cell<'a>,
    fields: &impl Fn(&Cell<'a>) -> Option<Vec<Entry>>,
) -> Option<Row> {
    let own = fields(cell)?;
    let mut all = view.labels(cell, false);
    all.extend(own);
    Some(Row::new(&*cell.info.key, all))
}
