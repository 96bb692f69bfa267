//! [`Words`]: sentences and numbers in the language of a page.
//!
//! Texts are defined next to the code that uses them, in every language, as messages with named placeholders:
//!
//! ```text
//! messages! {
//!     /// By how many times a cell is faster than another.
//!     faster(times) = "{times}× faster" | "{times}× schneller";
//! }
//! words.faster(words.number(1.37, 3))
//! ```
//!
//! The compiler checks that both languages have the same messages with the same placeholders: a missing text, or an
//! unused or unknown placeholder, does not compile. All numbers in a page are formatted by [`Words`].

use crate::base::text::capitalised;
use crate::base::units::{human, human_bytes, human_integer, human_seconds};
pub(super) use crate::plan::Language;
use crate::results::IntervalKind;

use super::number::fixed;

/// Sentences and numbers in one language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Words {
    /// Language of all texts.
    pub(crate) language: Language,
    /// Which time a comparison judges.
    pub(crate) timed: JudgedTime,
}

/// Which time a comparison judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum JudgedTime {
    /// Time per sample.
    #[default]
    Sample,
    /// Time of a whole run: for commands that report no steps.
    Run,
}

/// Defines messages: methods of [`Words`], one text for each language with the same named placeholders.
macro_rules! messages {
    ($($(#[$about:meta])* $name:ident($($place:ident),*) = $english:literal | $german:literal;)*) => {
        impl $crate::report::language::Words {
            $(
                $(#[$about])*
                pub(in $crate::report) fn $name(self $(, $place: impl std::fmt::Display)*) -> String {
                    match self.language {
                        $crate::report::language::Language::English =>
                            $crate::report::language::message!($english $(, $place)*),
                        $crate::report::language::Language::German =>
                            $crate::report::language::message!($german $(, $place)*),
                    }
                }
            )*
        }

        /// Name and texts of every message defined here.
        #[cfg(test)]
        pub(in $crate::report) const MESSAGES: &[(&str, &str, &str)] =
            &[$((stringify!($name), $english, $german)),*];
    };
}

/// One text with its placeholders filled in.
macro_rules! message {
    ($text:literal) => {
        $text.to_owned()
    };
    ($text:literal $(, $place:ident)+) => {
        format!($text, $($place = $place),+)
    };
}

pub(in crate::report) use {message, messages};

messages! {
    measured(how) = "measured ({how})" | "gemessen ({how})";
    derived(formula) = "derived ({formula})" | "abgeleitet ({formula})";
    assumed(place) = "assumed ({place})" | "angenommen ({place})";
    interval_95() = "95 % interval" | "95-%-Intervall";
    range_of_runs() = "range of the runs" | "Spannweite der Läufe";
    single_run() = "n = 1" | "n = 1";
    to(low, high) = "{low} to {high}" | "{low} bis {high}";
    unknown() = "unknown" | "unbekannt";
    and(first, last) = "{first} and {last}" | "{first} und {last}";
    more(shown, count) = "{shown} and {count} more" | "{shown} und {count} weitere";
    none() = "none" | "keine";
    sample_time() = "time per sample" | "Zeit je Sample";
    run_time() = "time of a run" | "Zeit eines Laufs";
}

impl Words {
    pub(crate) fn in_language(language: Language) -> Self {
        Self {
            language,
            timed: JudgedTime::default(),
        }
    }

    /// Name of the time that a comparison judges.
    pub(crate) fn timed(self) -> String {
        match self.timed {
            JudgedTime::Sample => self.sample_time(),
            JudgedTime::Run => self.run_time(),
        }
    }

    /// Name of the time that a comparison judges, capitalised for a title.
    pub(crate) fn timed_title(self) -> String {
        capitalised(&self.timed())
    }

    /// A number that was written for English readers, in the format of this language.
    pub(crate) fn localised(self, english: &str) -> String {
        match self.language {
            Language::English => english.to_owned(),
            Language::German => {
                let swapped = english.chars().map(|letter| match letter {
                    ',' => '.',
                    '.' => ',',
                    other => other,
                });
                swapped.collect()
            }
        }
    }

    /// A number to `digits` significant digits.
    pub(crate) fn number(self, value: f64, digits: usize) -> String {
        if value.is_finite() {
            self.localised(&human(value, digits))
        } else {
            self.unknown()
        }
    }

    /// A number with exactly `decimals` decimals.
    pub(crate) fn fixed(self, value: f64, decimals: usize) -> String {
        self.localised(&fixed(value, decimals))
    }

    /// A whole number.
    pub(crate) fn count(self, value: usize) -> String {
        self.localised(&human_integer(value as u64))
    }

    /// A fraction or a relative difference in percent: 0.031 is `3.1 %`.
    pub(crate) fn percent(self, share: f64) -> String {
        let percent = share * 100.0;
        let decimals = if percent.abs() < 0.1 { 2 } else { 1 };
        format!("{} %", self.fixed(percent, decimals))
    }

    /// A relative difference with its sign: `+3.1 %`, `−2.0 %`.
    pub(crate) fn signed_percent(self, share: f64) -> String {
        let text = self.percent(share);
        match text.strip_prefix('-') {
            Some(rest) => format!("−{rest}"),
            None if !text.contains(|letter| ('1'..='9').contains(&letter)) => text,
            None => format!("+{text}"),
        }
    }

    /// A ratio with three decimals: `0.730`.
    pub(crate) fn ratio(self, value: f64) -> String {
        if (0.1..10.0).contains(&value) {
            self.fixed(value, 3)
        } else {
            self.number(value, 3)
        }
    }

    /// A p-value with three decimals; `< 0.001` below.
    pub(crate) fn p(self, value: f64) -> String {
        if value < 0.001 {
            format!("< {}", self.fixed(0.001, 3))
        } else {
            self.fixed(value, 3)
        }
    }

    /// A p-value with `=` or `<`: `p = 0.014`, `p < 0.001`.
    pub(crate) fn p_value(self, value: f64) -> String {
        let text = self.p(value);
        if text.starts_with('<') {
            format!("p {text}")
        } else {
            format!("p = {text}")
        }
    }

    /// Seconds in suitable units: `850 ms`, `4 min 05 s`.
    pub(crate) fn seconds(self, seconds: f64) -> String {
        self.localised(&human_seconds(seconds))
    }

    /// Bytes in a binary unit: `489 MiB`.
    pub(crate) fn bytes(self, bytes: f64) -> String {
        self.localised(&human_bytes(bytes.max(0.0).round() as u64))
    }

    /// A range: `0.71–0.75`, with a word instead of the dash if an end has a minus sign.
    pub(crate) fn between(self, low: &str, high: &str) -> String {
        if low.starts_with(['-', '−']) || high.starts_with(['-', '−']) {
            self.to(low, high)
        } else {
            format!("{low}–{high}")
        }
    }

    /// Name of the interval's kind.
    pub(crate) fn interval_kind(self, kind: IntervalKind) -> String {
        match kind {
            IntervalKind::Bootstrap95 | IntervalKind::Anytime95 => self.interval_95(),
            IntervalKind::Range => self.range_of_runs(),
            IntervalKind::Single => self.single_run(),
        }
    }

    /// A list as text, "a, b and c": the first `most` names, and how many others there are.
    pub(crate) fn listed(self, names: &[String], most: usize) -> String {
        if names.len() > most {
            return self.more(names[..most].join(", "), self.count(names.len() - most));
        }
        match names {
            [] => self.none(),
            [one] => one.clone(),
            [first @ .., last] => self.and(first.join(", "), last),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_the_language() {
        let german = Words::in_language(Language::German);
        let english = Words::in_language(Language::English);
        assert_eq!(english.fixed(12_345.678, 1), "12,345.7");
        assert_eq!(german.fixed(12_345.678, 1), "12.345,7");
        assert_eq!(german.percent(0.031), "3,1 %");
        assert_eq!(german.signed_percent(-0.02), "−2,0 %");
        assert_eq!(english.signed_percent(0.0), "0.00 %");
        assert_eq!(german.ratio(0.73), "0,730");
        assert_eq!(german.p(0.000_4), "< 0,001");
        assert_eq!(german.bytes(51_271_436.0), "48,9 MiB");
        assert_eq!(german.seconds(12.34), "12,3 s");
        assert_eq!(german.between("-1,4", "2"), "-1,4 bis 2");
        assert_eq!(
            german.listed(&["a".into(), "b".into(), "c".into()], 3),
            "a, b und c"
        );
        assert_eq!(
            english.listed(&["a".into(), "b".into(), "c".into()], 1),
            "a and 2 more"
        );
    }
}
