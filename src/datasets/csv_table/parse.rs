//! From the text of a CSV file to numbers and classes, with every mistake at its line and column.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

use csv::{Reader, ReaderBuilder, StringRecord, Trim};

use super::super::table::Table;
use super::super::{DatasetError, Features, Target};
use super::CsvSpec;

/// Mistakes that are written out; the others are counted.
const SHOWN_MISTAKES: usize = 20;
/// Edits up to which a column's name is proposed for another.
const NEAR: usize = 3;

/// What a CSV file holds, before it is read as numbers.
pub(super) struct Outline {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) target: Target,
}

/// A CSV file as numbers.
pub(super) struct Parsed {
    pub(super) rows: usize,
    columns: usize,
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
            form: Features::Vector { len: self.columns },
            target,
            features: self.features,
            values: self.values,
            labels: self.labels,
            class_names: self.class_names,
            target_scale: None,
        }
    }
}

/// Counts rows and classes without reading numbers.
pub(super) fn outline(spec: &CsvSpec) -> Result<Outline, DatasetError> {
    let mut file = Csv::open(spec)?;
    let mut record = StringRecord::new();
    let mut classes = BTreeSet::new();
    let mut rows = 0;
    while file.next(&mut record)? {
        rows += 1;
        if spec.classes {
            classes.insert(record.get(file.target).unwrap_or_default().to_owned());
        }
    }
    some_rows(&spec.path, rows)?;
    Ok(Outline {
        rows,
        columns: file.names.len() - 1,
        target: if spec.classes {
            Target::Class {
                classes: classes.len(),
            }
        } else {
            Target::Values { len: 1 }
        },
    })
}

/// Reads everything, or reports every hole and everything that is no number.
pub(super) fn read(spec: &CsvSpec) -> Result<Parsed, DatasetError> {
    let mut file = Csv::open(spec)?;
    let mut mistakes = Mistakes::default();
    let mut record = StringRecord::new();
    let (mut features, mut values, mut classes) = (Vec::new(), Vec::new(), Vec::new());
    let mut rows = 0;
    while file.next(&mut record)? {
        rows += 1;
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() != file.names.len() {
            let (found, expected) = (record.len(), file.names.len());
            mistakes.add(format!("line {line}"), || {
                format!("{found} columns where the header has {expected}")
            });
            continue;
        }
        for (column, text) in record.iter().enumerate() {
            let place = || {
                format!(
                    "line {line}, column {} (`{}`)",
                    column + 1,
                    file.names[column]
                )
            };
            let is_class = spec.classes && column == file.target;
            match number(text) {
                _ if text.is_empty() => mistakes.add(place(), || "nothing there".to_owned()),
                _ if is_class => classes.push(text.to_owned()),
                None => mistakes.add(place(), || format!("`{text}` is not a number")),
                Some(number) if column == file.target => values.push(number),
                Some(number) => features.push(number),
            }
        }
    }
    mistakes.into_result(&spec.path)?;
    some_rows(&spec.path, rows)?;
    let class_names = names_of(&classes);
    let label_of: BTreeMap<&String, u32> = class_names.iter().zip(0..).collect();
    Ok(Parsed {
        rows,
        columns: file.names.len() - 1,
        features,
        values,
        labels: classes.iter().map(|class| label_of[class]).collect(),
        class_names,
    })
}

/// A finite number; `nan` and `inf` are holes.
pub(super) fn number(text: &str) -> Option<f32> {
    let number: f64 = text.parse().ok()?;
    let number = number as f32;
    number.is_finite().then_some(number)
}

/// The distinct classes: numbers by size, anything else by alphabet.
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
}

/// The rows of a file, and the names of its columns.
pub(super) fn reader(path: &Path) -> Result<(Reader<File>, Vec<String>), DatasetError> {
    let file = File::open(path).map_err(|error| DatasetError::unreadable(path, &error))?;
    let mut reader = ReaderBuilder::new()
        .flexible(true)
        .trim(Trim::All)
        .from_reader(file);
    let header = reader.headers().map_err(|error| damaged(path, &error))?;
    let names = header.iter().map(str::to_owned).collect();
    Ok((reader, names))
}

/// Reads the next row, where there is one.
pub(super) fn next(
    path: &Path,
    reader: &mut Reader<File>,
    record: &mut StringRecord,
) -> Result<bool, DatasetError> {
    let read = reader.read_record(record);
    read.map_err(|error| damaged(path, &error))
}

/// Number of the target column.
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
    mistake(format!(
        "`{path}` has no column `{}`; {advice}",
        spec.target
    ))
}

fn damaged(path: &Path, error: &csv::Error) -> DatasetError {
    let place = error
        .position()
        .map_or_else(String::new, |place| format!("in line {}", place.line()));
    match error.kind() {
        csv::ErrorKind::Io(error) => DatasetError::unreadable(path, error),
        csv::ErrorKind::Utf8 { .. } => DatasetError::damaged(path, place, "not UTF-8"),
        _ => DatasetError::damaged(path, place, error.to_string()),
    }
}

/// Mistakes in file order: all are counted, the first are written out.
#[derive(Default)]
struct Mistakes {
    shown: Vec<(String, String)>,
    count: usize,
}

impl Mistakes {
    fn add(&mut self, place: String, reason: impl FnOnce() -> String) {
        self.count += 1;
        if self.shown.len() < SHOWN_MISTAKES {
            self.shown.push((place, reason()));
        }
    }

    fn into_result(self, path: &Path) -> Result<(), DatasetError> {
        match self.shown.as_slice() {
            [] => Ok(()),
            [(place, reason)] => Err(DatasetError::damaged(path, format!("in {place}"), reason)),
            shown => {
                let mut reasons: Vec<String> = shown
                    .iter()
                    .map(|(place, reason)| format!("{place}: {reason}"))
                    .collect();
                if self.count > shown.len() {
                    reasons.push(format!("and {} more", self.count - shown.len()));
                }
                let place = format!("in {} places", self.count);
                Err(DatasetError::damaged(path, place, reasons.join("; ")))
            }
        }
    }
}
