//! [`Row`]: the texts of a row; [`Value`]: a parsed text; [`Decimal`], [`Thousands`]: the separators of a number.

use csv::StringRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A row of a file; `order` has the file's index of each column, `None` if the columns are in the layout's order.
#[derive(Clone, Copy)]
pub(super) struct Row<'r> {
    pub(super) record: &'r StringRecord,
    pub(super) order: Option<&'r [usize]>,
    /// Index of the row's file.
    pub(super) file: usize,
}

impl<'r> Row<'r> {
    /// Index in the row's file of the column with index `column` in the layout.
    pub(super) fn place(self, column: usize) -> usize {
        self.order.map_or(column, |order| order[column])
    }

    pub(super) fn text(self, column: usize) -> &'r str {
        self.record[self.place(column)].trim()
    }
}

/// A parsed value of a row: a number, or the text of a class or category.
#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    Number(f32),
    Text(&'a str),
}

/// What separates the fraction of a number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Decimal {
    /// `1.5`.
    #[default]
    #[serde(rename = ".")]
    Point,
    /// `1,5`.
    #[serde(rename = ",")]
    Comma,
}

/// What separates the thousands of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Thousands {
    /// `1,234`.
    #[serde(rename = ",")]
    Comma,
    /// `1.234`, beside `decimal = ","`.
    #[serde(rename = ".")]
    Point,
    /// `1 234`, also with a no-break space.
    #[serde(rename = " ")]
    Space,
    /// `1'234`.
    #[serde(rename = "'")]
    Apostrophe,
}

/// The value of a label: 1 for `true` (in any case) or a number equal to 1, 0 for `false` or a number equal to 0;
/// `None` for other texts.
pub(in super::super) fn label(text: &str, decimal: Decimal) -> Option<f32> {
    if text.eq_ignore_ascii_case("true") {
        return Some(1.0);
    }
    if text.eq_ignore_ascii_case("false") {
        return Some(0.0);
    }
    let number = number(text, decimal)?;
    [0.0, 1.0].contains(&number).then_some(number)
}

/// The finite number that `text` is; `None` for `nan`, `inf`, numbers with thousands separators and other texts.
pub(in super::super) fn number(text: &str, decimal: Decimal) -> Option<f32> {
    let number: f64 = match decimal {
        Decimal::Point => text.parse().ok()?,
        Decimal::Comma if text.contains('.') => return None,
        Decimal::Comma => text.replacen(',', ".", 1).parse().ok()?,
    };
    let number = number as f32;
    number.is_finite().then_some(number)
}
