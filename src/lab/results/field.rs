//! How one value is written as a CSV field and read back.

use crate::base::units::{round_significant, shortest};

use super::datatype::Datatype;
use super::{IntervalKind, Status};

/// What a field should contain; a phrase that follows "expected".
pub(crate) type Expected = &'static str;

/// The type of the field that a function takes from a row.
pub(crate) const fn datatype_of<R, T: Field>(_: fn(&R) -> &T) -> Datatype {
    T::DATATYPE
}

/// A value that a CSV field can hold. A missing value is an empty field.
pub(crate) trait Field: Sized {
    /// Type of the field in files.
    const DATATYPE: Datatype;

    /// The field's text.
    fn show(&self) -> String;

    /// Parses the text.
    fn read(text: &str) -> Result<Self, Expected>;

    /// The field's text for a measured value: a number with [`RUN_DIGITS`] digits.
    fn show_measured(&self) -> String {
        self.show()
    }

    /// The field's text for a fact: a number with [`FACT_DIGITS`] digits, an integer in full.
    fn show_fact(&self) -> String {
        self.show()
    }
}

/// Digits of a time of one run. Intervals, tests and sums of phases are computed from these times, so they have more
/// digits than the displayed timings; the clock's own noise is larger than the last digit.
pub(crate) const RUN_DIGITS: usize = 6;

/// Digits of a fact: enough to distinguish any two `f32`. Further digits change with the summation order, and a diff
/// between branches would show every row for them. The store keeps facts with all digits.
pub(crate) const FACT_DIGITS: usize = 9;

/// 2⁵³: integers below this are exact in `f64`, and are written without rounding (counts such as FLOPs).
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// `value` rounded to [`FACT_DIGITS`] digits, as in `runs.csv`; integers are not rounded.
pub(crate) fn round_as_fact(value: f64) -> f64 {
    if value.fract() == 0.0 && value.abs() < WHOLE {
        return value;
    }
    round_significant(value, FACT_DIGITS)
}

/// Implements [`Field`] by the `Display` and `FromStr` of each type.
macro_rules! plain_field {
    ($($type:ty: $kind:ident $expected:literal),*) => {$(
        impl Field for $type {
            const DATATYPE: Datatype = Datatype::$kind;

            fn show(&self) -> String {
                self.to_string()
            }

            fn read(text: &str) -> Result<Self, Expected> {
                text.parse().map_err(|_| $expected)
            }
        }
    )*};
}
plain_field!(i64: Whole "a whole number", u64: Whole "a whole number", usize: Whole "a whole number", bool: Truth "`true` or `false`", String: Text "a text");

impl Field for f64 {
    const DATATYPE: Datatype = Datatype::Number;

    fn show(&self) -> String {
        shortest(*self).unwrap_or_default()
    }

    fn read(text: &str) -> Result<Self, Expected> {
        let value = text.parse().ok().filter(|value: &f64| value.is_finite());
        value.ok_or("a number")
    }

    fn show_measured(&self) -> String {
        round_significant(*self, RUN_DIGITS).show()
    }

    fn show_fact(&self) -> String {
        round_as_fact(*self).show()
    }
}

impl Field for Status {
    const DATATYPE: Datatype = Datatype::Text;

    fn show(&self) -> String {
        self.to_string()
    }

    fn read(text: &str) -> Result<Self, Expected> {
        let found = Self::ALL.iter().find(|(_, name)| *name == text);
        found
            .map(|(status, _)| *status)
            .ok_or("a status of runs, such as `done`")
    }
}

impl Field for IntervalKind {
    const DATATYPE: Datatype = Datatype::Text;

    fn show(&self) -> String {
        let word = serde_json::to_value(self).unwrap_or_default();
        word.as_str().unwrap_or_default().to_owned()
    }

    fn read(text: &str) -> Result<Self, Expected> {
        serde_json::from_value(text.into())
            .map_err(|_| "`bootstrap95`, `anytime95`, `range` or `single`")
    }
}

impl<T: Field> Field for Option<T> {
    const DATATYPE: Datatype = T::DATATYPE;

    fn show(&self) -> String {
        self.as_ref().map(Field::show).unwrap_or_default()
    }

    fn read(text: &str) -> Result<Self, Expected> {
        (!text.is_empty()).then(|| T::read(text)).transpose()
    }

    fn show_measured(&self) -> String {
        self.as_ref().map(Field::show_measured).unwrap_or_default()
    }

    fn show_fact(&self) -> String {
        self.as_ref().map(Field::show_fact).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_is_empty_and_never_nan() {
        assert_eq!(f64::NAN.show(), "");
        assert_eq!(None::<f64>.show(), "");
        assert_eq!(f64::read("NaN"), Err("a number"));
        assert_eq!(f64::read(""), Err("a number"));
        assert_eq!(Option::<f64>::read(""), Ok(None));
        assert_eq!(Option::<u64>::read("x"), Err("a whole number"));
    }

    #[test]
    fn a_fact_has_nine_digits_and_a_count_has_all_digits() {
        for (value, text) in [
            (0.081_742_255_363_293_94, "0.0817422554"),
            (-1.234_567_890_123e-12, "-1.23456789e-12"),
            (5_123_456_789_012.0, "5123456789012"),
            (0.1 + 0.2, "0.3"),
            (f64::from(f32::MAX), "3.40282347e38"),
        ] {
            assert_eq!(value.show_fact(), text);
        }
        // Two adjacent `f32` values stay distinct.
        let one = 0.1_f32;
        let texts = [one, one.next_up()].map(|value| f64::from(value).show_fact());
        assert_ne!(texts[0], texts[1]);
    }

    #[test]
    fn every_status_reads_back() {
        for (status, _) in Status::ALL {
            assert_eq!(Status::read(&status.show()), Ok(status));
        }
    }
}
