//! [`CsvGuess`]: the likely target, and what the columns of a CSV file likely are, to write a new manifest.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use csv::{Position, Reader, StringRecord};

use super::super::DatasetError;
use super::Decimal;
use super::dates::{DATES, days};
use super::mistakes::NOTHING;
use super::reading::{self, separator};
use super::scan::number;
use crate::base::text::count;

/// Different values of a column that are kept.
const MOST_VALUES: usize = 1000;
/// Maximum number of distinct integers that are taken for classes.
const MOST_CLASSES: usize = 20;
/// Minimum of the mean number of rows per such class.
const ROWS_OF_A_CLASS: usize = 5;
/// Maximum number of texts that are taken for kinds.
const MOST_KINDS: usize = 50;
/// Names of targets, in lower case and without `_`.
const TARGETS: &str = "target label class y outcome output species category price saleprice churn churned survived sales demand quality rating";
/// A class is rare below this share of what it would have if all had as many rows.
const UNEVEN: f64 = 0.4;

/// What a CSV file likely is, from its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvGuess {
    /// Number of rows, without the header.
    pub rows: usize,
    /// What separates columns.
    pub separator: char,
    /// What separates the fraction of a number.
    pub decimal: Decimal,
    /// Texts that stand for a missing value, beside nothing at all.
    pub missing_values: Vec<String>,
    /// Names of the feature columns.
    pub features: Vec<String>,
    /// Columns that are no number in every row.
    pub columns: Vec<ColumnGuess>,
    /// Columns that are no features, with the reason as a phrase.
    pub ignored: Vec<(String, String)>,
    /// Name of the target column.
    pub target: String,
    /// Why this column is taken for the target, as a phrase.
    pub why_target: String,
    /// Whether the target is a class.
    pub classes: bool,
    /// Why the target is or is not a class, as a phrase.
    pub why_classes: String,
    /// Different values of the target that were seen.
    pub kinds: usize,
    /// Rows of the rarest class; 0 where the target is none.
    pub rarest: usize,
}

/// What a column likely is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnGuess {
    /// Its name.
    pub name: String,
    /// Its entry in `columns`, as TOML: `{ category = true }`.
    pub entry: String,
    /// Why, as a phrase.
    pub why: String,
}

/// What has been seen of a column.
#[derive(Default)]
struct Column {
    name: String,
    /// Rows by value, of up to [`MOST_VALUES`] different ones.
    values: HashMap<String, usize>,
    /// Rows with a text.
    count: usize,
    /// Rows without one.
    empty: usize,
    /// Rows by text that may stand for a missing value.
    nothing: BTreeMap<&'static str, usize>,
    /// Rows that are no number with a point, and with a comma; of both, texts that may stand for missing ones are left out.
    no_point: usize,
    no_comma: usize,
    has_fraction: bool,
    /// Whether every number is the one before and 1.
    is_counting: bool,
    last: Option<f32>,
    /// Forms of dates that every text has; `None` before the first.
    dates: Option<Vec<&'static str>>,
}

impl Column {
    fn add(&mut self, text: &str) {
        if text.is_empty() {
            self.empty += 1;
            return;
        }
        self.count += 1;
        if let Some(rows) = self.values.get_mut(text) {
            *rows += 1;
        } else if self.values.len() < MOST_VALUES {
            self.values.insert(text.to_owned(), 1);
        }
        if let Some(nothing) = NOTHING.iter().find(|one| **one == text) {
            *self.nothing.entry(nothing).or_default() += 1;
            return;
        }
        let point = number(text, Decimal::Point);
        let comma = number(text, Decimal::Comma);
        self.no_point += usize::from(point.is_none());
        self.no_comma += usize::from(comma.is_none());
        if let Some(value) = point.or(comma) {
            self.has_fraction |= value.fract() != 0.0;
            let is_next = self
                .last
                .is_none_or(|last| (value - last - 1.0).abs() < 0.5);
            self.is_counting &= is_next;
            self.last = Some(value);
            return;
        }
        let all = || DATES.to_vec();
        let mut forms = self.dates.take().unwrap_or_else(all);
        forms.retain(|form| days(form, text).is_some());
        self.dates = Some(forms);
    }

    /// Rows with a text that does not stand for a missing value.
    fn filled(&self) -> usize {
        self.count - self.nothing.values().sum::<usize>()
    }

    /// Whether all values are numbers, but for those that may stand for missing ones.
    fn is_number(&self, decimal: Decimal) -> bool {
        let wrong = match decimal {
            Decimal::Point => self.no_point,
            Decimal::Comma => self.no_comma,
        };
        wrong == 0 && self.filled() > 0
    }

    /// The first of [`DATES`] that fits all texts, and whether another one fits them too.
    fn date(&self) -> Option<(&'static str, bool)> {
        let forms = self.dates.as_ref()?;
        let texts = self.filled();
        let is_date = self.no_point == texts && self.no_comma == texts;
        let form = forms.first().filter(|_| is_date)?;
        Some((form, forms.len() > 1))
    }

    /// Rows without a value, where `missing` texts stand for none.
    fn holes(&self, missing: &[&str]) -> usize {
        let of_text = |text: &&str| self.nothing.get(*text).copied().unwrap_or_default();
        self.empty + missing.iter().map(of_text).sum::<usize>()
    }

    /// Whether the column holds classes, and why.
    fn classes(&self, rows: usize, decimal: Decimal) -> (bool, String) {
        let (values, of) = (self.values.len(), count(rows, "row"));
        if !self.is_number(decimal) {
            return (true, format!("text, of {values} kinds in {of}"));
        }
        let few = values <= MOST_CLASSES && values * ROWS_OF_A_CLASS <= rows;
        if !self.has_fraction && few {
            let why =
                format!("{values} different whole numbers in {of}; `false` if they are amounts");
            return (true, why);
        }
        (
            false,
            "numbers; `true` if they stand for classes".to_owned(),
        )
    }

    /// Why it counts or names rows and tells nothing of them.
    fn is_id(&self, rows: usize) -> Option<&'static str> {
        let name = self.name.to_lowercase();
        let is_named = name == "id" || ["_id", " id", "-id"].iter().any(|end| name.ends_with(end));
        let is_counting = self.is_counting && self.count == rows && !self.has_fraction && rows > 2;
        // Above the number of values that are kept it is not known whether one comes again.
        let is_distinct = self.values.len() == rows.min(MOST_VALUES) && !self.has_fraction;
        match () {
            () if is_counting && self.no_point == 0 => Some("counts the rows"),
            () if is_named && is_distinct => Some("another one in every row"),
            () => None,
        }
    }
}

impl CsvGuess {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`DatasetError`] if it cannot be read, has no header, no rows or no feature.
    pub fn of(path: &Path) -> Result<Self, DatasetError> {
        let separator = separator(path)?;
        let (mut reader, names) = reading::reader(path, separator)?;
        check_header(path, &names)?;
        let (columns, rows) = look(path, &mut reader, &names)?;
        reading::some_rows(path, rows)?;
        let is_comma =
            |column: &Column| column.is_number(Decimal::Comma) && !column.is_number(Decimal::Point);
        let decimal = if separator != ',' && columns.iter().any(is_comma) {
            Decimal::Comma
        } else {
            Decimal::Point
        };
        let is_filled = |column: &&Column| column.is_number(decimal) || column.date().is_some();
        let missing = columns.iter().filter(is_filled);
        let missing = missing.flat_map(|column| column.nothing.keys().copied());
        let mut missing: Vec<&str> = missing.collect();
        missing.sort_unstable();
        missing.dedup();
        let (target, why_target) = target(&columns, decimal);
        let (classes, why_classes) = columns[target].classes(rows, decimal);
        let of_classes = columns[target].values.values().filter(|_| classes);
        let mut guess = Self {
            kinds: columns[target].values.len(),
            rarest: of_classes.min().copied().unwrap_or_default(),
            rows,
            separator,
            decimal,
            missing_values: missing.iter().map(|text| (*text).to_owned()).collect(),
            features: Vec::new(),
            columns: Vec::new(),
            ignored: Vec::new(),
            target: columns[target].name.clone(),
            why_target: why_target.to_owned(),
            classes,
            why_classes,
        };
        for (place, column) in columns.iter().enumerate() {
            guess.add(column, place == target, &missing);
        }
        if guess.features.is_empty() {
            return Err(DatasetError::Mismatch(format!(
                "`{}` has no column that tells of `{}`",
                path.display(),
                guess.target
            )));
        }
        Ok(guess)
    }

    /// Whether the rarest class has far fewer rows than the others.
    pub fn is_uneven(&self) -> bool {
        self.classes && (self.rarest as f64) < UNEVEN * self.rows as f64 / self.kinds as f64
    }

    /// Says what a column is.
    fn add(&mut self, column: &Column, is_target: bool, missing: &[&str]) {
        let holes = column.holes(missing);
        let gaps = match holes {
            0 => String::new(),
            holes => format!("missing in {}", count(holes, "row")),
        };
        let found = if is_target {
            let entry = "{ missing = \"leave-out\" }".to_owned();
            Found::Feature((holes > 0).then_some((entry, gaps)))
        } else if holes == self.rows {
            Found::Nothing("empty".to_owned())
        } else if let Some(why) = column.is_id(self.rows) {
            Found::Nothing(why.to_owned())
        } else {
            column.feature(self.decimal, &gaps)
        };
        let name = column.name.clone();
        match found {
            Found::Nothing(why) => self.ignored.push((name, why)),
            Found::Feature(entry) => {
                if !is_target {
                    self.features.push(name.clone());
                }
                let entry = entry.map(|(entry, why)| ColumnGuess { name, entry, why });
                self.columns.extend(entry);
            }
        }
    }
}

/// What a column likely is.
enum Found {
    /// It is used, with its entry in `columns` and the reason for one.
    Feature(Option<(String, String)>),
    /// It tells nothing, for this reason.
    Nothing(String),
}

impl Column {
    /// What a feature is; `gaps` says where it is missing, if it is.
    fn feature(&self, decimal: Decimal, gaps: &str) -> Found {
        let has_gaps = !gaps.is_empty();
        let entry = |what: &str, missing: &str, why: String| {
            let missing = match (has_gaps, what) {
                (false, _) => String::new(),
                (true, "") => format!("missing = \"{missing}\""),
                (true, _) => format!(", missing = \"{missing}\""),
            };
            let why = if why.is_empty() || !has_gaps {
                format!("{why}{gaps}")
            } else {
                format!("{why}, {gaps}")
            };
            Found::Feature(Some((format!("{{ {what}{missing} }}"), why)))
        };
        let kinds = self.values.len();
        if self.is_number(decimal) {
            return if has_gaps {
                entry("", "median", String::new())
            } else {
                Found::Feature(None)
            };
        }
        if let Some((form, is_ambiguous)) = self.date() {
            let other = if is_ambiguous {
                "a date; day and month could be the other way round"
            } else {
                "a date"
            };
            return entry(&format!("date = \"{form}\""), "median", other.to_owned());
        }
        if kinds <= 2 || kinds <= MOST_KINDS && 2 * kinds <= self.count {
            return entry("category = true", "kind", format!("{kinds} kinds"));
        }
        let all = if kinds == MOST_VALUES {
            "at least "
        } else {
            ""
        };
        Found::Nothing(format!("text, {all}{kinds} different ones"))
    }
}

fn check_header(path: &Path, names: &[String]) -> Result<(), DatasetError> {
    let path = path.display();
    if names.len() == 1 {
        return Err(DatasetError::Mismatch(format!(
            "`{path}` has one column; it needs a target and at least one feature, separated by `,`"
        )));
    }
    if names
        .iter()
        .all(|name| number(name, Decimal::Point).is_some())
    {
        return Err(DatasetError::Mismatch(format!(
            "the first line of `{path}` has numbers only; write the columns' names above it"
        )));
    }
    Ok(())
}

fn look(
    path: &Path,
    reader: &mut Reader<reading::Text>,
    names: &[String],
) -> Result<(Vec<Column>, usize), DatasetError> {
    let column = |name: &String| Column {
        name: name.clone(),
        is_counting: true,
        ..Column::default()
    };
    let mut columns: Vec<Column> = names.iter().map(column).collect();
    let mut record = StringRecord::new();
    let mut rows = 0;
    while reading::next(path, reader, &mut record)? {
        rows += 1;
        let row = record.position().cloned().unwrap_or_else(Position::new);
        if record.len() != names.len() {
            let (found, expected) = (count(record.len(), "column"), names.len());
            let reason = format!("{found} where the header has {expected}");
            let place = format!("in {}", reading::line_of(path, Some(&row)));
            return Err(DatasetError::damaged(path, place, reason));
        }
        for (column, text) in columns.iter_mut().zip(&record) {
            column.add(text.trim());
        }
    }
    Ok((columns, rows))
}

/// One with a common target name; else the only text column; else the last.
fn target(columns: &[Column], decimal: Decimal) -> (usize, &'static str) {
    let is_named = |column: &Column| {
        let name = column.name.to_lowercase().replace('_', "");
        TARGETS.split(' ').any(|target| target == name)
    };
    if let Some(index) = columns.iter().position(is_named) {
        return (index, "by its name");
    }
    let is_text = |column: &Column| !column.is_number(decimal) && column.date().is_none();
    let mut texts = (0..columns.len()).filter(|&index| is_text(&columns[index]));
    if let (Some(index), None) = (texts.next(), texts.next())
        && columns[index].values.len() <= MOST_CLASSES
    {
        return (index, "the only column with text");
    }
    (columns.len() - 1, "the last column")
}
