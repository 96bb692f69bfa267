//! [`Judged`]: a table with what a rule says about it.

use crate::base::statistics::range;
use crate::base::units::{human, human_integer};

use super::groups::ROWS;
use super::table::Table;

/// Sentences of a section at most.
const VERDICTS: usize = 12;

/// A table, and the sentences that a rule makes of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Judged {
    /// The figures. Without rows there was nothing to measure, and the verdicts say why.
    pub table: Table,
    /// What the rule says, each sentence with its values; empty for "no finding".
    pub verdicts: Vec<String>,
    /// The rule, in a sentence: what was checked.
    pub rule: String,
}

impl Judged {
    /// A table with the verdicts of `rule`.
    ///
    /// Beyond [`VERDICTS`] sentences the rest is counted, and of the table the first [`ROWS`] rows stay.
    pub(super) fn new(
        mut table: Table,
        rule: impl Into<String>,
        mut verdicts: Vec<String>,
    ) -> Self {
        let (rows, sentences) = (table.rows.len(), verdicts.len());
        if rows > ROWS {
            table.rows.truncate(ROWS);
            let all = human_integer(rows as u64);
            table.cut = Some(format!(
                "The first {ROWS} of {all} rows; all cells are in the CSV files beside this report."
            ));
        }
        if sentences > VERDICTS {
            verdicts.truncate(VERDICTS - 1);
            let more = human_integer((sentences + 1 - VERDICTS) as u64);
            verdicts.push(format!("And {more} more sentences of this kind."));
        }
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

/// "99.8–100.0", or one number where both ends read the same; empty for no value.
pub(super) fn span(values: &[f64], show: impl Fn(f64) -> String) -> String {
    let (low, high) =
        range(values).map_or_else(Default::default, |(low, high)| (show(low), show(high)));
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
