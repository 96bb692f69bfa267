//! [`CsvGuess`]: guesses the target and the kinds of columns of a CSV file, for a new manifest.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hasher;
use std::path::Path;

use csv::{Position, StringRecord};

use super::super::{DatasetError, FilePaths, TargetColumns};
use super::Decimal;
use super::files::{DataFile, column_orders};
use super::layout::column_index;
use super::number_form::{NUMBER_FORMS, NumberForm, units_line, without_unit};
use super::reading::{self, Dialect, separator};
use super::seen::{Column, ColumnUse, MOST_CLASSES, mark_class_texts, missing_values};
use crate::base::text::count;

/// Names of targets, in lower case and without `_`.
const TARGETS: &str = "target label class y outcome output species category price saleprice churn churned survived sales demand quality rating";
/// A class is rare if it has less than this fraction of the rows that it would have if all classes were equally
/// frequent.
pub(super) const RARE_CLASS_FRACTION: f64 = 0.4;

/// How to read a CSV file, guessed from its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvGuess {
    /// Number of rows, without the header.
    pub rows: usize,
    /// Whether the first line has the names of the columns.
    pub header: bool,
    /// Separator of columns.
    pub separator: char,
    /// How numbers are written: keys of the dataset as lines of TOML, each with an example as a phrase.
    pub numbers: Vec<(String, String)>,
    /// Texts that mean a missing value, besides an empty field.
    pub missing_values: Vec<String>,
    /// Name of a column that identifies customers, patients and so on, each in several rows, and their number as text.
    pub groups: Option<(String, String)>,
    /// Names of the feature columns.
    pub features: Vec<String>,
    /// Columns that are no number in every row.
    pub columns: Vec<ColumnGuess>,
    /// Columns that are no features, with the reason as a phrase.
    pub ignored: Vec<(String, String)>,
    /// Names of the target columns.
    pub targets: Vec<String>,
    /// Why this column was chosen as the target, as a phrase; `None` if the user named it.
    pub why_target: Option<String>,
    /// Whether the target is a class, or several of them are labels.
    pub classes: bool,
    /// Why the target is or is not a class, as a phrase.
    pub why_classes: String,
    /// Number of distinct values of the target; 0 for several targets.
    pub kinds: usize,
    /// Number of rows of the rarest class; 0 if the target is not a class, or there are several targets.
    pub rarest: usize,
}

/// A guess how to read a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnGuess {
    /// The column's name.
    pub name: String,
    /// The column's entry in `columns`, as TOML: `{ category = true }`.
    pub entry: String,
    /// Why the column is read so, as a phrase.
    pub why: String,
}

impl CsvGuess {
    /// Reads the files at `paths`, whose first lines are names of columns if `header`; `targets` are the columns to
    /// predict, if empty, the most likely one.
    ///
    /// # Errors
    /// [`DatasetError`] if a file cannot be read, headers are missing or differ, or there are no rows or features;
    /// targets that do not exist or cannot be predicted together.
    pub fn of(paths: &FilePaths, header: bool, targets: &[String]) -> Result<Self, DatasetError> {
        let (separator, mut columns, rows) = seen(paths, header)?;
        let form = number_form(separator, &columns);
        let (targets, why_target) = match named(targets, &columns, paths)? {
            named if named.is_empty() => {
                let (target, why) = target(&columns, form);
                (vec![target], Some(why.to_owned()))
            }
            named => (named, None),
        };
        mark_class_texts(&mut columns, &targets, form);
        let missing = missing_values(&columns, form);
        let (classes, why_classes) = match &targets[..] {
            [only] => {
                let column = &columns[*only];
                let guessed = column.guess_classes(rows, form);
                guessed.map_err(|why| too_many_classes(paths, &column.name, &why))?
            }
            several => together(several.iter().map(|place| &columns[*place]), form)?,
        };
        let only = Some(&columns[targets[0]]).filter(|_| targets.len() == 1);
        let kinds = only.map(|only| &only.values);
        let of_classes = kinds.filter(|_| classes);
        let mut guess = Self {
            kinds: kinds.map_or(0, HashMap::len),
            rarest: of_classes
                .and_then(|kinds| kinds.values().min().copied())
                .unwrap_or_default(),
            rows,
            header,
            separator,
            numbers: written(form, &columns),
            groups: columns
                .iter()
                .find_map(|column| Some((column.name.clone(), column.group_count_text()?))),
            missing_values: missing.iter().map(|text| (*text).to_owned()).collect(),
            features: Vec::new(),
            columns: Vec::new(),
            ignored: Vec::new(),
            targets: targets
                .iter()
                .map(|place| columns[*place].name.clone())
                .collect(),
            why_target,
            classes,
            why_classes,
        };
        for (place, column) in columns.iter().enumerate() {
            let is_target = targets.contains(&place);
            let copied = same(&columns, place, &targets).filter(|_| !is_target);
            guess.add(column, is_target, (form, &missing), copied);
        }
        if guess.features.is_empty() {
            return Err(DatasetError::Mismatch(format!(
                "`{paths}` has no column from which to predict `{}`",
                guess.targets.join("`, `")
            )));
        }
        Ok(guess)
    }

    /// The names of the columns of a file, which its first line has if `header`.
    ///
    /// # Errors
    /// [`DatasetError`] if it cannot be read.
    pub fn names(path: &Path, header: bool) -> Result<Vec<String>, DatasetError> {
        Ok(reading::reader(path, dialect(path, header)?)?.1)
    }

    /// Whether the rarest class has far fewer rows than the others.
    pub fn is_imbalanced(&self) -> bool {
        self.rarest > 0
            && (self.rarest as f64) < RARE_CLASS_FRACTION * self.rows as f64 / self.kinds as f64
    }

    /// Adds the guess for a column.
    fn add(
        &mut self,
        column: &Column,
        is_target: bool,
        (form, missing): (NumberForm, &[&str]),
        copied: Option<&Column>,
    ) {
        let holes = column.missing_rows(missing);
        let gaps = match holes {
            0 => String::new(),
            holes => format!("missing in {}", count(holes, "row")),
        };
        let found = if is_target {
            let entry = "{ missing = \"leave-out\" }".to_owned();
            ColumnUse::Feature((holes > 0).then_some((entry, gaps)))
        } else if holes == self.rows {
            ColumnUse::NotAFeature("empty".to_owned())
        } else if let Some(why) = column.id_reason(self.rows) {
            ColumnUse::NotAFeature(why.to_owned())
        } else if holes == 0 && self.rows > 1 && column.values.len() == 1 {
            ColumnUse::NotAFeature("the same in every row".to_owned())
        } else if let Some(other) = copied {
            ColumnUse::NotAFeature(format!("a copy of `{}`", other.name))
        } else {
            column.feature(form, &gaps)
        };
        let name = column.name.clone();
        match found {
            ColumnUse::NotAFeature(why) => self.ignored.push((name, why)),
            ColumnUse::Feature(entry) => {
                if !is_target {
                    self.features.push(name.clone());
                }
                let entry = entry.map(|(entry, why)| ColumnGuess { name, entry, why });
                self.columns.extend(entry);
            }
        }
    }
}

/// Separator of the columns, observations of each column, and number of rows.
fn seen(paths: &FilePaths, header: bool) -> Result<(char, Vec<Column>, usize), DatasetError> {
    let files = DataFile::of(paths)?;
    let first = files[0].path.as_path();
    let dialect = dialect(first, header)?;
    let (_, names) = reading::reader(first, dialect)?;
    check_columns(first, &names)?;
    let orders = column_orders(&files, dialect, &names)?;
    let column = |name: &String| Column {
        name: name.clone(),
        is_counting: true,
        ..Column::default()
    };
    let mut columns: Vec<Column> = names.iter().map(column).collect();
    let mut rows = 0;
    for (file, order) in files.iter().zip(orders) {
        rows += look(&file.path, dialect, order.as_deref(), &mut columns)?;
    }
    reading::check_table_rows(paths, rows)?;
    Ok((dialect.separator, columns, rows))
}

/// The dialect of a file, with its separator guessed.
pub(super) fn dialect(path: &Path, has_header: bool) -> Result<Dialect, DatasetError> {
    Ok(Dialect {
        separator: separator(path)?,
        has_header,
    })
}

/// The form in which the most columns are numbers. On a tie it is the plain form `1.5`, else the likeliest; unless
/// commas separate columns, forms with a decimal comma come first.
fn number_form(separator: char, columns: &[Column]) -> NumberForm {
    let first = if separator == ',' {
        Decimal::Point
    } else {
        Decimal::Comma
    };
    let numbers = |form: &NumberForm| {
        let columns = columns.iter();
        columns.filter(|column| column.is_number(*form)).count()
    };
    let is_plain = numbers(&NUMBER_FORMS[0]);
    let best = NUMBER_FORMS
        .into_iter()
        .rev()
        .max_by_key(|form| (numbers(form), form.decimal == first));
    best.filter(|form| numbers(form) > is_plain)
        .unwrap_or(NUMBER_FORMS[0])
}

/// The keys of the dataset for numbers in this form, each with an example.
fn written(form: NumberForm, columns: &[Column]) -> Vec<(String, String)> {
    let numbers = || columns.iter().filter(|column| column.is_number(form));
    let mut examples: Vec<(&String, f32)> = Vec::new();
    for column in numbers() {
        examples.extend(column.values.keys().filter_map(|text| {
            let bare = without_unit(text, column.fits.signs.iter().copied());
            let number = form.number(&bare)?;
            (NUMBER_FORMS[0].number(&bare) != Some(number)).then_some((text, number))
        }));
    }
    // The longest text is the clearest example: `1.082,06`.
    examples.sort_by_key(|(text, _)| (text.len(), *text));
    let why = examples.last().map_or_else(String::new, |(text, number)| {
        format!("`{text}` is {number}")
    });
    let mut lines: Vec<(String, String)> = form
        .toml_lines(NUMBER_FORMS[0])
        .into_iter()
        .map(|line| (line, why.clone()))
        .collect();
    let units: BTreeSet<&str> = numbers()
        .flat_map(|column| column.fits.signs.iter().copied())
        .collect();
    if !units.is_empty() {
        let whose = numbers().filter(|column| !column.fits.signs.is_empty());
        let whose: Vec<String> = whose.map(|column| format!("`{}`", column.name)).collect();
        lines.push((
            units_line(&units),
            format!("no part of the numbers in {}", whose.join(", ")),
        ));
    }
    lines
}

/// A column with the same texts as the one at `place`: the target, or a column before it.
fn same<'c>(columns: &'c [Column], place: usize, targets: &[usize]) -> Option<&'c Column> {
    let hash = columns[place].hash.finish();
    let others = columns
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != place && (*other < place || targets.contains(other)));
    let mut others = others.map(|(_, column)| column);
    others.find(|other| other.hash.finish() == hash)
}

fn too_many_classes(paths: &FilePaths, name: &str, why: &str) -> DatasetError {
    DatasetError::Mismatch(format!(
        "the column `{name}` of `{paths}` is neither a number nor a class ({why}): choose another one with `--target`, or turn its texts into numbers or into fewer classes"
    ))
}

/// Indices of the columns named in `targets`.
fn named(
    targets: &[String],
    columns: &[Column],
    paths: &FilePaths,
) -> Result<Vec<usize>, DatasetError> {
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let wanted: TargetColumns = targets.iter().cloned().collect();
    if let Some(name) = wanted.repeated() {
        return Err(DatasetError::Mismatch(format!(
            "the column `{name}` is named twice as a target"
        )));
    }
    let places = targets.iter();
    DatasetError::collect_all(places.map(|name| column_index(&names, name, paths, "target")))
}

/// Whether several targets are labels (present or absent) instead of numbers, and why.
fn together<'c>(
    columns: impl Iterator<Item = &'c Column> + Clone,
    form: NumberForm,
) -> Result<(bool, String), DatasetError> {
    if columns.clone().all(|column| column.is_label(form)) {
        let why = "0 or 1 in each of several columns: labels; `false` if they are amounts";
        return Ok((true, why.to_owned()));
    }
    let texts: Vec<&str> = columns
        .filter(|column| !column.is_number(form))
        .map(|column| &*column.name)
        .collect();
    if texts.is_empty() {
        return Ok((false, "numbers in each of several columns".to_owned()));
    }
    Err(DatasetError::Mismatch(format!(
        "several targets must all be numbers, or all be labels of 0 and 1, but `{}` has text: predict a class as the only target",
        texts.join("`, `")
    )))
}

fn check_columns(path: &Path, names: &[String]) -> Result<(), DatasetError> {
    let path = path.display();
    if names.len() == 1 {
        return Err(DatasetError::Mismatch(format!(
            "`{path}` has one column; it needs a target and at least one feature, separated by `,`"
        )));
    }
    Ok(())
}

/// Adds the rows of a file, whose columns are in `order`, to the observations; returns the number of rows.
fn look(
    path: &Path,
    dialect: Dialect,
    order: Option<&[usize]>,
    columns: &mut [Column],
) -> Result<usize, DatasetError> {
    let (mut reader, _) = reading::reader(path, dialect)?;
    let mut record = StringRecord::new();
    let mut rows = 0;
    while reading::next(path, &mut reader, &mut record)? {
        rows += 1;
        let row = record.position().cloned().unwrap_or_else(Position::new);
        if record.len() != columns.len() {
            let (found, expected) = (count(record.len(), "column"), columns.len());
            let reason = format!("{found} where the header has {expected}");
            let place = format!("in {}", reading::line_of(path, Some(&row)));
            return Err(DatasetError::damaged(path, place, reason));
        }
        for (place, column) in columns.iter_mut().enumerate() {
            let place = order.map_or(place, |order| order[place]);
            column.add(record[place].trim());
        }
    }
    Ok(rows)
}

/// Index of the most likely target: a column with a common target name, else the only text column, else the last
/// column.
fn target(columns: &[Column], form: NumberForm) -> (usize, &'static str) {
    let is_named = |column: &Column| {
        let name = column.name.to_lowercase().replace('_', "");
        TARGETS.split(' ').any(|target| target == name)
    };
    let varies = |column: &Column| column.values.len() > 1;
    let found = columns
        .iter()
        .position(|column| is_named(column) && varies(column));
    if let Some(index) = found {
        return (index, "by its name");
    }
    let is_text = |column: &Column| !column.is_number(form) && column.date().is_none();
    let mut texts = (0..columns.len()).filter(|&index| is_text(&columns[index]));
    if let (Some(index), None) = (texts.next(), texts.next())
        && columns[index].values.len() <= MOST_CLASSES
    {
        return (index, "the only column with text");
    }
    let last = columns.len() - 1;
    match columns.iter().rposition(varies) {
        Some(index) if index < last => (index, "the last column that varies"),
        _ => (last, "the last column"),
    }
}
