//! Reads a table: every value as a number, a kind or a class, and every mistake with its place.

use std::collections::HashMap;
use std::fs::File;

use csv::Reader;
use serde::{Deserialize, Serialize};

use super::super::{DatasetError, Target};
use super::columns::{Layout, Missing, Role};
use super::dates::days;
use super::leaks::remarks;
use super::mistakes::{Mistake, Mistakes};
use super::reading::{for_each_row, reader, some_rows};
use super::rows::splits;
use super::{CsvSpec, Decimal};
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
    /// Number of targets that are numbers.
    values: usize,
    /// Rows to validate and to test on, where the file decides it.
    pub(super) held_out: Option<[usize; 2]>,
    /// What makes results look better than they are.
    pub(super) remarks: Vec<String>,
}

impl Outline {
    pub(super) fn target(&self) -> Target {
        match self.classes {
            0 => Target::Values { len: self.values },
            classes => Target::Class { classes },
        }
    }
}

/// The values of a table, by column.
pub(super) struct Parsed {
    pub(super) rows: usize,
    /// Every feature with the place of its column in the layout.
    pub(super) columns: Vec<(usize, Raw)>,
    pub(super) layout: Layout,
    /// Targets that are numbers, `(rows, columns)`, in the order of the manifest.
    pub(super) values: Vec<f32>,
    pub(super) labels: Vec<u32>,
    pub(super) class_names: Vec<String>,
    /// What decides the split.
    pub(super) key: Option<Raw>,
    /// Numbers of the rows in the file, from 0.
    pub(super) source_rows: Vec<u32>,
}

impl Parsed {
    pub(super) fn target(&self) -> Target {
        match self.class_names.len() {
            0 => Target::Values {
                len: self.values.len() / self.rows.max(1),
            },
            classes => Target::Class { classes },
        }
    }
}

/// The values of a column; of missing ones a NaN.
pub(super) enum Raw {
    Numbers(Vec<f32>),
    Kinds(Kinds),
}

impl Raw {
    /// An empty column of such values.
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

/// A value of a row; the text of a class or kind.
#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    Number(f32),
    Text(&'a str),
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
        values: parsed.target().values_len(),
        held_out: splits
            .as_ref()
            .map(|rows| [rows.validation.len(), rows.test.len()]),
        remarks: remarks(spec, &parsed, splits.as_ref()),
    })
}

/// Takes the values of a file.
pub(super) trait Sink {
    /// A value of a row with the place of its column; of what decides the split, the place after the last column; of parts of dates
    /// those after that.
    fn value(&mut self, column: usize, value: Value<'_>);

    /// The end of a row, with its number in the file from 0.
    fn end(&mut self, _row: u32) {}
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
    let (reader, names) = reader(&spec.path, spec.separator.0)?;
    let layout = Layout::of(spec, names)?;
    let source_rows = scan(spec, &layout, reader, &mut columns)?;
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

/// Passes the values of all rows to `sink`, row by row. Returns the numbers of the rows in the file.
///
/// # Errors
/// Every column that has missing values, or such as are not what it is said to be.
pub(super) fn scan(
    spec: &CsvSpec,
    layout: &Layout,
    reader: Reader<File>,
    sink: &mut impl Sink,
) -> Result<Vec<u32>, DatasetError> {
    let path = spec.path.as_path();
    let is_missing =
        |text: &str| text.is_empty() || spec.missing_values.iter().any(|one| one == text);
    let may_be_left_out: Vec<usize> = (0..layout.names.len())
        .filter(|&column| layout.specs[column].missing == Some(Missing::LeaveOut))
        .filter(|&column| layout.roles[column] != Role::Ignored || layout.is_key(column))
        .collect();
    let mut mistakes = Mistakes::default();
    let (mut source_rows, mut read) = (Vec::new(), 0u64);
    for_each_row(path, reader, |record| {
        read += 1;
        if record.len() != layout.names.len() {
            source_rows.push((read - 1) as u32);
            mistakes.ragged(record);
            return;
        }
        if may_be_left_out
            .iter()
            .any(|&column| is_missing(record[column].trim()))
        {
            return;
        }
        source_rows.push((read - 1) as u32);
        for (column, text) in record.iter().map(str::trim).enumerate() {
            let role = &layout.roles[column];
            match value(spec, layout, (column, role), text, is_missing(text)) {
                Ok(None) => {}
                Ok(Some(value)) => sink.value(column, value),
                Err(mistake) => mistakes.add(column, mistake, text, record),
            }
        }
        for (index, &(column, part)) in layout.parts.iter().enumerate() {
            if let Role::Date(form) = &layout.roles[column] {
                let text = Some(record[column].trim()).filter(|text| !is_missing(text));
                let kind = text
                    .and_then(|text| part.of(form, text))
                    .unwrap_or_default();
                sink.value(layout.place_of_part(index), Value::Text(&kind));
            }
        }
        if let Some((column, role)) = &layout.key {
            let (column, text) = (*column, record[*column].trim());
            let is_missing = is_missing(text);
            let is_kind = layout.specs[column].missing == Some(Missing::Kind);
            match value(spec, layout, (column, role), text, is_missing) {
                _ if is_missing && !is_kind => {
                    mistakes.add(column, Mistake::NoSplit, text, record);
                }
                Ok(value) => {
                    sink.value(layout.names.len(), value.unwrap_or(Value::Text("")));
                }
                // Of a feature it is known already.
                Err(mistake) if layout.roles[column] == Role::Ignored => {
                    mistakes.add(column, mistake, text, record);
                }
                Err(_) => {}
            }
        }
        sink.end((read - 1) as u32);
    })?;
    mistakes.into_result(spec, layout, source_rows.len())?;
    if source_rows.is_empty() && read > 0 {
        return Err(DatasetError::Mismatch(format!(
            "every row of `{}` is left out, as a value with `missing = \"leave-out\"` is missing",
            path.display()
        )));
    }
    some_rows(path, source_rows.len())?;
    Ok(source_rows)
}

/// A text as a value of its column; `None` in an ignored column.
fn value<'t>(
    spec: &CsvSpec,
    layout: &Layout,
    (column, role): (usize, &Role),
    text: &'t str,
    is_missing: bool,
) -> Result<Option<Value<'t>>, Mistake> {
    let own = &layout.specs[column];
    let is_class = spec.classes && *role == Role::Target;
    let found = match role {
        Role::Ignored => return Ok(None),
        Role::Category if is_missing && own.missing.is_some() => Value::Text(""),
        _ if is_missing && own.missing.is_some() => Value::Number(f32::NAN),
        _ if is_missing && own.fill.is_some() => Value::Number(own.fill.unwrap_or_default() as f32),
        _ if is_missing => return Err(Mistake::Missing),
        Role::Category => Value::Text(text),
        Role::Target if is_class => Value::Text(text),
        Role::Date(form) => Value::Number(days(form, text).ok_or(Mistake::NoDate)?),
        Role::Target | Role::Number => {
            let number = number(text, spec.decimal).ok_or(Mistake::NoNumber)?;
            if own.log && number <= 0.0 {
                return Err(Mistake::NotPositive);
            }
            Value::Number(number)
        }
    };
    Ok(Some(found))
}

/// A finite number; `nan` and `inf` are none, nor are numbers with separators of thousands.
pub(in super::super) fn number(text: &str, decimal: Decimal) -> Option<f32> {
    let number: f64 = match decimal {
        Decimal::Point => text.parse().ok()?,
        Decimal::Comma if text.contains('.') => return None,
        Decimal::Comma => text.replacen(',', ".", 1).parse().ok()?,
    };
    let number = number as f32;
    number.is_finite().then_some(number)
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
