//! Reads a table, which may be several files, and says what it is.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::super::{DatasetError, Part, Target};
use super::CsvSpec;
use super::columns::{Layout, Role};
use super::files::{DataFile, orders};
use super::leaks::remarks;
use super::reading::reader;
use super::rows::splits;
use super::scan::{Scanned, Sink, Source, Value, scan};
use crate::base::Seed;

/// Kinds that a category may have.
pub(super) const MOST_KINDS: usize = 1000;

/// Size of a CSV file, without its values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outline {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Number of classes; 0 where the target is a number.
    classes: usize,
    /// Number of targets that are numbers or labels.
    values: usize,
    /// Rows to validate and to test on, where the file decides it.
    pub(super) held_out: Option<[usize; 2]>,
    /// Warnings of properties that make results look better than they are.
    pub(super) remarks: Vec<String>,
}

impl Outline {
    pub(super) fn target(&self, spec: &CsvSpec) -> Target {
        target(spec, self.classes, self.values)
    }
}

/// The form of a target of so many classes, or of values if there are none.
fn target(spec: &CsvSpec, classes: usize, len: usize) -> Target {
    match classes {
        0 if spec.predicts_labels() => Target::Labels { len },
        0 => Target::Values { len },
        classes => Target::Class { classes },
    }
}

/// The values of a table, by column.
pub(super) struct Parsed {
    pub(super) rows: usize,
    /// Every feature with the place of its column in the layout.
    pub(super) columns: Vec<(usize, Raw)>,
    pub(super) layout: Layout,
    /// Targets that are numbers or labels, `(rows, columns)`, in the order of the manifest.
    pub(super) values: Vec<f32>,
    pub(super) labels: Vec<u32>,
    pub(super) class_names: Vec<String>,
    /// Values that decide the split.
    pub(super) key: Option<Raw>,
    /// Numbers of the rows in their file, from 0.
    pub(super) source_rows: Vec<u32>,
    /// Rows to train, to validate and to test on where files decide it, one after another.
    pub(super) rows_of_parts: [usize; 3],
    /// Names of files, each with its first row; without that of the only file to train on.
    pub(super) source_files: Vec<(u32, String)>,
}

impl Parsed {
    pub(super) fn target(&self, spec: &CsvSpec) -> Target {
        let len = self.values.len() / self.rows.max(1);
        target(spec, self.class_names.len(), len)
    }
}

/// The values of a column; of missing ones a NaN.
pub(super) enum Raw {
    Numbers(Vec<f32>),
    Kinds(Kinds),
}

impl Raw {
    /// An empty column of the type of `value`.
    fn of(value: Value<'_>) -> Self {
        match value {
            Value::Number(_) => Self::Numbers(Vec::new()),
            Value::Text(_) => Self::Kinds(Kinds::default()),
        }
    }

    /// Adds a row; all values of a column are of one form, that of its role.
    fn push(&mut self, value: Value<'_>) {
        match (self, value) {
            (Self::Numbers(numbers), Value::Number(number)) => numbers.push(number),
            (Self::Kinds(kinds), Value::Text(text)) => {
                let kind = kinds.see(text);
                kinds.of_row.push(kind);
            }
            _ => {}
        }
    }

    /// Number of kinds; 0 of numbers.
    fn kinds(&self) -> usize {
        match self {
            Self::Kinds(kinds) => kinds.names.len(),
            Self::Numbers(_) => 0,
        }
    }

    fn sorted(self) -> Self {
        match self {
            Self::Kinds(kinds) => Self::Kinds(kinds.sorted()),
            numbers @ Self::Numbers(_) => numbers,
        }
    }
}

/// Texts of a column, each once, and which of them a row has. A missing one is the empty text.
#[derive(Default)]
pub(super) struct Kinds {
    pub(super) names: Vec<String>,
    place: HashMap<String, u32>,
    pub(super) of_row: Vec<u32>,
}

impl Kinds {
    fn see(&mut self, text: &str) -> u32 {
        if let Some(place) = self.place.get(text) {
            return *place;
        }
        let place = self.names.len() as u32;
        self.names.push(text.to_owned());
        self.place.insert(text.to_owned(), place);
        place
    }

    /// Numbers the kinds in the order of [`sorted`].
    fn sorted(self) -> Self {
        let names = sorted(self.names.clone());
        let new: HashMap<&String, u32> = names.iter().zip(0..).collect();
        let new: Vec<u32> = self.names.iter().map(|name| new[name]).collect();
        Self {
            of_row: self.of_row.iter().map(|&old| new[old as usize]).collect(),
            place: HashMap::new(),
            names,
        }
    }
}

/// Counts rows, kinds and classes and checks every value.
pub(super) fn outline(spec: &CsvSpec) -> Result<Outline, DatasetError> {
    let parsed = read(spec)?;
    let (rows, layout) = (parsed.rows, &parsed.layout);
    let mut columns = 0;
    for (column, raw) in &parsed.columns {
        let (name, kinds) = (&layout.names[*column], raw.kinds());
        if kinds > MOST_KINDS {
            return Err(DatasetError::Mismatch(format!(
                "`columns`: `{name}` has {kinds} kinds in {rows} rows, and a category at most {MOST_KINDS}: leave it out by `ignore`"
            )));
        }
        columns += layout.width(*column, kinds);
    }
    let splits = spec.split.as_ref().map(|_| splits(spec, &parsed, Seed(0)));
    let splits = splits.transpose()?;
    Ok(Outline {
        rows,
        columns,
        classes: parsed.class_names.len(),
        values: parsed.target(spec).values_len(),
        held_out: splits
            .as_ref()
            .map(|rows| [rows.validation.len(), rows.test.len()]),
        remarks: remarks(spec, &parsed, splits.as_ref()),
    })
}

impl Sink for Vec<Option<Raw>> {
    fn value(&mut self, column: usize, value: Value<'_>) {
        if self.len() <= column {
            self.resize_with(column + 1, || None);
        }
        let raw = self[column].get_or_insert_with(|| Raw::of(value));
        raw.push(value);
    }
}

pub(super) fn read(spec: &CsvSpec) -> Result<Parsed, DatasetError> {
    let mut columns: Vec<Option<Raw>> = Vec::new();
    let files = DataFile::all(spec)?;
    let (_, names) = reader(&files[0].path, spec.separator.0)?;
    let layout = Layout::of(spec, names)?;
    let orders = orders(&files, spec.separator.0, &layout.names)?;
    let sources = files.into_iter().zip(orders).map(|(file, order)| {
        let (reader, _) = reader(&file.path, spec.separator.0)?;
        Ok(Source::of(file, reader, order))
    });
    let scanned = scan(spec, &layout, sources, &mut columns)?;
    let source_files = source_files(&scanned);
    let (source_rows, rows_of_parts) = scanned.rows(&spec.path)?;
    columns.resize_with(layout.places(), || None);
    let columns = columns.into_iter().map(|raw| raw.map(Raw::sorted));
    let mut columns: Vec<Option<Raw>> = columns.collect();
    let parts = columns.split_off(layout.place_of_part(0));
    let mut parsed = Parsed {
        rows: source_rows.len(),
        columns: Vec::new(),
        values: Vec::new(),
        labels: Vec::new(),
        class_names: Vec::new(),
        key: columns.pop().flatten(),
        source_rows,
        rows_of_parts,
        source_files,
        layout,
    };
    let mut targets = Vec::new();
    for (column, raw) in columns.into_iter().enumerate() {
        let is_target = parsed.layout.roles[column] == Role::Target;
        match raw {
            None => {}
            Some(Raw::Numbers(values)) if is_target => targets.push((column, values)),
            Some(Raw::Kinds(kinds)) if is_target => {
                (parsed.class_names, parsed.labels) = (kinds.names, kinds.of_row);
            }
            Some(raw) => parsed.columns.push((column, raw)),
        }
    }
    for ((column, _), raw) in parsed.layout.parts.iter().zip(parts) {
        parsed.columns.extend(raw.map(|raw| (*column, raw)));
    }
    let place = |column: usize| {
        spec.target
            .iter()
            .position(|name| *name == parsed.layout.names[column])
    };
    targets.sort_by_key(|(column, _)| place(*column));
    parsed.values = match &mut targets[..] {
        [(_, only)] => std::mem::take(only),
        several => {
            let row = |row: usize| several.iter().map(move |(_, values)| values[row]);
            (0..parsed.rows).flat_map(row).collect()
        }
    };
    Ok(parsed)
}

/// Names of files, each with its first row; the rows of the only file to train on have none.
fn source_files(scanned: &Scanned) -> Vec<(u32, String)> {
    let of_table = scanned
        .files
        .iter()
        .filter(|(file, _)| file.part == Part::Train);
    let unnamed = usize::from(of_table.count() == 1);
    let mut first = 0;
    let named = scanned.files.iter().map(|(file, [_, used])| {
        first += *used as u32;
        (first - *used as u32, file.name.clone())
    });
    named.skip(unnamed).collect()
}

/// Names in order: whole numbers by value, anything else alphabetically.
fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    let numbers: Option<Vec<i64>> = names.iter().map(|name| name.parse().ok()).collect();
    if numbers.is_some() {
        names.sort_by_key(|name| name.parse::<i64>().unwrap_or_default());
    }
    names
}
