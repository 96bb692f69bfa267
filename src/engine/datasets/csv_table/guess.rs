//! [`CsvGuess`]: the likely target and features of a CSV file, to write a new manifest.

use std::collections::BTreeSet;
use std::path::Path;

use csv::{Position, Reader, StringRecord};

use super::super::DatasetError;
use super::parse;
use crate::base::text::count;

/// Rows that the guess is based on; the others are only counted.
const LOOKED_AT: usize = 1000;
/// Maximum number of distinct integers that are taken for classes.
const MOST_CLASSES: usize = 20;
/// Minimum of the mean number of rows per such class.
const ROWS_OF_A_CLASS: usize = 5;
const TARGETS: [&str; 8] = [
    "target", "label", "class", "y", "outcome", "output", "species", "category",
];

/// Likely target and features of a CSV file, from its header and first 1000 rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvGuess {
    /// Number of rows, without the header.
    pub rows: usize,
    /// Names of the feature columns.
    pub features: Vec<String>,
    /// Name of the target column.
    pub target: String,
    /// Why this column is taken for the target, as a phrase.
    pub why_target: String,
    /// Whether the target is a class.
    pub classes: bool,
    /// Why the target is or is not a class, as a phrase.
    pub why_classes: String,
}

#[derive(Default)]
struct Column {
    name: String,
    values: BTreeSet<String>,
    is_whole: bool,
    /// Row and value of the first entry that is not a number.
    text: Option<(Position, String)>,
    hole: Option<Position>,
}

impl Column {
    fn add(&mut self, text: &str, row: &Position) {
        match parse::number(text) {
            _ if text.is_empty() => {
                self.hole.get_or_insert_with(|| row.clone());
            }
            None => {
                self.text
                    .get_or_insert_with(|| (row.clone(), text.to_owned()));
            }
            Some(number) => self.is_whole &= number.fract() == 0.0,
        }
        if self.values.len() < LOOKED_AT {
            self.values.insert(text.to_owned());
        }
    }

    /// Whether the column holds classes, and why.
    fn classes(&self, looked_at: usize) -> (bool, String) {
        let (values, rows) = (self.values.len(), count(looked_at, "row"));
        if self.text.is_some() {
            return (true, format!("text, of {values} kinds in {rows}"));
        }
        let few = values <= MOST_CLASSES && values * ROWS_OF_A_CLASS <= looked_at;
        if self.is_whole && few {
            let why =
                format!("{values} different whole numbers in {rows}; `false` if they are amounts");
            return (true, why);
        }
        (
            false,
            "numbers; `true` if they stand for classes".to_owned(),
        )
    }
}

impl CsvGuess {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`DatasetError`] if it cannot be read, has no header or no rows, or has non-numeric features (all named).
    pub fn of(path: &Path) -> Result<Self, DatasetError> {
        let (mut reader, names) = parse::reader(path)?;
        check_header(path, &names)?;
        let (columns, rows) = look(path, &mut reader, &names)?;
        parse::some_rows(path, rows)?;
        let (target, why_target) = target(&columns);
        let (classes, why_classes) = columns[target].classes(rows.min(LOOKED_AT));
        let features = columns
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != target);
        check_features(path, features.clone().map(|(_, column)| column))?;
        Ok(Self {
            rows,
            features: features.map(|(_, column)| column.name.clone()).collect(),
            target: columns[target].name.clone(),
            why_target: why_target.to_owned(),
            classes,
            why_classes,
        })
    }
}

fn check_header(path: &Path, names: &[String]) -> Result<(), DatasetError> {
    let path = path.display();
    if names.len() == 1 {
        return Err(DatasetError::Mismatch(format!(
            "`{path}` has one column; it needs a target and at least one feature, separated by `,`"
        )));
    }
    if names.iter().all(|name| parse::number(name).is_some()) {
        return Err(DatasetError::Mismatch(format!(
            "the first line of `{path}` has numbers only; write the columns' names above it"
        )));
    }
    Ok(())
}

fn look(
    path: &Path,
    reader: &mut Reader<std::fs::File>,
    names: &[String],
) -> Result<(Vec<Column>, usize), DatasetError> {
    let column = |name: &String| Column {
        name: name.clone(),
        is_whole: true,
        ..Column::default()
    };
    let mut columns: Vec<Column> = names.iter().map(column).collect();
    let mut record = StringRecord::new();
    let mut rows = 0;
    while parse::next(path, reader, &mut record)? {
        rows += 1;
        let row = record.position().cloned().unwrap_or_else(Position::new);
        if record.len() != names.len() {
            let (found, expected) = (count(record.len(), "column"), names.len());
            let reason = format!("{found} where the header has {expected}");
            let place = format!("in {}", parse::line_of(path, Some(&row)));
            return Err(DatasetError::damaged(path, place, reason));
        }
        if rows <= LOOKED_AT {
            for (column, text) in columns.iter_mut().zip(&record) {
                column.add(text, &row);
            }
        }
    }
    Ok((columns, rows))
}

/// The only text column; else one with a common target name; else the last.
fn target(columns: &[Column]) -> (usize, &'static str) {
    let mut texts = columns
        .iter()
        .enumerate()
        .filter(|(_, column)| column.text.is_some());
    if let (Some((index, _)), None) = (texts.next(), texts.next()) {
        return (index, "the only column with text");
    }
    let is_named = |column: &Column| TARGETS.contains(&column.name.to_lowercase().as_str());
    match columns.iter().position(is_named) {
        Some(index) => (index, "by its name"),
        None => (columns.len() - 1, "the last column"),
    }
}

/// Checks that features are numbers without missing values.
fn check_features<'a>(
    path: &Path,
    features: impl Iterator<Item = &'a Column>,
) -> Result<(), DatasetError> {
    let mut mistakes = Vec::new();
    for Column {
        name, text, hole, ..
    } in features
    {
        let line = |row| parse::line_of(path, Some(row));
        if let Some((row, text)) = text {
            let line = line(row);
            mistakes.push(format!("column `{name}` has text (`{text}` in {line})"));
        } else if let Some(row) = hole {
            let line = line(row);
            mistakes.push(format!("column `{name}` has a hole (in {line})"));
        }
    }
    if mistakes.is_empty() {
        return Ok(());
    }
    Err(DatasetError::Mismatch(format!(
        "in `{}`, {}; features are numbers: take such a column out, or write numbers for it",
        path.display(),
        mistakes.join(", ")
    )))
}
