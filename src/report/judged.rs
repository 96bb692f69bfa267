//! Formats lists, ranges and numbers of a table as text for sentences.

use crate::base::statistics::range;
use crate::base::units::{human, human_integer};

/// A list of names as text: "batch-size 8, batch-size 16 and 3 more": the first few names, and how many others there
/// are.
pub(super) fn first_names_text<N: AsRef<str>>(names: &[N], most: usize, between: &str) -> String {
    let shown: Vec<&str> = names.iter().take(most).map(AsRef::as_ref).collect();
    let shown = shown.join(between);
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// " The first 8 of 12 studies.": addition to a caption if not all are shown.
pub(crate) fn first_of(most: usize, all: usize, what: &str) -> String {
    let cut = (all > most).then(|| format!(" The first {most} of {all} {what}."));
    cut.unwrap_or_default()
}

/// The distinct values in the order of their first occurrence.
pub(crate) fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// The range of values as text: "99.8–100.0", or one number if both ends look the same; empty without values.
pub(super) fn range_text(values: &[f64], show: impl Fn(f64) -> String) -> String {
    let (low, high) =
        range(values).map_or_else(Default::default, |(low, high)| (show(low), show(high)));
    if low == high {
        low
    } else {
        format!("{low}–{high}")
    }
}

/// A setting or a count as text: integers in full, other numbers to three significant digits.
pub(super) fn plain_number_text(value: f64) -> String {
    if value >= 0.0 && (value - value.round()).abs() < 1e-9 * value.max(1.0) {
        human_integer(value.round() as u64)
    } else {
        human(value, 3)
    }
}
