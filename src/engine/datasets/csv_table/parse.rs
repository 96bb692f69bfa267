//! Reads a table from one or several files into typed columns.

use std::collections::HashMap;

use super::super::{DatasetError, SplitKind, Target, Targets};
use super::CsvSpec;
use super::files::{DataFile, column_orders};
use super::layout::{Layout, Role};
use super::reading::reader;
use super::scan::{Scanned, Sink, Source, scan};
use super::value::Value;

/// Largest number of distinct values of a category.
pub(super) const MAX_CATEGORIES: usize = 1000;

/// The values of a table, by column.
pub(super) struct Parsed {
    pub(super) rows: usize,
    /// The feature columns, each with its index in the layout.
    pub(super) columns: Vec<(usize, Raw)>,
    pub(super) layout: Layout,
    /// The targets, in the order of the manifest.
    pub(super) targets: Targets,
    /// Values of the column that determines the split, if there is one.
    pub(super) key: Option<Raw>,
    /// For each row its index in its file, from 0.
    pub(super) source_rows: Vec<u32>,
    /// Numbers of rows to train, validate and test on if separate files determine the split.
    pub(super) rows_of_parts: [usize; 3],
    /// First row and name of each file; a single training file has no entry.
    pub(super) source_files: Vec<(u32, String)>,
}

/// The values of a column. A missing number is NaN, a missing text is empty.
pub(super) enum Raw {
    Numbers(Vec<f32>),
    Kinds(CategoricalColumn),
}

impl Raw {
    /// An empty column of the type of `value`.
    fn of(value: Value<'_>) -> Self {
        match value {
            Value::Number(_) => Self::Numbers(Vec::new()),
            Value::Text(_) => Self::Kinds(CategoricalColumn::default()),
        }
    }

    /// Appends a row's value, which has the column's type.
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

    /// Number of distinct texts; 0 for numbers.
    pub(super) fn kinds(&self) -> usize {
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

/// The distinct texts of a column, and the index of each row's text. A missing value is the empty text.
#[derive(Default)]
pub(super) struct CategoricalColumn {
    pub(super) names: Vec<String>,
    place: HashMap<String, u32>,
    pub(super) of_row: Vec<u32>,
}

impl CategoricalColumn {
    fn see(&mut self, text: &str) -> u32 {
        if let Some(place) = self.place.get(text) {
            return *place;
        }
        let place = self.names.len() as u32;
        self.names.push(text.to_owned());
        self.place.insert(text.to_owned(), place);
        place
    }

    /// Renumbers the distinct texts in the order of [`sorted`].
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
    let (_, names) = reader(&files[0].path, spec.dialect())?;
    let layout = Layout::of(spec, names)?;
    let orders = column_orders(&files, spec.dialect(), &layout.names)?;
    let sources = files.into_iter().zip(orders).map(|(file, order)| {
        let (reader, _) = reader(&file.path, spec.dialect())?;
        Ok(Source::of(file, reader, order))
    });
    let scanned = scan(spec, &layout, sources, &mut columns)?;
    let source_files = source_files(&scanned);
    let (source_rows, rows_of_parts) = scanned.rows(&spec.path)?;
    columns.resize_with(layout.value_column_count(), || None);
    let columns = columns.into_iter().map(|raw| raw.map(Raw::sorted));
    let mut columns: Vec<Option<Raw>> = columns.collect();
    let parts = columns.split_off(layout.part_column_index(0));
    let key = columns.pop().flatten();
    let mut features = Vec::new();
    let mut numbers = Vec::new();
    let mut targets = Targets::of_values(Target::None, Vec::new());
    for (column, raw) in columns.into_iter().enumerate() {
        let is_target = layout.roles[column] == Role::Target;
        match raw {
            None => {}
            Some(Raw::Numbers(values)) if is_target => numbers.push((column, values)),
            Some(Raw::Kinds(kinds)) if is_target => {
                targets = Targets::of_classes(kinds.of_row, kinds.names);
            }
            Some(raw) => features.push((column, raw)),
        }
    }
    for ((column, _), raw) in layout.parts.iter().zip(parts) {
        features.extend(raw.map(|raw| (*column, raw)));
    }
    if targets.labels.is_empty() {
        let name = |column: usize| &layout.names[column];
        numbers.sort_by_key(|(column, _)| spec.target.iter().position(|one| one == name(*column)));
        targets = of_numbers(spec, numbers, source_rows.len());
    }
    Ok(Parsed {
        rows: source_rows.len(),
        columns: features,
        targets,
        key,
        source_rows,
        rows_of_parts,
        source_files,
        layout,
    })
}

/// Targets that are numbers or labels, `(rows, columns)`; `columns` has each column's index in the layout and its
/// values, in the order of the manifest.
fn of_numbers(spec: &CsvSpec, mut columns: Vec<(usize, Vec<f32>)>, rows: usize) -> Targets {
    let len = columns.len();
    let values = match &mut columns[..] {
        [(_, only)] => std::mem::take(only),
        several => {
            let row = |row: usize| several.iter().map(move |(_, values)| values[row]);
            (0..rows).flat_map(row).collect()
        }
    };
    let form = if spec.predicts_labels() {
        Target::Labels { len }
    } else {
        Target::Values { len }
    };
    Targets::of_values(form, values)
}

/// First row and name of each file; a single training file has no entry.
fn source_files(scanned: &Scanned) -> Vec<(u32, String)> {
    let of_table = scanned
        .files
        .iter()
        .filter(|(file, _)| file.part == SplitKind::Train);
    let unnamed = usize::from(of_table.count() == 1);
    let mut first = 0;
    let named = scanned.files.iter().map(|(file, [_, used])| {
        first += *used as u32;
        (first - *used as u32, file.name.clone())
    });
    named.skip(unnamed).collect()
}

/// Sorts names: by value if all are integers, otherwise alphabetically.
fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    let numbers: Option<Vec<i64>> = names.iter().map(|name| name.parse().ok()).collect();
    if numbers.is_some() {
        names.sort_by_key(|name| name.parse::<i64>().unwrap_or_default());
    }
    names
}
