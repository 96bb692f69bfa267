//! [`Row`]: a row of texts; [`Value`]: what a text of it is.

use csv::StringRecord;

use super::Decimal;

/// A row of a file.
#[derive(Clone, Copy)]
pub(super) struct Row<'r> {
    pub(super) record: &'r StringRecord,
    pub(super) order: Option<&'r [usize]>,
    /// The place of its file among those that are read.
    pub(super) file: usize,
}

impl<'r> Row<'r> {
    /// The place in the file of a column of the layout.
    pub(super) fn place(self, column: usize) -> usize {
        self.order.map_or(column, |order| order[column])
    }

    pub(super) fn text(self, column: usize) -> &'r str {
        self.record[self.place(column)].trim()
    }
}

/// A value of a row; the text of a class or kind.
#[derive(Clone, Copy)]
pub(super) enum Value<'a> {
    Number(f32),
    Text(&'a str),
}

/// 1 where a label is there, 0 where it is not: as a number, or `true` and `false` in any case.
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
