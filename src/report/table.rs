//! [`Table`]: what templates draw as a table. Every table of a report has the same rows in the same order.

use serde::Serialize;

use super::number::{Number, Provenance};
use super::view::{Cell, View};

/// Rows that a table shows at most; all of them are in the CSV files.
pub(super) const ROWS: usize = 200;

/// A table, ready to draw.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Table {
    /// Stands in links: `speed`.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What the table says, in a sentence or two.
    pub about: String,
    /// Columns, from left to right.
    pub columns: Vec<Column>,
    /// Rows, each with one field per column.
    pub rows: Vec<Row>,
    /// Where the numbers come from, each provenance with its columns.
    pub sources: Vec<Source>,
    /// "The first 200 of 1,000 cells…", where rows are left out.
    pub cut: Option<String>,
}

/// A column of a [`Table`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    /// Heading.
    pub heading: String,
    /// Unit of the numbers; empty for text and plain numbers.
    pub unit: String,
    /// `measured (…)`, `derived (…)`, `assumed (…)`; empty for text.
    pub provenance: String,
    /// Whether numbers stand in it, so that it is set flush right.
    pub is_number: bool,
}

/// A provenance with the columns that have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// `measured (median of n runs)`.
    pub provenance: String,
    /// Headings of the columns.
    pub columns: Vec<String>,
}

/// A row of a [`Table`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Key of the cell that the row is about; empty for other rows.
    pub key: String,
    /// One per column; shorter where `missing` says why.
    pub fields: Vec<Entry>,
    /// "not run: skipped": why the rest of the row is missing.
    pub missing: Option<String>,
}

/// A field of a [`Row`].
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Entry {
    /// The text.
    pub text: String,
    /// The interval, or a second line in small print; empty for none.
    pub detail: String,
}

impl Entry {
    /// A field of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            detail: String::new(),
        }
    }

    /// A number with its interval; a dash where it is missing.
    pub fn number(number: Option<&Number>) -> Self {
        number.map_or_else(
            || Self::text("–"),
            |number| Self {
                text: number.text.clone(),
                detail: number.interval.clone().unwrap_or_default(),
            },
        )
    }
}

impl Column {
    /// A column of texts.
    pub fn text(heading: &str) -> Self {
        Self {
            heading: heading.to_owned(),
            unit: String::new(),
            provenance: String::new(),
            is_number: false,
        }
    }

    /// A column of numbers.
    pub fn number(heading: &str, unit: &str, provenance: &Provenance) -> Self {
        Self {
            heading: heading.to_owned(),
            unit: unit.to_owned(),
            provenance: provenance.to_string(),
            is_number: true,
        }
    }
}

impl Table {
    /// A table of given rows, which are not one per cell.
    pub fn of_rows(
        (id, title, about): (&str, &str, String),
        columns: Vec<Column>,
        rows: Vec<Row>,
    ) -> Self {
        Self {
            id: id.to_owned(),
            title: title.to_owned(),
            about,
            sources: sources(&columns),
            columns,
            rows,
            cut: None,
        }
    }

    /// One row per cell, in plan order: the axes that vary, then what `fields` gives. `None` means that the cell has no
    /// values here; the row then says why.
    pub fn of_cells<'a>(
        view: &View<'a>,
        (id, title, about): (&str, &str, String),
        columns: Vec<Column>,
        fields: impl Fn(&Cell<'a>) -> Option<Vec<Entry>>,
    ) -> Self {
        let mut heading = view.axis_columns();
        heading.extend(columns);
        let rows = view.cells.iter().take(ROWS).map(|cell| {
            let own = fields(cell);
            let missing = own.is_none().then(|| cell.why_missing());
            let mut all: Vec<Entry> = view.labels(cell).into_iter().map(Entry::text).collect();
            all.extend(own.unwrap_or_default());
            Row {
                key: cell.info.key.clone(),
                fields: all,
                missing,
            }
        });
        Self {
            id: id.to_owned(),
            title: title.to_owned(),
            about,
            sources: sources(&heading),
            columns: heading,
            rows: rows.collect(),
            cut: cut(view.cells.len()),
        }
    }
}

/// Returns the provenances of columns, each once, in column order.
pub(super) fn sources(columns: &[Column]) -> Vec<Source> {
    let mut sources: Vec<Source> = Vec::new();
    for column in columns.iter().filter(|column| column.is_number) {
        let known = sources
            .iter_mut()
            .find(|source| source.provenance == column.provenance);
        if let Some(source) = known {
            source.columns.push(column.heading.clone());
        } else {
            sources.push(Source {
                provenance: column.provenance.clone(),
                columns: vec![column.heading.clone()],
            });
        }
    }
    sources
}

/// The sentence for a table that leaves rows out.
pub(super) fn cut(cells: usize) -> Option<String> {
    use crate::base::units::human_integer;
    (cells > ROWS).then(|| {
        format!(
            "The first {ROWS} of {} cells; all of them are in the CSV files beside this report.",
            human_integer(cells as u64)
        )
    })
}
