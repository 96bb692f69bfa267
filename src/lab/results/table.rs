//! Reads a CSV file as records with line numbers; errors name file, line and column.

use std::path::{Path, PathBuf};

use crate::event::Metrics;

use super::ResultsError;
use super::columns::{Column, is_added_column};
use super::field::Field;
use super::files::read_csv;

/// A CSV file with a valid header.
pub(crate) struct Table {
    path: PathBuf,
    header: Vec<String>,
    records: Vec<csv::StringRecord>,
    fixed: usize,
    /// Fixed columns that this file lacks.
    lacks: Vec<String>,
}

impl Table {
    /// Reads `path`. Its header must begin with `expected`; with `has_metrics` further columns are metrics.
    pub(crate) fn read(
        path: &Path,
        expected: &[String],
        has_metrics: bool,
    ) -> Result<Self, ResultsError> {
        let text = read_csv(path)?;
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .from_reader(text.as_bytes());
        let damaged =
            |line: u64, reason: String| ResultsError::damaged(path, format!("line {line}"), reason);
        if !text.ends_with('\n') {
            let line = text.lines().count().max(1) as u64;
            return Err(damaged(line, "the file ends within this line".to_owned()));
        }
        let header = reader.headers();
        let header = header.map_err(|error| damaged(1, error.to_string()))?;
        let header: Vec<String> = header.iter().map(str::to_owned).collect();
        let (lacks, fixed): (Vec<String>, Vec<String>) = expected
            .iter()
            .cloned()
            .partition(|name| is_added(name) && !header.contains(name));
        check_header(&header, &fixed, has_metrics).map_err(|reason| damaged(1, reason))?;
        let mut records = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| {
                let line = error.position().map_or(0, csv::Position::line);
                damaged(line, error.to_string())
            })?;
            if record.len() != header.len() {
                let (wanted, found) = (header.len(), record.len());
                let reason = format!("expected {wanted} fields, found {found}");
                return Err(damaged(line_of(&record), reason));
            }
            records.push(record);
        }
        Ok(Self {
            path: path.to_owned(),
            header,
            records,
            fixed: fixed.len(),
            lacks,
        })
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        !self.lacks.iter().any(|lacking| lacking == name)
    }

    /// Names of columns after the fixed ones.
    pub(crate) fn metrics(&self) -> &[String] {
        &self.header[self.fixed..]
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = Cursor<'_>> {
        self.records.iter().map(|record| Cursor {
            table: self,
            record,
            column: 0,
        })
    }
}

/// The rows of an optional file; none if it does not exist.
pub(super) fn rows_if_there<R>(
    path: &Path,
    header: &[String],
    row: impl Fn(&mut Cursor<'_>) -> Result<R, ResultsError>,
) -> Result<Vec<R>, ResultsError> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let table = Table::read(path, header, false)?;
    table.rows().map(|mut cursor| row(&mut cursor)).collect()
}

fn line_of(record: &csv::StringRecord) -> u64 {
    record.position().map_or(0, csv::Position::line)
}

/// Whether files of earlier versions may lack this column, or one end of its interval.
fn is_added(name: &str) -> bool {
    let name = name.strip_suffix("_low").unwrap_or(name);
    is_added_column(name.strip_suffix("_high").unwrap_or(name))
}

fn check_header(found: &[String], expected: &[String], has_metrics: bool) -> Result<(), String> {
    for (name, number) in expected.iter().zip(1..) {
        let Some(other) = found.get(number - 1) else {
            return Err(format!("the header ends before column `{name}`"));
        };
        if other != name {
            return Err(format!(
                "column {number} of the header is `{other}`, expected `{name}`"
            ));
        }
    }
    let rest = &found[expected.len()..];
    if let (Some(extra), false) = (rest.first(), has_metrics) {
        return Err(format!("unknown column `{extra}`"));
    }
    for (place, name) in rest.iter().enumerate() {
        if name.is_empty() || rest[..place].contains(name) {
            return Err(format!("metric column `{name}` is empty or stands twice"));
        }
    }
    Ok(())
}

/// Reads one row from left to right.
pub(crate) struct Cursor<'a> {
    table: &'a Table,
    record: &'a csv::StringRecord,
    column: usize,
}

impl Cursor<'_> {
    pub(crate) fn next<T: Field>(&mut self) -> Result<T, ResultsError> {
        let text = self.record.get(self.column).unwrap_or_default();
        let value = T::read(text).map_err(|expected| self.error(expected, text))?;
        self.column += 1;
        Ok(value)
    }

    /// Reads the next field, which must not be empty.
    pub(crate) fn next_text(&mut self) -> Result<String, ResultsError> {
        let text: String = self.next()?;
        if text.is_empty() {
            self.column -= 1;
            return Err(self.error("a text", ""));
        }
        Ok(text)
    }

    /// Reads the next field, a number above 0.
    pub(crate) fn next_positive(&mut self) -> Result<f64, ResultsError> {
        let value: f64 = self.next()?;
        if value <= 0.0 {
            self.column -= 1;
            return Err(self.error("a number above 0", &value.to_string()));
        }
        Ok(value)
    }

    /// Reads the fields of the given columns into `row`; with `is_partial`, an empty field is allowed in any column and
    /// means a missing value.
    pub(crate) fn next_group<R>(
        &mut self,
        table: &[Column<R>],
        mut row: R,
        is_partial: bool,
    ) -> Result<R, ResultsError> {
        for column in table.iter().filter(|column| self.table.has(column.name)) {
            let text = self.record.get(self.column).unwrap_or_default();
            if !(is_partial && text.is_empty()) {
                (column.read)(&mut row, text).map_err(|expected| self.error(expected, text))?;
            }
            self.column += 1;
        }
        Ok(row)
    }

    /// Whether the column `name` of the group of columns that begins at the cursor is empty.
    pub(crate) fn is_empty_at<R>(&self, table: &[Column<R>], name: &str) -> bool {
        let mut columns = table.iter().filter(|column| self.table.has(column.name));
        let place = columns.position(|column| column.name == name);
        let field = place.and_then(|place| self.record.get(self.column + place));
        field.is_some_and(str::is_empty)
    }

    /// Whether the next `count` fields (or the remaining ones, if fewer) are all empty.
    pub(crate) fn is_empty_for(&self, count: usize) -> bool {
        let mut fields = self.record.iter().skip(self.column).take(count);
        fields.all(str::is_empty)
    }

    pub(crate) fn skip(&mut self, count: usize) {
        self.column += count;
    }

    /// An error about the row as a whole.
    pub(crate) fn row_error(&self, reason: String) -> ResultsError {
        let place = format!("line {}", line_of(self.record));
        ResultsError::damaged(&self.table.path, place, reason)
    }

    fn error(&self, expected: &str, found: &str) -> ResultsError {
        let line = line_of(self.record);
        let name = &self.table.header[self.column.min(self.table.header.len() - 1)];
        let reason = match found {
            "" => format!("expected {expected}, found nothing"),
            _ => format!("expected {expected}, found `{found}`"),
        };
        let place = format!("line {line}, column `{name}`");
        ResultsError::damaged(&self.table.path, place, reason)
    }
}

/// The metrics at the end of a row.
pub(super) fn metrics(cursor: &mut Cursor<'_>, table: &Table) -> Result<Metrics, ResultsError> {
    let mut metrics = Metrics::new();
    for name in table.metrics() {
        // An empty field is a missing value: the file does not distinguish an absent metric from NaN.
        if let Some(value) = cursor.next()? {
            metrics.insert(name.clone(), Some(value));
        }
    }
    Ok(metrics)
}
