//! The times of a cell, from `timings.csv`.

use crate::results::{Interval, fixed_unit};

use super::number::{MIB, Number};
use super::table::Entry;
use super::view::Cell;

/// Column of the throughput.
pub(crate) const THROUGHPUT: &str = "samples_per_s";

/// A timing of a cell, from `timings.csv`; `None` if it is missing or not plausible.
pub(crate) fn timing(cell: &Cell<'_>, column: &str) -> Option<Number> {
    let (interval, unit) = measured(cell, column)?;
    Some(Number::timing(interval, unit))
}

/// The median of a timing: [`timing`] without texts and interval, for computing and ordering.
pub(crate) fn timing_value(cell: &Cell<'_>, column: &str) -> Option<f64> {
    measured(cell, column).map(|(interval, _)| interval.median)
}

fn measured<'a>(cell: &Cell<'a>, column: &str) -> Option<(&'a Interval, &'static str)> {
    let row = cell.timing.filter(|_| cell.is_measured())?;
    let interval = row.values.get(column)?;
    let unit = fixed_unit(column);
    is_plausible(column, unit, interval.median).then_some((interval, unit))
}

/// Whether a timing is plausible: times and rates are not negative; only the residual of phases may be.
fn is_plausible(column: &str, unit: &str, value: f64) -> bool {
    let is_never_negative = ["ms", "s", "samples/s", "bytes"].contains(&unit);
    value.is_finite() && (value >= 0.0 || !is_never_negative || column == "other_ms")
}

/// A timing as a field: `unknown` if it is not plausible.
pub(crate) fn timing_entry(cell: &Cell<'_>, column: &str) -> Entry {
    let raw = cell.timing.and_then(|row| row.values.get(column));
    let number = timing(cell, column);
    if raw.is_some() && number.is_none() {
        return Entry::text("unknown");
    }
    Entry::number(number.as_ref())
}

/// A memory column of a cell as a field in MiB, with its interval below.
pub(crate) fn memory_entry(cell: &Cell<'_>, column: &str, show: impl Fn(f64) -> String) -> Entry {
    let Some(bytes) = timing(cell, column) else {
        return Entry::text("–");
    };
    let ends = bytes.ends.map(|(low, high)| (low / MIB, high / MIB));
    Entry::between(bytes.value / MIB, ends, show)
}
