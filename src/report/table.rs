//! [`Table`]: a table for templates.

use serde::Serialize;

use crate::base::statistics::{median, range};
use crate::base::units::human_integer;

pub(super) use super::column::{Column, ColumnKind};
use super::number::{Number, between};
use crate::results::grouped;

/// A table, ready to draw.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct Table {
    /// Name for links: `speed`.
    pub id: String,
    /// Heading of the table.
    pub title: String,
    /// Content of the table, in a sentence or two.
    pub about: String,
    /// Columns, from left to right.
    pub columns: Vec<Column>,
    /// Rows, each with one field per column.
    pub rows: Vec<Row>,
    /// Source of the numbers, each provenance with its columns.
    pub sources: Vec<Source>,
    /// If the table does not show all cells: a sentence that says which rows it shows.
    pub cut: Option<String>,
}

/// A provenance with the columns that have it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct Source {
    /// Where the numbers come from: `measured (median of n runs)`.
    pub provenance: String,
    /// Headings of the columns.
    pub columns: Vec<String>,
}

/// A row of a [`Table`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct Row {
    /// Key of the row's cell; for a group of cells, its axis values; empty for other rows.
    pub key: String,
    /// Fields, one per column; fewer if `missing` is set.
    pub fields: Vec<Entry>,
    /// Why the rest of the row is missing: "not run: skipped".
    pub missing: Option<String>,
}

/// A field of a [`Row`].
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(test, derive(serde::Deserialize))]
pub struct Entry {
    /// The displayed text.
    pub text: String,
    /// The interval, or a second line in small print; empty without one.
    pub detail: String,
    /// The unrounded number, in the unit of the column (or of the text, if that contains one); `None` if the field is
    /// not a number.
    pub value: Option<f64>,
    /// Ends of the number's interval, in the same unit; `None` without an interval.
    pub interval: Option<(f64, f64)>,
}

impl Entry {
    /// A field of one text. Numbers with a unit in their text go through [`Entry::value`], so that the number itself is
    /// available.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A text with a second line in small print.
    pub fn detailed(text: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            detail: detail.into(),
            ..Self::text(text)
        }
    }

    /// A number without an interval, displayed as `text`.
    pub fn value(value: f64, text: impl Into<String>) -> Self {
        Self {
            value: value.is_finite().then_some(value),
            ..Self::text(text)
        }
    }

    /// A number without an interval, formatted by `show`; a dash if it is missing.
    pub fn shown(value: Option<f64>, show: impl Fn(f64) -> String) -> Self {
        value.map_or_else(|| Self::text("–"), |value| Self::value(value, show(value)))
    }

    /// A count: `1,613`.
    pub fn count(count: usize) -> Self {
        Self::value(count as f64, human_integer(count as u64))
    }

    /// A number with its interval; a dash if it is missing.
    pub fn number(number: Option<&Number>) -> Self {
        number.map_or_else(
            || Self::text("–"),
            |number| Self {
                detail: number.interval.clone().unwrap_or_default(),
                interval: number.ends,
                ..Self::value(number.value, number.text.clone())
            },
        )
    }

    /// A number with its interval below it, formatted by `show`; an interval whose ends look equal is left out.
    pub fn between(value: f64, ends: Option<(f64, f64)>, show: impl Fn(f64) -> String) -> Self {
        let shown = ends.map(|(low, high)| (show(low), show(high)));
        let shown = shown.filter(|(low, high)| low != high);
        Self {
            detail: shown.map_or_else(String::new, |(low, high)| between(&low, &high)),
            interval: ends,
            ..Self::value(value, show(value))
        }
    }

    /// This number with an interval, which is already part of the detail text.
    #[must_use]
    pub(crate) fn with_interval(self, low: f64, high: f64) -> Self {
        Self {
            interval: Some((low, high)),
            ..self
        }
    }
}

impl Row {
    /// A row with all of its fields; `key` is that of its cell, empty for other rows.
    pub fn new(key: impl Into<String>, fields: Vec<Entry>) -> Self {
        Self {
            key: key.into(),
            fields,
            missing: None,
        }
    }
}

impl Table {
    /// A table of arbitrary rows (not one per cell).
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

    /// Removes numeric columns without any value, which commands did not report. With `are_all_commands` 0 also counts
    /// as missing, and a table with no numbers except counts of runs becomes empty.
    pub(super) fn drop_empty_columns(&mut self, are_all_commands: bool) {
        let is_untold = |field: &Entry| {
            let is_zero = field.value == Some(0.0) && are_all_commands;
            is_zero || ["–", "unknown"].contains(&&*field.text)
        };
        let is_told = |place: &usize| {
            let mut fields = self.rows.iter().filter_map(|row| row.fields.get(*place));
            !self.columns[*place].is_number || fields.any(|field| !is_untold(field))
        };
        let kept: Vec<usize> = (0..self.columns.len()).filter(is_told).collect();
        if kept.len() == self.columns.len() {
            return;
        }
        for row in &mut self.rows {
            let fields = kept.iter().filter_map(|place| row.fields.get(*place));
            row.fields = fields.cloned().collect();
        }
        self.columns = kept
            .iter()
            .map(|place| self.columns[*place].clone())
            .collect();
        let headings: Vec<&String> = self.columns.iter().map(|column| &column.heading).collect();
        for source in &mut self.sources {
            source.columns.retain(|heading| headings.contains(&heading));
        }
        self.sources.retain(|source| !source.columns.is_empty());
        let is_figure = |column: &Column| {
            column.is_number && !(are_all_commands && column.kind == ColumnKind::Count)
        };
        if !self.columns.iter().any(is_figure) {
            self.rows.clear();
        }
    }

    /// A table of texts.
    pub(super) fn of_texts(
        naming: (&str, &str, String),
        headings: &[impl AsRef<str>],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Self {
        let columns = headings
            .iter()
            .map(|heading| Column::text(heading.as_ref()));
        let fields = |texts: Vec<String>| texts.into_iter().map(Entry::text).collect();
        let rows = rows.into_iter().map(|texts| Row::new("", fields(texts)));
        Self::of_rows(naming, columns.collect(), rows.collect())
    }

    /// Whether the table has no row, or columns of numbers without a single number.
    pub(super) fn is_blank(&self) -> bool {
        let is_number = |place: usize| self.columns.get(place).is_some_and(|c| c.is_number);
        let fields = self
            .rows
            .iter()
            .flat_map(|row| row.fields.iter().enumerate());
        let mut numbers = fields.filter(|(place, _)| is_number(*place)).peekable();
        let has_numbers = numbers.peek().is_some();
        self.rows.is_empty() || has_numbers && numbers.all(|(_, field)| field.text == "–")
    }
}

/// The median of runs with their range below it, if they look different; a dash without runs.
pub(super) fn spread_entry(values: &[f64], show: impl Fn(f64) -> String) -> Entry {
    let ends = range(values).filter(|_| values.len() > 1);
    let entry = |middle| Entry::between(middle, ends, &show);
    median(values).map_or_else(|| Entry::text("–"), entry)
}

/// Returns the provenances of columns, without duplicates, in column order.
pub(super) fn sources(columns: &[Column]) -> Vec<Source> {
    let numbers = columns.iter().filter(|column| column.is_number);
    let sources = grouped(numbers, |column| &column.provenance).into_iter();
    let source = |columns: Vec<&Column>| Source {
        provenance: columns[0].provenance.clone(),
        columns: columns
            .iter()
            .map(|column| column.heading.clone())
            .collect(),
    };
    sources.map(source).collect()
}
