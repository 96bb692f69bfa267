//! [`Column`]: observed values of a column, and a guess of its role.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash};

use super::dates::{DATE_FORMATS, days};
use super::mistakes::MISSING_TEXTS;
use super::number_form::{FormCounts, NumberForm};
use super::value::label;
use crate::base::text::count;

/// Largest number of distinct values of a column that are counted; one more is stored, to show that there are more.
const MOST_VALUES: usize = 1000;
/// Largest number of distinct texts in a numeric column that are taken for missing values.
const MOST_TOKENS: usize = 8;
/// Texts are taken for missing values only if they are at most 1/`ROWS_OF_A_TOKEN` of a column's values.
const ROWS_OF_A_TOKEN: usize = 5;
/// Column names that identify the subject of a row, so that rows of one subject belong in one split.
const WHOSE: &str = "customer patient user subject client person member device household";
/// Maximum number of distinct integers that are taken for classes.
pub(super) const MOST_CLASSES: usize = 20;
/// Smallest mean number of rows per class with which integers are taken for classes.
const ROWS_OF_A_CLASS: usize = 5;
/// Largest number of distinct texts that are taken for a category.
const MOST_KINDS: usize = 50;

/// Statistics of the values of a column.
#[derive(Default)]
pub(super) struct Column {
    pub(super) name: String,
    /// Number of rows of each distinct text, for at most [`MOST_VALUES`] + 1 texts.
    pub(super) values: HashMap<String, usize>,
    /// Number of rows in which the text is not empty.
    pub(super) count: usize,
    /// Number of rows in which the text is empty.
    pub(super) empty: usize,
    /// Number of rows of each text in [`MISSING_TEXTS`], which may mean a missing value.
    pub(super) nothing: BTreeMap<&'static str, usize>,
    /// Number of rows whose text is a number, for each form of numbers; texts in [`MISSING_TEXTS`] are not counted.
    pub(super) fits: FormCounts,
    /// Number of rows of each text that is a number in no form, for at most [`MOST_TOKENS`] + 1 texts.
    pub(super) others: BTreeMap<String, usize>,
    /// Whether texts among the column's numbers are classes of the target and thus no missing values.
    pub(super) has_classes: bool,
    /// A hash of all texts in order.
    pub(super) hash: DefaultHasher,
    pub(super) has_fraction: bool,
    /// Whether every number is one more than the previous one.
    pub(super) is_counting: bool,
    pub(super) last: Option<f32>,
    /// Number of rows whose text is a number in no form.
    pub(super) no_number: usize,
    /// Date formats that match all texts that are no numbers; `None` before the first such text.
    pub(super) dates: Option<Vec<&'static str>>,
}

impl Column {
    pub(super) fn add(&mut self, text: &str) {
        text.hash(&mut self.hash);
        if text.is_empty() {
            self.empty += 1;
            return;
        }
        self.count += 1;
        if let Some(rows) = self.values.get_mut(text) {
            *rows += 1;
        } else if self.values.len() <= MOST_VALUES {
            self.values.insert(text.to_owned(), 1);
        }
        if let Some(nothing) = MISSING_TEXTS.iter().find(|one| **one == text) {
            *self.nothing.entry(nothing).or_default() += 1;
            return;
        }
        if let Some(value) = self.fits.add(text) {
            self.has_fraction |= value.fract() != 0.0;
            let is_next = self
                .last
                .is_none_or(|last| (value - last - 1.0).abs() < 0.5);
            self.is_counting &= is_next;
            self.last = Some(value);
            return;
        }
        if let Some(rows) = self.others.get_mut(text) {
            *rows += 1;
        } else if self.others.len() <= MOST_TOKENS {
            self.others.insert(text.to_owned(), 1);
        }
        let all = || DATE_FORMATS.to_vec();
        self.no_number += 1;
        let mut forms = self.dates.take().unwrap_or_else(all);
        forms.retain(|form| days(form, text).is_some());
        self.dates = Some(forms);
    }

    /// Whether all values are numbers in this form, except texts that may mean missing values.
    pub(super) fn is_number(&self, form: NumberForm) -> bool {
        let numbers = self.fits.matches_in_form(form);
        let others = self
            .possible_missing_texts()
            .map(|(_, rows)| rows)
            .sum::<usize>();
        numbers > 0 && numbers + others == self.fits.texts && self.fits.signs.len() <= 1
    }

    /// Texts in a numeric column that may mean missing values, with their numbers of rows: few distinct texts that are
    /// no numbers, each in several rows. Empty if they are too many.
    pub(super) fn possible_missing_texts(&self) -> impl Iterator<Item = (&str, usize)> {
        let others = || self.others.values();
        let are_few = !self.has_classes
            && self.others.len() <= MOST_TOKENS
            && ROWS_OF_A_TOKEN * others().sum::<usize>() <= self.fits.texts
            && others().all(|rows| *rows > 1);
        let tokens = self.others.iter().filter(move |_| are_few);
        tokens.map(|(text, rows)| (text.as_str(), *rows))
    }

    /// Whether all values are labels (0, 1, `true`, `false`), except texts that may mean missing values.
    pub(super) fn is_label(&self, form: NumberForm) -> bool {
        let mut texts = self.values.keys();
        let is_nothing = |text: &str| self.nothing.contains_key(text);
        self.fits.texts > 0
            && self.values.len() < MOST_VALUES
            && texts.all(|text| is_nothing(text) || label(text, form.decimal).is_some())
    }

    /// The first of [`DATE_FORMATS`] that matches all texts, and whether another one matches them too; `None` if none
    /// matches.
    pub(super) fn date(&self) -> Option<(&'static str, bool)> {
        let forms = self.dates.as_ref()?;
        let is_date = self.no_number == self.fits.texts;
        let form = forms.first().filter(|_| is_date)?;
        Some((form, forms.len() > 1))
    }

    /// Number of rows without a value, if the texts `missing` count as missing.
    pub(super) fn missing_rows(&self, missing: &[&str]) -> usize {
        let of_text = |text: &&str| {
            let rows = self.nothing.get(*text).or_else(|| self.values.get(*text));
            rows.copied().unwrap_or_default()
        };
        self.empty + missing.iter().map(of_text).sum::<usize>()
    }

    /// Whether the values of a target column are classes, and why.
    ///
    /// # Errors
    /// A phrase: more than [`MOST_CLASSES`] distinct texts, and more than half as many as rows whose text is counted;
    /// they are probably no classes.
    pub(super) fn guess_classes(
        &self,
        rows: usize,
        form: NumberForm,
    ) -> Result<(bool, String), String> {
        let (values, of) = (self.values.len(), count(rows, "row"));
        if !self.is_number(form) {
            let kinds = self.kinds();
            if values > MOST_CLASSES && 2 * values > self.counted() {
                return Err(format!("text, of {kinds} kinds in {of}"));
            }
            return Ok((true, format!("text, of {kinds} kinds in {of}")));
        }
        let few = values <= MOST_CLASSES && values * ROWS_OF_A_CLASS <= rows;
        if !self.has_fraction && few {
            let why =
                format!("{values} different whole numbers in {of}; `false` if they are amounts");
            return Ok((true, why));
        }
        let why = "numbers; `true` if they stand for classes";
        Ok((false, why.to_owned()))
    }

    /// The number of distinct values as text; "more than …" if not all were counted.
    fn kinds(&self) -> String {
        match self.values.len() {
            more if more > MOST_VALUES => format!("more than {MOST_VALUES}"),
            kinds => kinds.to_string(),
        }
    }

    /// The number of customers, patients and so on as text, if the column's name says that it identifies them and it
    /// has many, with two or more rows on average; otherwise `None`.
    pub(super) fn group_count_text(&self) -> Option<String> {
        let name = self.name.to_lowercase();
        let is_named = self.is_named_id() || WHOSE.split(' ').any(|whose| whose == name);
        let is_repeated = self.counted() >= 2 * self.values.len() && self.values.len() > MOST_KINDS;
        (is_named && is_repeated && !self.has_fraction).then(|| self.kinds())
    }

    /// Number of rows whose text is counted in `values`.
    fn counted(&self) -> usize {
        self.values.values().sum()
    }

    fn is_named_id(&self) -> bool {
        let name = self.name.to_lowercase();
        name == "id" || ["_id", " id", "-id"].iter().any(|end| name.ends_with(end))
    }

    /// Why the column only numbers or identifies rows; `None` if it does not.
    pub(super) fn id_reason(&self, rows: usize) -> Option<&'static str> {
        let is_counting = self.is_counting && self.count == rows && !self.has_fraction && rows > 2;
        // Beyond the distinct values that are counted, duplicates are not detected.
        let is_distinct = self.values.len() == rows.min(MOST_VALUES + 1) && !self.has_fraction;
        match () {
            () if is_counting && self.no_number == 0 => Some("counts the rows"),
            () if self.is_named_id() && is_distinct => Some("a different value in every row"),
            () => None,
        }
    }
}

/// Marks columns among whose numbers there are texts that are also classes of a target. Such texts then do not mean
/// missing values, since that would leave out the rows of a class.
pub(super) fn mark_class_texts(columns: &mut [Column], targets: &[usize], form: NumberForm) {
    let of_texts = targets.iter().map(|place| &columns[*place]);
    let of_texts = of_texts.filter(|column| !column.is_number(form));
    let classes: BTreeSet<String> = of_texts
        .flat_map(|column| column.values.keys().cloned())
        .collect();
    for column in columns {
        let has_classes = column
            .possible_missing_texts()
            .any(|(text, _)| classes.contains(text));
        column.has_classes = has_classes;
    }
}

/// The texts that mean a missing value in columns of numbers and dates, sorted.
pub(super) fn missing_values(columns: &[Column], form: NumberForm) -> Vec<&str> {
    let is_filled = |column: &&Column| column.is_number(form) || column.date().is_some();
    let missing = columns.iter().filter(is_filled);
    let nothing = missing
        .clone()
        .flat_map(|column| column.nothing.keys().copied());
    let tokens = missing.flat_map(|column| column.possible_missing_texts().map(|(text, _)| text));
    let mut missing: Vec<&str> = nothing.chain(tokens).collect();
    missing.sort_unstable();
    missing.dedup();
    missing
}

/// A guess of how a column is used.
pub(super) enum ColumnUse {
    /// A feature; `None` if it needs no entry in `columns`, otherwise that entry and the reason for it.
    Feature(Option<(String, String)>),
    /// A column to be ignored; contains the reason.
    NotAFeature(String),
}

impl Column {
    /// A guess of how a feature is read; `gaps` is a text about missing values, empty if there are none.
    pub(super) fn feature(&self, form: NumberForm, gaps: &str) -> ColumnUse {
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
            ColumnUse::Feature(Some((format!("{{ {what}{missing} }}"), why)))
        };
        let kinds = self.values.len();
        if self.is_number(form) {
            return if has_gaps {
                entry("", "median", String::new())
            } else {
                ColumnUse::Feature(None)
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
        let kinds = self.kinds();
        ColumnUse::NotAFeature(format!("text, {kinds} different ones"))
    }
}
