//! [`Number`]: a value as a report shows it, with its interval and where it comes from.

use serde::Serialize;

use crate::base::statistics::{median, range};
use crate::base::units::{human, human_integer, shortest};
use crate::results::{Interval, IntervalKind};

/// A number of a report. The same value is shown in headlines and tables.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Number {
    /// The number, rounded for display: `14.1`.
    pub text: String,
    /// Interval of the number: `13.9–14.3`; `None` for a single run, or without an interval.
    pub interval: Option<String>,
    /// The ends of the interval, not rounded.
    pub ends: Option<(f64, f64)>,
    /// Unit of the number: `samples/s`; empty for a plain number.
    pub unit: String,
    /// The value behind the text, unrounded, for sorting and plotting.
    pub value: f64,
}

impl Number {
    /// A timing with its interval, from `timings.csv`.
    pub fn timing(interval: &Interval, unit: &str) -> Self {
        let decimals = decimals_of(interval);
        let show = |value: f64| fixed(value, decimals);
        Self::of(interval.median, interval.ends(), unit, show)
    }

    /// A number with the ends of its interval, written by `show`.
    fn of(value: f64, ends: Option<(f64, f64)>, unit: &str, show: impl Fn(f64) -> String) -> Self {
        Self {
            text: show(value),
            interval: ends.map(|(low, high)| between(&show(low), &show(high))),
            ends,
            unit: unit.to_owned(),
            value,
        }
    }

    /// The number with unit and interval: `10.7 samples/s (10.4–10.9)`.
    pub(crate) fn text_with_interval(&self) -> String {
        let shown = with_unit(&self.text, &self.unit);
        let alone = between(&self.text, &self.text);
        match self.interval.as_ref().filter(|ends| **ends != alone) {
            Some(ends) => format!("{shown} ({ends})"),
            None => shown,
        }
    }
}

/// A number with its unit, if it has one.
pub(super) fn with_unit(number: &str, unit: &str) -> String {
    match unit {
        "" => number.to_owned(),
        unit => format!("{number} {unit}"),
    }
}

/// A ratio: `1.37×`.
pub(super) fn times_text(ratio: f64) -> String {
    format!("{}×", human(ratio, 3))
}

/// An interval as text: a dash between its ends, or "to" if a sign would follow the dash.
pub(super) fn between(low: &str, high: &str) -> String {
    if low.starts_with('-') || high.starts_with('-') {
        format!("{low} to {high}")
    } else {
        format!("{low}–{high}")
    }
}

/// Name of an interval; below six runs it is not called a confidence interval.
pub(super) fn interval_name(kind: IntervalKind) -> &'static str {
    match kind {
        IntervalKind::Bootstrap95 => "95 % bootstrap interval of the median",
        IntervalKind::Anytime95 => "95 % interval of pairs that ended when sure",
        IntervalKind::Range => "range of the runs",
        IntervalKind::Single => "n = 1, no interval",
    }
}

/// Number of decimals of median and ends: that of the most precise of them.
fn decimals_of(interval: &Interval) -> usize {
    let decimals = |value: f64| {
        let text = shortest(value).unwrap_or_default();
        match text.split_once('e') {
            // Values below 1e-5, which are written with an exponent, get six decimals.
            Some(_) => 6,
            None => text.split_once('.').map_or(0, |(_, part)| part.len()),
        }
    };
    [interval.median, interval.low, interval.high]
        .into_iter()
        .map(decimals)
        .max()
        .unwrap_or(0)
}

/// A number with exactly `decimals` decimals, thousands separated, and zero without a sign.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let is_zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    let text = if is_zero {
        text.trim_start_matches('-')
    } else {
        &text
    };
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let (sign, whole) = whole
        .strip_prefix('-')
        .map_or(("", whole), |rest| ("-", rest));
    // Numbers too large for an integer are not grouped by thousands.
    let whole = whole
        .parse()
        .map_or_else(|_| whole.to_owned(), human_integer);
    if part.is_empty() {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{part}")
    }
}

/// Rounds percentages to one decimal so that they still sum to 100.0: the largest remainders are rounded up.
pub(super) fn round_to_sum_100(exact: &[f64]) -> Vec<f64> {
    let mut tenths: Vec<i64> = exact
        .iter()
        .map(|share| (share * 10.0).floor() as i64)
        .collect();
    let missing = (1000 - tenths.iter().sum::<i64>()).max(0) as usize;
    let mut order: Vec<usize> = (0..exact.len()).collect();
    let remainder = |place: usize| exact[place] * 10.0 - (exact[place] * 10.0).floor();
    order.sort_by(|&a, &b| remainder(b).total_cmp(&remainder(a)).then(a.cmp(&b)));
    for &place in order.iter().take(missing) {
        tenths[place] += 1;
    }
    tenths.iter().map(|&tenth| tenth as f64 / 10.0).collect()
}

/// Bytes per MiB, the common unit of all memory columns.
pub(crate) const MIB: f64 = 1_048_576.0;

/// MiB to three digits, or four from 1,000 on.
pub(crate) fn mebibytes(mib: f64) -> String {
    human(mib, if mib >= 1000.0 { 4 } else { 3 })
}

/// Significant digits of losses and metrics.
const DIGITS: usize = 4;

/// Median and range of values, one per seed; `None` without values.
pub(crate) fn number_over_seeds(values: &[f64]) -> Option<Number> {
    let middle = median(values)?;
    let (low, high) = range(values)?;
    let is_whole = values.iter().all(|value| value.fract() == 0.0);
    let text = |value: f64| {
        if is_whole && value.fract() == 0.0 && value >= 0.0 {
            human_integer(value as u64)
        } else {
            human(value, DIGITS)
        }
    };
    let ends = (values.len() > 1).then_some((low, high));
    Some(Number::of(middle, ends, "", text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_shares_sum_to_a_hundred() {
        let third = 100.0 / 7.0;
        let shares = round_to_sum_100(&[third; 7]);
        assert!(
            (shares.iter().sum::<f64>() - 100.0).abs() < 1e-9,
            "{shares:?}"
        );
        let shares = round_to_sum_100(&[33.35, 66.64, 0.01]);
        assert!(
            (shares.iter().sum::<f64>() - 100.0).abs() < 1e-9,
            "{shares:?}"
        );
    }

    #[test]
    fn an_interval_has_the_decimals_of_its_median() {
        let interval = Interval {
            median: 16.0,
            low: 15.98,
            high: 16.25,
            kind: IntervalKind::Range,
        };
        let number = Number::timing(&interval, "s");
        assert_eq!(number.text, "16.00");
        assert_eq!(number.interval.as_deref(), Some("15.98–16.25"));
    }

    #[test]
    fn a_sign_never_stands_beside_the_dash_of_an_interval() {
        assert_eq!(between("1", "2"), "1–2");
        assert_eq!(between("-1.40", "-0.87"), "-1.40 to -0.87");
    }

    #[test]
    fn zero_has_no_sign_and_thousands_are_separated() {
        assert_eq!(fixed(-0.001, 2), "0.00");
        assert_eq!(fixed(-0.25, 2), "-0.25");
        assert_eq!(fixed(12_345.678, 1), "12,345.7");
        assert_eq!(fixed(3.0, 0), "3");
        assert_eq!(fixed(-12_345.0, 0), "-12,345");
        assert_eq!(fixed(1e21, 0), "1000000000000000000000");
    }
}
