//! [`Judged`]: a table with what a rule says about it.

use serde::Serialize;

use crate::base::units::{human, human_integer};

use super::table::Table;

/// A table, and the sentences that a rule makes of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// The figures. Without rows there was nothing to measure, and the verdicts say why.
    pub table: Table,
    /// What the rule says, each sentence with its values; empty for "no finding".
    pub verdicts: Vec<String>,
    /// The rule, in a sentence: what was checked.
    pub rule: String,
}

impl Judged {
    /// A table with the verdicts of `rule`.
    pub(super) fn new(table: Table, rule: impl Into<String>, verdicts: Vec<String>) -> Self {
        Self {
            table,
            verdicts,
            rule: rule.into(),
        }
    }
}

/// "batch-size 8 and 3 more": the first few names, and how many others there are.
pub(super) fn some_of(names: &[String], most: usize) -> String {
    let (shown, rest) = names.split_at(names.len().min(most));
    let shown = shown.join("; ");
    if rest.is_empty() {
        shown
    } else {
        format!("{shown} and {} more", rest.len())
    }
}

/// "99.8–100.0", or one number where both ends read the same.
pub(super) fn span(values: &[f64], show: impl Fn(f64) -> String) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (low, high) = (show(low), show(high));
    if low == high {
        low
    } else {
        format!("{low}–{high}")
    }
}

/// A setting or a count: whole numbers as such, others to three digits.
pub(super) fn plain(value: f64) -> String {
    if value >= 0.0 && (value - value.round()).abs() < 1e-9 * value.max(1.0) {
        human_integer(value.round() as u64)
    } else {
        human(value, 3)
    }
}
