//! [`for_each_part`]: a file that a trained model has not seen, prepared in the same way as the training rows, part by
//! part.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};

use super::super::table::Table;
use super::super::{
    ColumnPreparation, DatasetError, Features, PreparedColumn, Targets, TrainingDataInfo,
};
use super::CsvSpec;
use super::dates::DatePart;
use super::files::DataFile;
use super::layout::{Layout, Role, missing_columns};
use super::parse::{CategoricalColumn, Raw};
use super::prepare::{Values, numbers, to_row_major};
use super::reading::{Rows, reader, separator};
use super::scan::{Sink, Source, scan};
use super::value::Value;
use crate::base::text::count;
use crate::diag::list_of;

/// Number of values in a part: small compared with the file, large enough for full batches.
const PART: usize = 1 << 20;
/// Largest number of rows in a part.
const MOST_ROWS: usize = 1 << 13;
/// Largest number of texts in a sentence; the others are counted.
const NAMED: usize = 4;

/// Passes the rows of `path` to `take`, in parts, prepared like the training rows to which `known` was fitted.
///
/// Columns may come in any order; those that the model does not read are ignored. A category that no training row had
/// is 0 in all features of its column, as in training. Returns remarks for readers of the predictions.
///
/// # Errors
/// Every column that is missing or has values for which the model has no rule, after `take` has seen the rows before
/// them; the first error of `take`.
pub(in super::super) fn for_each_part<E: From<DatasetError>>(
    spec: &CsvSpec,
    known: &TrainingDataInfo<'_>,
    columns: &[PreparedColumn],
    take: &mut dyn FnMut(Table) -> Result<(), E>,
) -> Result<Vec<String>, E> {
    let (spec, reader, names) = open(spec, columns)?;
    let (layout, extra) = layout(&spec, known, columns, names)?;
    let width: usize = columns.iter().map(PreparedColumn::width).sum();
    let mut parts = Parts {
        spec: &spec,
        known,
        columns,
        layout: &layout,
        gathered: Vec::new(),
        source_rows: Vec::new(),
        part_rows: (PART / width.max(1)).clamp(1, MOST_ROWS),
        new_texts: BTreeMap::new(),
        take,
        error: None,
    };
    let source = Source::of(DataFile::only(spec.path.first_path()), reader, None);
    let read = scan(&spec, &layout, [Ok(source)], &mut parts);
    let rows = read.and_then(|read| read.rows(&spec.path));
    let (rows, _) = rows.map_err(without_rule)?;
    parts.pass();
    if let Some(error) = parts.unknown_classes() {
        return Err(error.into());
    }
    match parts.error {
        Some(error) => Err(error),
        None => Ok(parts.remarks(&extra, &rows)),
    }
}

/// Opens the file; if the training rows' separator gives no known column, the file's own separator is guessed.
fn open(
    spec: &CsvSpec,
    columns: &[PreparedColumn],
) -> Result<(CsvSpec, Rows, Vec<String>), DatasetError> {
    let with = |separator: char| {
        let mut spec = spec.clone();
        spec.separator.0 = separator;
        let (reader, names) = reader(spec.path.first_path(), spec.dialect())?;
        Ok((spec, reader, names))
    };
    let found = with(spec.separator.0);
    let has_one = |names: &[String]| columns.iter().any(|column| names.contains(&column.name));
    match found {
        Ok(found) if has_one(&found.2) => Ok(found),
        Err(error @ DatasetError::Unreadable { .. }) => Err(error),
        found => match with(separator(spec.path.first_path())?) {
            Ok(other) if has_one(&other.2) => Ok(other),
            _ => found,
        },
    }
}

/// The role of each column of the file, and names of columns that the model does not read.
fn layout(
    spec: &CsvSpec,
    known: &TrainingDataInfo<'_>,
    columns: &[PreparedColumn],
    names: Vec<String>,
) -> Result<(Layout, Vec<String>), DatasetError> {
    missing_columns(spec.path.first_path(), columns, &names)?;
    if known.wants_target {
        let lacking: Vec<&String> = spec
            .target
            .iter()
            .filter(|name| !names.contains(name))
            .collect();
        if let [first, ..] = &lacking[..] {
            return Err(DatasetError::Mismatch(format!(
                "`{}` has no column `{first}`, the target, which is needed to evaluate",
                spec.path
            )));
        }
    }
    let mut extra = Vec::new();
    let role = |name: &String| {
        let column = columns.iter().find(|column| column.name == *name);
        match column.map(|column| &column.how) {
            Some(ColumnPreparation::Category { .. }) => Role::Category,
            Some(ColumnPreparation::Number { date, .. }) => {
                date.clone().map_or(Role::Number, Role::Date)
            }
            None if spec.target.has(name) && known.wants_target => Role::Target,
            None => {
                if !spec.target.has(name) && !spec.ignore.contains(name) {
                    extra.push(name.clone());
                }
                Role::Ignored
            }
        }
    };
    let roles = names.iter().map(role).collect();
    let own = |name: &String| spec.columns.get(name).cloned().unwrap_or_default();
    let place = |name: &String| names.iter().position(|own| own == name);
    let parts = columns
        .iter()
        .filter_map(|column| Some((place(&column.name)?, column.part()?)));
    let layout = Layout {
        parts: parts.collect(),
        roles,
        specs: names.iter().map(own).collect(),
        names,
        key: None,
    };
    Ok((layout, extra))
}

/// The error without the help that names a rule of the manifest: a change of the manifest would only help a newly
/// trained model.
fn without_rule(error: DatasetError) -> DatasetError {
    let DatasetError::Damaged {
        path, mut faults, ..
    } = error
    else {
        return error;
    };
    if let Some(help) = faults.help.as_mut().filter(|help| help.contains('=')) {
        let rules = ["missing = \"median\"", "missing = \"kind\""];
        let rules = rules.iter().filter(|rule| help.contains(**rule));
        let rules: Vec<String> = rules.map(|rule| format!("`{rule}`")).collect();
        let train = match &rules[..] {
            [] => String::new(),
            rules => format!(
                ", or train a model that has a rule for missing values, {} (docs/tables.md)",
                rules.join(" or ")
            ),
        };
        *help = format!("mend these rows{train}");
    }
    DatasetError::Damaged {
        path,
        what: "has values that the model cannot read",
        faults,
    }
}

/// Collects rows and passes them on in parts.
struct Parts<'a, E> {
    spec: &'a CsvSpec,
    known: &'a TrainingDataInfo<'a>,
    columns: &'a [PreparedColumn],
    layout: &'a Layout,
    /// Values of the rows since the last part.
    gathered: Vec<Option<Raw>>,
    source_rows: Vec<u32>,
    part_rows: usize,
    /// Categories that no training row had, by column, with the number of rows that have them.
    new_texts: BTreeMap<usize, BTreeMap<String, usize>>,
    take: &'a mut dyn FnMut(Table) -> Result<(), E>,
    error: Option<E>,
}

impl<E> Sink for Parts<'_, E> {
    fn value(&mut self, column: usize, value: Value<'_>) {
        self.gathered.value(column, value);
    }

    fn end(&mut self, row: u32) {
        self.source_rows.push(row);
        if self.source_rows.len() == self.part_rows {
            self.pass();
        }
    }
}

impl<E> Parts<'_, E> {
    /// Prepares the collected rows and passes them on; does nothing after an error.
    fn pass(&mut self) {
        let source_rows = std::mem::take(&mut self.source_rows);
        let mut gathered = std::mem::take(&mut self.gathered);
        gathered.resize_with(self.layout.value_column_count(), || None);
        if source_rows.is_empty() || self.error.is_some() {
            return;
        }
        let mut raw = |name: &str, part: Option<DatePart>| {
            let layout = self.layout;
            let column = layout.names.iter().position(|own| own == name)?;
            let from = match part {
                None => column,
                Some(part) => {
                    let mut parts = layout.parts.iter();
                    layout.part_column_index(parts.position(|own| *own == (column, part))?)
                }
            };
            Some((column, gathered[from].take()?))
        };
        let columns = self.columns.iter();
        let features: Vec<Option<(usize, Raw)>> = columns
            .map(|column| raw(&column.name, column.part()))
            .collect();
        let targets = self.spec.target.iter().filter(|_| self.known.wants_target);
        let targets: Vec<Option<(usize, Raw)>> = targets.map(|name| raw(name, None)).collect();
        let values: Vec<Values> = self
            .columns
            .iter()
            .zip(features.into_iter().flatten())
            .map(|(column, (place, raw))| prepared(column, raw, self.new_texts.entry(place)))
            .collect();
        let width = self.columns.iter().map(PreparedColumn::width).sum();
        let features = to_row_major(self.columns, &values, source_rows.len());
        let targets = self.targets(targets, source_rows.len());
        let form = Features::Vector { len: width };
        let mut table = Table::new(form, features, targets);
        table.normalisation = self.known.normalisation.clone();
        table.source_rows = source_rows;
        self.error = (self.take)(table).err();
    }

    fn targets(&mut self, targets: Vec<Option<(usize, Raw)>>, rows: usize) -> Targets {
        let count = targets.len();
        let numbers = count.min(self.known.target.values_len());
        let (mut values, mut labels) = (vec![0.0; rows * numbers], Vec::new());
        for (target, (column, raw)) in targets.into_iter().flatten().enumerate() {
            match raw {
                Raw::Numbers(numbers) => {
                    let own = values.iter_mut().skip(target).step_by(count);
                    for (value, number) in own.zip(numbers) {
                        *value = number;
                    }
                }
                Raw::Kinds(kinds) => {
                    let new = self.new_texts.entry(column);
                    labels = places(&kinds, self.known.class_names, new);
                }
            }
        }
        self.known.normalisation.normalise_targets(&mut values);
        self.known.targets(values, labels)
    }

    /// An error that names the classes that the model does not know.
    fn unknown_classes(&self) -> Option<DatasetError> {
        let is_target = |column: &usize| self.layout.roles[*column] == Role::Target;
        let (column, texts) = self
            .new_texts
            .iter()
            .find(|(column, _)| is_target(column))?;
        (!texts.is_empty()).then(|| {
            DatasetError::Mismatch(format!(
                "the target `{}` of `{}` has {}, which the model does not know: its classes are `{}`",
                self.layout.names[*column],
                self.spec.path,
                named(texts, "class"),
                self.known.class_names.join("`, `")
            ))
        })
    }

    /// Remarks for readers of the predictions.
    fn remarks(&self, extra: &[String], rows: &[u32]) -> Vec<String> {
        let mut remarks = Vec::new();
        let new = self.new_texts.iter().filter(|(_, texts)| !texts.is_empty());
        for (column, texts) in new {
            remarks.push(format!(
                "column `{}` has {} that no training row had; the model treats them as none of its categories",
                self.layout.names[*column],
                named(texts, "kind")
            ));
        }
        let read = rows.last().map_or(0, |last| *last as usize + 1);
        if read > rows.len() {
            remarks.push(format!(
                "{} left out: no value in a column with `missing = \"leave-out\"`",
                count(read - rows.len(), "row")
            ));
        }
        if !extra.is_empty() {
            let extra = list_of(extra.iter().map(String::as_str), 1);
            remarks.push(format!("not read by the model: column {extra}"));
        }
        remarks
    }
}

/// Values of a column as features; texts that the model does not know are counted.
fn prepared(
    column: &PreparedColumn,
    raw: Raw,
    new: Entry<'_, usize, BTreeMap<String, usize>>,
) -> Values {
    match (&column.how, raw) {
        (
            ColumnPreparation::Number {
                fill,
                has_flag,
                scale,
                ..
            },
            Raw::Numbers(values),
        ) => numbers(values, *fill, *has_flag, *scale),
        (ColumnPreparation::Category { kinds, known, .. }, Raw::Kinds(own)) => Values::Kinds {
            of_row: places(&own, kinds, new),
            is_known: known.clone(),
        },
        // Never reached: a column is read as its preparation requires.
        (_, Raw::Numbers(_) | Raw::Kinds(_)) => Values::Numbers(Vec::new(), None),
    }
}

/// For every row the index of its text in `names`, or `names.len()` if it is unknown.
fn places(
    kinds: &CategoricalColumn,
    names: &[String],
    new: Entry<'_, usize, BTreeMap<String, usize>>,
) -> Vec<u32> {
    let known: HashMap<&String, u32> = names.iter().zip(0..).collect();
    let places: Vec<Option<u32>> = kinds
        .names
        .iter()
        .map(|name| known.get(name).copied())
        .collect();
    let new = new.or_default();
    let beyond = names.len() as u32;
    let of_row = kinds.of_row.iter().map(|&kind| {
        places[kind as usize].unwrap_or_else(|| {
            *new.entry(kinds.names[kind as usize].clone()).or_default() += 1;
            beyond
        })
    });
    of_row.collect()
}

/// `2 kinds in 5 rows (`Paris`, `Rom`)`.
fn named(texts: &BTreeMap<String, usize>, noun: &str) -> String {
    format!(
        "{} in {} ({})",
        count(texts.len(), noun),
        count(texts.values().sum(), "row"),
        list_of(texts.keys().map(String::as_str), NAMED)
    )
}
