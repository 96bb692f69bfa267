//! [`Column`]: observed values of a column, and a guess of its role.

use std::collections::{BTreeMap, HashMap};

use super::Decimal;
use super::dates::{DATES, days};
use super::mistakes::NOTHING;
use super::value::{label, number};
use crate::base::text::count;

/// Largest number of distinct values of a column that are counted.
const MOST_VALUES: usize = 1000;
/// Maximum number of distinct integers that are taken for classes.
pub(super) const MOST_CLASSES: usize = 20;
/// Smallest mean number of rows per class with which integers are taken for classes.
const ROWS_OF_A_CLASS: usize = 5;
/// Largest number of distinct texts that are taken for a category.
const MOST_KINDS: usize = 50;

/// Observations about the values of a column.
#[derive(Default)]
pub(super) struct Column {
    pub(super) name: String,
    /// Number of rows by value, for up to [`MOST_VALUES`] different ones.
    pub(super) values: HashMap<String, usize>,
    /// Number of rows in which the text is not empty.
    pub(super) count: usize,
    /// Number of rows without a value.
    pub(super) empty: usize,
    /// Number of rows for each text that may mean a missing value.
    pub(super) nothing: BTreeMap<&'static str, usize>,
    /// Number of values that are not a number with decimal point (texts that may mean missing values are not counted).
    pub(super) no_point: usize,
    pub(super) no_comma: usize,
    pub(super) has_fraction: bool,
    /// Whether every number is one more than the previous one.
    pub(super) is_counting: bool,
    pub(super) last: Option<f32>,
    /// Date formats that match every text; `None` before the first.
    pub(super) dates: Option<Vec<&'static str>>,
}

impl Column {
    pub(super) fn add(&mut self, text: &str) {
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

    /// Rows with a text that does not mean a missing value.
    pub(super) fn filled(&self) -> usize {
        self.count - self.nothing.values().sum::<usize>()
    }

    /// Whether all values are numbers, except texts that may mean missing values.
    pub(super) fn is_number(&self, decimal: Decimal) -> bool {
        let wrong = match decimal {
            Decimal::Point => self.no_point,
            Decimal::Comma => self.no_comma,
        };
        wrong == 0 && self.filled() > 0
    }

    /// Whether all values are labels, 0 or 1, except texts that may mean missing values.
    pub(super) fn is_label(&self, decimal: Decimal) -> bool {
        let mut texts = self.values.keys();
        let is_nothing = |text: &str| self.nothing.contains_key(text);
        self.filled() > 0
            && self.values.len() < MOST_VALUES
            && texts.all(|text| is_nothing(text) || label(text, decimal).is_some())
    }

    /// The first of [`DATES`] that fits all texts, and whether another one fits them too.
    pub(super) fn date(&self) -> Option<(&'static str, bool)> {
        let forms = self.dates.as_ref()?;
        let texts = self.filled();
        let is_date = self.no_point == texts && self.no_comma == texts;
        let form = forms.first().filter(|_| is_date)?;
        Some((form, forms.len() > 1))
    }

    /// Number of rows without a value, if the texts `missing` count as missing.
    pub(super) fn holes(&self, missing: &[&str]) -> usize {
        let of_text = |text: &&str| self.nothing.get(*text).copied().unwrap_or_default();
        self.empty + missing.iter().map(of_text).sum::<usize>()
    }

    /// Whether the column holds classes, and why.
    pub(super) fn guess_classes(&self, rows: usize, decimal: Decimal) -> (bool, String) {
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

    /// Why the column only numbers or identifies rows; `None` if it does not.
    pub(super) fn is_id(&self, rows: usize) -> Option<&'static str> {
        let name = self.name.to_lowercase();
        let is_named = name == "id" || ["_id", " id", "-id"].iter().any(|end| name.ends_with(end));
        let is_counting = self.is_counting && self.count == rows && !self.has_fraction && rows > 2;
        // With more values than are counted, duplicates are unknown.
        let is_distinct = self.values.len() == rows.min(MOST_VALUES) && !self.has_fraction;
        match () {
            () if is_counting && self.no_point == 0 => Some("counts the rows"),
            () if is_named && is_distinct => Some("another one in every row"),
            () => None,
        }
    }
}

/// A guess how a column is used.
pub(super) enum Found {
    /// A feature; contains its entry in `columns`, if it needs one, and the reason.
    Feature(Option<(String, String)>),
    /// A column without information; contains the reason.
    Nothing(String),
}

impl Column {
    /// A guess how a feature is read; `gaps` is a text about missing values, if there are any.
    pub(super) fn feature(&self, decimal: Decimal, gaps: &str) -> Found {
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
