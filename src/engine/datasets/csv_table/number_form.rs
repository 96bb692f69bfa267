//! [`NumberForm`]: how numbers are written in a table; [`FormCounts`]: the forms in which some texts are numbers.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::value::{Decimal, Thousands, number};

/// Common currency signs and the percent sign, which may stand before or after a number.
const SIGNS: [&str; 9] = ["$", "€", "£", "¥", "₹", "₩", "₺", "₽", "%"];

/// How numbers are written: the separators of fraction and thousands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NumberForm {
    pub(super) decimal: Decimal,
    pub(super) thousands: Option<Thousands>,
}

/// Common forms of numbers, the most likely first.
pub(super) const NUMBER_FORMS: [NumberForm; 7] = [
    form(Decimal::Point, None),
    form(Decimal::Point, Some(Thousands::Comma)),
    form(Decimal::Comma, None),
    form(Decimal::Comma, Some(Thousands::Point)),
    form(Decimal::Point, Some(Thousands::Space)),
    form(Decimal::Comma, Some(Thousands::Space)),
    form(Decimal::Point, Some(Thousands::Apostrophe)),
];

const fn form(decimal: Decimal, thousands: Option<Thousands>) -> NumberForm {
    NumberForm { decimal, thousands }
}

impl Thousands {
    fn is(self, character: char) -> bool {
        match self {
            Self::Comma => character == ',',
            Self::Point => character == '.',
            Self::Space => matches!(character, ' ' | '\u{a0}' | '\u{202f}'),
            Self::Apostrophe => matches!(character, '\'' | '’'),
        }
    }
}

impl NumberForm {
    /// The value of `text` in this form; `None` if it is no finite number in it.
    pub(super) fn number(self, text: &str) -> Option<f32> {
        let is_mark = |character| self.thousands.is_some_and(|mark| mark.is(character));
        if self.thousands.is_none() || !text.contains(is_mark) {
            return number(text, self.decimal);
        }
        let point = match self.decimal {
            Decimal::Point => '.',
            Decimal::Comma => ',',
        };
        let (whole, fraction) = text.split_at(text.find(point).unwrap_or(text.len()));
        let mut groups = whole.split(is_mark);
        let first = groups.next()?.trim_start_matches(['-', '+']);
        // The first group has one to three digits and no leading zero: `0,125` is not a number with thousands.
        let begins = (1..=3).contains(&first.len())
            && !first.starts_with('0')
            && first.bytes().all(|b| b.is_ascii_digit());
        let is_group = |group: &str| group.len() == 3 && group.bytes().all(|b| b.is_ascii_digit());
        let plain = |whole: &str| whole.replace(is_mark, "") + fraction;
        (begins && groups.all(is_group)).then(|| number(&plain(whole), self.decimal))?
    }

    /// Lines of TOML that set this form, except settings that equal those of `than`.
    pub(super) fn toml_lines(self, than: Self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.decimal != than.decimal {
            lines.push(format!("decimal = {}", json(&self.decimal)));
        }
        if self.thousands != than.thousands {
            lines.extend(
                self.thousands
                    .map(|mark| format!("thousands = {}", json(&mark))),
            );
        }
        lines
    }
}

/// A value as TOML, by way of JSON, which is the same for texts without control characters.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// The line of TOML that sets `units`.
pub(super) fn units_line(units: &BTreeSet<&str>) -> String {
    let units: Vec<String> = units.iter().map(|unit| format!("{unit:?}")).collect();
    format!("units = [{}]", units.join(", "))
}

/// `text` without the longest of `units` at its beginning or end; a minus sign stays: `-$5` becomes `-5`.
pub(super) fn without_unit<'t, 'u>(
    text: &'t str,
    units: impl Iterator<Item = &'u str>,
) -> Cow<'t, str> {
    let (minus, amount) = match text.strip_prefix('-') {
        Some(amount) => ("-", amount.trim_start()),
        None => ("", text),
    };
    let without = |unit: &'u str| {
        amount
            .strip_prefix(unit)
            .or_else(|| amount.strip_suffix(unit))
    };
    match units.filter_map(without).min_by_key(|bare| bare.len()) {
        None => Cow::Borrowed(text),
        Some(amount) if minus.is_empty() => Cow::Borrowed(amount.trim()),
        Some(amount) => Cow::Owned(format!("{minus}{}", amount.trim())),
    }
}

/// Counts how many texts are numbers in each form of [`NUMBER_FORMS`].
#[derive(Debug, Default)]
pub(super) struct FormCounts {
    pub(super) texts: usize,
    of_form: [usize; NUMBER_FORMS.len()],
    /// Signs found before or after numbers.
    pub(super) signs: BTreeSet<&'static str>,
}

impl FormCounts {
    /// Counts a text; returns its value in the first form in which it is a number, `None` if there is no such form.
    pub(super) fn add(&mut self, text: &str) -> Option<f32> {
        self.texts += 1;
        let plain = number(text, Decimal::Point);
        let is_sign = |sign: &&&str| {
            text.starts_with(**sign)
                || text.ends_with(**sign)
                || text.starts_with('-') && text[1..].trim_start().starts_with(**sign)
        };
        let sign = match plain {
            Some(_) => None,
            None => SIGNS.iter().find(is_sign).copied(),
        };
        let text = without_unit(text, sign.into_iter());
        let mut first = None;
        for (form, fits) in NUMBER_FORMS.iter().zip(&mut self.of_form) {
            let is_same = form.decimal == Decimal::Point || !text.contains('.');
            let found = plain.filter(|_| is_same).or_else(|| form.number(&text));
            *fits += usize::from(found.is_some());
            first = first.or(found);
        }
        self.signs.extend(sign.filter(|_| first.is_some()));
        first
    }

    /// How many of the counted texts are numbers in `form`; 0 for a form that is not in [`NUMBER_FORMS`].
    pub(super) fn matches_in_form(&self, form: NumberForm) -> usize {
        let place = NUMBER_FORMS.iter().position(|one| *one == form);
        place.map_or(0, |place| self.of_form[place])
    }

    /// The form in which most texts are numbers (of equally frequent forms one with this `decimal`). `None` unless
    /// these are more than half of the texts, with at most one sign.
    pub(super) fn likely(&self, decimal: Decimal) -> Option<NumberForm> {
        let forms = NUMBER_FORMS.iter().copied().rev();
        let best =
            forms.max_by_key(|form| (self.matches_in_form(*form), form.decimal == decimal))?;
        (2 * self.matches_in_form(best) > self.texts && self.signs.len() <= 1).then_some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_groups_of_three_digits() {
        let comma = form(Decimal::Point, Some(Thousands::Comma));
        let point = form(Decimal::Comma, Some(Thousands::Point));
        for (form, text, expected) in [
            (comma, "2,010", Some(2010.0)),
            (comma, "-1,234,567.5", Some(-1_234_567.5)),
            (comma, "780", Some(780.0)),
            (comma, "1.5", Some(1.5)),
            (comma, "0,125", None),
            (comma, "1,5", None),
            (comma, "1234,567", None),
            (comma, ",567", None),
            (comma, "1e,010", None),
            (comma, "1,234.5,678", None),
            (point, "1.082,06", Some(1082.06)),
            (point, "1.5", None),
            (point, "0,179", Some(0.179)),
        ] {
            assert_eq!(form.number(text), expected, "{text}");
        }
        let space = form(Decimal::Comma, Some(Thousands::Space));
        assert_eq!(space.number("12\u{202f}345,5"), Some(12_345.5));
    }

    #[test]
    fn the_longest_unit_is_taken_off() {
        for units in [["m", "mm", "$"], ["$", "mm", "m"]] {
            for (text, expected) in [("5 mm", "5"), ("5m", "5"), ("-$7", "-7"), ("7", "7")] {
                assert_eq!(without_unit(text, units.into_iter()), expected, "{units:?}");
            }
        }
    }

    #[test]
    fn the_form_of_numbers_is_the_one_of_most_of_them() {
        let likely = |texts: &[&str], decimal| {
            let mut fits = FormCounts::default();
            for text in texts {
                fits.add(text);
            }
            let than = form(decimal, None);
            let units: Vec<&str> = fits.signs.iter().copied().collect();
            fits.likely(decimal)
                .map(|form| (form.toml_lines(than).join(" "), units.concat()))
        };
        let point = |texts: &[&str]| likely(texts, Decimal::Point);
        let some = |lines: &str, units: &str| Some((lines.to_owned(), units.to_owned()));
        assert_eq!(point(&["2,010", "1,100"]), some("thousands = \",\"", ""));
        assert_eq!(point(&["2,010", "1,5"]), some("decimal = \",\"", ""));
        let both = "decimal = \",\" thousands = \".\"";
        assert_eq!(point(&["1.082,06", "5,1"]), some(both, ""));
        assert_eq!(point(&["$2,010", "-$3"]), some("thousands = \",\"", "$"));
        assert_eq!(point(&["1.5 %", "2%"]), some("", "%"));
        assert_eq!(point(&["$1", "€2"]), None);
        assert_eq!(point(&["1,000", "x", "y"]), None);
        let comma = likely(&["1.234", "5.678"], Decimal::Comma);
        assert_eq!(comma, some("thousands = \".\"", ""));
    }
}
