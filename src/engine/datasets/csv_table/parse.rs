//! Parses a CSV file to numbers and classes, and reports every error with its line and column.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use csv::{Reader, ReaderBuilder, StringRecord, Trim};

use super::super::table::Table;
use super::super::{DatasetError, Faults, Features, Normalisation, Target};
use super::CsvSpec;
use crate::base::file;

/// Column names below this edit distance are suggested for a misspelt name.
const NEAR: usize = 3;

/// Size of a CSV file, without its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Outline {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Number of classes; 0 where the target is a number.
    classes: usize,
}

impl Outline {
    pub(super) fn target(self) -> Target {
        match self.classes {
            0 => Target::Values { len: 1 },
            classes => Target::Class { classes },
        }
    }

    /// The text form for the fingerprint cache.
    pub(super) fn text(self) -> String {
        format!("{} {} {}", self.rows, self.columns, self.classes)
    }

    pub(super) fn of_text(text: &str) -> Option<Self> {
        let mut numbers = text.split(' ').map(|number| number.parse().ok());
        let mut next = || numbers.next().flatten();
        Some(Self {
            rows: next()?,
            columns: next()?,
            classes: next()?,
        })
    }
}

pub(super) struct Parsed {
    pub(super) rows: usize,
    /// Names of the features.
    columns: Vec<String>,
    features: Vec<f32>,
    values: Vec<f32>,
    pub(super) labels: Vec<u32>,
    pub(super) class_names: Vec<String>,
}

impl Parsed {
    pub(super) fn into_table(self) -> Table {
        let target = if self.class_names.is_empty() {
            Target::Values { len: 1 }
        } else {
            Target::Class {
                classes: self.class_names.len(),
            }
        };
        Table {
            form: Features::Vector {
                len: self.columns.len(),
            },
            target,
            features: self.features,
            values: self.values,
            labels: self.labels,
            class_names: self.class_names,
            normalisation: Normalisation {
                columns: self.columns,
                ..Normalisation::default()
            },
        }
    }
}

enum Value<'a> {
    Feature(f32),
    Target(f32),
    Class(&'a str),
}

/// Counts rows and classes and checks every number, without storing any.
pub(super) fn outline(spec: &CsvSpec) -> Result<Outline, DatasetError> {
    let mut classes = BTreeSet::new();
    let (rows, columns) = scan(spec, |value| {
        if let Value::Class(name) = value
            && !classes.contains(name)
        {
            classes.insert(name.to_owned());
        }
    })?;
    Ok(Outline {
        rows,
        columns: columns.len(),
        classes: classes.len(),
    })
}

pub(super) fn read(spec: &CsvSpec) -> Result<Parsed, DatasetError> {
    let (mut features, mut values, mut classes) = (Vec::new(), Vec::new(), Vec::new());
    let (rows, columns) = scan(spec, |value| match value {
        Value::Feature(number) => features.push(number),
        Value::Target(number) => values.push(number),
        Value::Class(name) => classes.push(name.to_owned()),
    })?;
    let class_names = names_of(&classes);
    let label_of: BTreeMap<&String, u32> = class_names.iter().zip(0..).collect();
    Ok(Parsed {
        rows,
        columns,
        features,
        values,
        labels: classes.iter().map(|class| label_of[class]).collect(),
        class_names,
    })
}

/// Passes the values of all rows to the callback, row by row; returns the number of rows and the names of the features, or
/// an error with every missing value, every row of the wrong length and every value that is not a number.
fn scan(
    spec: &CsvSpec,
    mut take: impl FnMut(Value<'_>),
) -> Result<(usize, Vec<String>), DatasetError> {
    let mut file = Csv::open(spec)?;
    let mut mistakes = Mistakes::default();
    let mut record = StringRecord::new();
    let mut rows = 0;
    while file.next(&mut record)? {
        rows += 1;
        if record.len() != file.names.len() {
            mistakes.ragged += 1;
            mistakes.all.add(|| file.ragged(&record));
            continue;
        }
        for (column, text) in record.iter().enumerate() {
            let is_target = column == file.target;
            let mut fault = |reason: String| {
                mistakes.of_target += usize::from(is_target);
                mistakes.all.add(|| (file.place(&record, column), reason));
            };
            match number(text) {
                _ if text.is_empty() => fault("nothing there".to_owned()),
                _ if spec.classes && is_target => take(Value::Class(text)),
                None => fault(format!("`{text}` is not a number")),
                Some(number) if is_target => take(Value::Target(number)),
                Some(number) => take(Value::Feature(number)),
            }
        }
    }
    mistakes.into_result(spec)?;
    some_rows(&spec.path, rows)?;
    file.names.remove(file.target);
    Ok((rows, file.names))
}

/// A finite number; `nan` and `inf` count as missing.
pub(super) fn number(text: &str) -> Option<f32> {
    let number: f64 = text.parse().ok()?;
    let number = number as f32;
    number.is_finite().then_some(number)
}

/// The distinct classes: numbers sorted by value, anything else alphabetically.
fn names_of(classes: &[String]) -> Vec<String> {
    let names: BTreeSet<&String> = classes.iter().collect();
    let mut names: Vec<String> = names.into_iter().cloned().collect();
    let numbers: Option<Vec<i64>> = names.iter().map(|name| name.parse().ok()).collect();
    if numbers.is_some() {
        names.sort_by_key(|name| name.parse::<i64>().unwrap_or_default());
    }
    names
}

pub(super) fn some_rows(path: &Path, rows: usize) -> Result<(), DatasetError> {
    if (1..=u32::MAX as usize).contains(&rows) {
        return Ok(());
    }
    Err(DatasetError::Mismatch(format!(
        "`{}` has {rows} rows under its header; it must have from 1 to {}",
        path.display(),
        u32::MAX
    )))
}

struct Csv<'a> {
    path: &'a Path,
    reader: Reader<File>,
    names: Vec<String>,
    target: usize,
}

impl<'a> Csv<'a> {
    fn open(spec: &'a CsvSpec) -> Result<Self, DatasetError> {
        let path = spec.path.as_path();
        let (reader, names) = reader(path)?;
        let target = find(spec, &names)?;
        Ok(Self {
            path,
            reader,
            names,
            target,
        })
    }

    fn next(&mut self, record: &mut StringRecord) -> Result<bool, DatasetError> {
        next(self.path, &mut self.reader, record)
    }

    fn place(&self, record: &StringRecord, column: usize) -> String {
        let line = line_of(self.path, record.position());
        format!(
            "in {line}, column {} (`{}`)",
            column + 1,
            self.names[column]
        )
    }

    fn ragged(&self, record: &StringRecord) -> (String, String) {
        let (found, expected) = (record.len(), self.names.len());
        (
            format!("in {}", line_of(self.path, record.position())),
            format!("{found} columns where the header has {expected}"),
        )
    }
}

/// "line 3", where the header is line 1. Recounted for errors only: before the next row, the reader has counted neither
/// two-character line ends nor empty lines.
pub(super) fn line_of(path: &Path, position: Option<&csv::Position>) -> String {
    let start = position.map_or(0, csv::Position::byte);
    let count = || -> std::io::Result<u64> {
        let mut file = BufReader::new(file::open(path)?);
        let (mut line, mut at) = (1, 0);
        loop {
            let bytes = file.fill_buf()?;
            let end = bytes.iter().zip(at..).position(|(byte, at)| {
                let is_end = at >= start && !matches!(byte, b'\n' | b'\r');
                line += u64::from(!is_end && *byte == b'\n');
                is_end
            });
            let length = bytes.len();
            if end.is_some() || length == 0 {
                return Ok(line);
            }
            file.consume(length);
            at += length as u64;
        }
    };
    let line = count().unwrap_or_else(|_| position.map_or(0, csv::Position::line));
    format!("line {line}")
}

/// A reader of the rows of a file, and the names of its columns.
pub(super) fn reader(path: &Path) -> Result<(Reader<File>, Vec<String>), DatasetError> {
    let file = file::open(path).map_err(|error| DatasetError::unreadable(path, &error))?;
    let mut reader = ReaderBuilder::new()
        .flexible(true)
        .trim(Trim::All)
        .from_reader(file);
    let header = reader.headers().map_err(|error| damaged(path, &error))?;
    let names: Vec<String> = header.iter().map(str::to_owned).collect();
    check_columns(path, &names)?;
    Ok((reader, names))
}

/// Checks that there are columns, separated by commas.
fn check_columns(path: &Path, names: &[String]) -> Result<(), DatasetError> {
    let path = path.display();
    let wrong = match names {
        [] => format!("`{path}` is empty; its first line must be the names of its columns"),
        [only] => match [";", "\t", "|"].iter().find(|other| only.contains(**other)) {
            Some(other) => format!(
                "the columns of `{path}` are separated by `{}`; separate them by `,`",
                other.escape_debug()
            ),
            None => return Ok(()),
        },
        _ => return Ok(()),
    };
    Err(DatasetError::Mismatch(wrong))
}

/// Reads the next row; returns whether there was one.
pub(super) fn next(
    path: &Path,
    reader: &mut Reader<File>,
    record: &mut StringRecord,
) -> Result<bool, DatasetError> {
    let read = reader.read_record(record);
    read.map_err(|error| damaged(path, &error))
}

fn find(spec: &CsvSpec, names: &[String]) -> Result<usize, DatasetError> {
    let path = spec.path.display();
    let mistake = |text| Err(DatasetError::Mismatch(text));
    let mut seen = BTreeSet::new();
    if let Some(name) = names.iter().find(|name| !seen.insert(name.as_str())) {
        return mistake(format!("`{path}` has two columns `{name}`"));
    }
    if names.len() < 2 {
        return mistake(format!("`{path}` has no columns beside the target"));
    }
    if let Some(target) = names.iter().position(|name| *name == spec.target) {
        return Ok(target);
    }
    let near = names
        .iter()
        .map(|name| (strsim::damerau_levenshtein(name, &spec.target), name))
        .min()
        .filter(|&(distance, _)| distance < NEAR);
    let advice = near.map_or_else(
        || format!("it has `{}`", names.join("`, `")),
        |(_, name)| format!("did you mean `{name}`?"),
    );
    Err(DatasetError::NoColumn {
        path: path.to_string(),
        column: spec.target.clone(),
        advice,
    })
}

fn damaged(path: &Path, error: &csv::Error) -> DatasetError {
    let place = error.position().map_or_else(String::new, |place| {
        format!("in {}", line_of(path, Some(place)))
    });
    match error.kind() {
        csv::ErrorKind::Io(error) => DatasetError::unreadable(path, error),
        csv::ErrorKind::Utf8 { .. } => DatasetError::damaged(path, place, "not UTF-8"),
        _ => DatasetError::damaged(path, place, error.to_string()),
    }
}

/// Errors in file order, with counts of the kinds that have a remedy.
#[derive(Default)]
struct Mistakes {
    all: Faults,
    /// Rows whose number of columns differs from the header.
    ragged: usize,
    /// Values of the target column.
    of_target: usize,
}

impl Mistakes {
    fn into_result(self, spec: &CsvSpec) -> Result<(), DatasetError> {
        let count = self.all.count();
        let mut faults = self.all;
        let what = match count {
            0 => return Ok(()),
            _ if self.ragged == count => "is ragged",
            _ => "is not a table of numbers",
        };
        if self.ragged > 0 {
            faults.help = Some(
                "it is ragged: every row needs as many columns as the header; a value that has a comma stands in quotes"
                    .to_owned(),
            );
        } else if self.of_target == count && !spec.classes {
            faults.key = Some("target");
            faults.help = Some(format!(
                "where `{}` is a class, add `classes = true`",
                spec.target
            ));
        } else if self.of_target == 0 {
            faults.help = Some("a feature is a number in every row: fill in what is missing, encode text, or leave the column out".to_owned());
        }
        Err(DatasetError::faulty(&spec.path, what, faults))
    }
}
