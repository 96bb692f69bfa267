//! Exclusive shares of a step: what tables and stacked bars of them have in common.

use crate::report::number::fixed;
use crate::report::plot::{Bar, BarPlot, Segment};
use crate::report::table::{Column, Entry};

/// A step in parts.
pub(crate) struct Parts {
    /// Milliseconds of the step.
    pub(crate) step_ms: f64,
    /// Percent of each part, the residual last; as shown they sum to 100.0.
    pub(crate) shares: Vec<f64>,
}

impl Parts {
    /// A field for each of the parts at `places`.
    pub(crate) fn entries(&self, places: &[usize]) -> Vec<Entry> {
        let percent = |share: f64| Entry::value(share, fixed(share, 1));
        let shown = places.iter().map(|&place| percent(self.shares[place]));
        shown.collect()
    }

    /// A bar of the parts at `places`, those of `merged` as one behind them.
    pub(crate) fn bar(&self, label: String, places: &[usize], merged: &[usize]) -> Bar {
        let mut values: Vec<f64> = places.iter().map(|&place| self.shares[place]).collect();
        if !merged.is_empty() {
            values.push(merged.iter().map(|&place| self.shares[place]).sum());
        }
        let segment = |value: f64| Segment {
            value: value.max(0.0),
            text: fixed(value, 1),
        };
        Bar {
            label,
            segments: values.into_iter().map(segment).collect(),
            end: format!("{} ms", crate::base::units::human(self.step_ms, 4)),
        }
    }
}

/// Places of the parts that some step has; the last, the residual, is always among them.
pub(crate) fn present(all: &[&Parts], parts: usize) -> Vec<usize> {
    let is_there =
        |&place: &usize| place + 1 == parts || all.iter().any(|found| found.shares[place] > 0.0);
    (0..parts).filter(is_there).collect()
}

/// The columns of [`Parts::entries`].
pub(crate) fn columns(names: &[&str], places: &[usize], formula: &str) -> Vec<Column> {
    let share = |&place: &usize| Column::share(names[place], formula);
    let mut columns: Vec<Column> = places.iter().map(share).collect();
    Column::last_is_residual(&mut columns);
    columns
}

/// Stacked bars of shares.
pub(crate) fn plot(about: &str, step: &str, parts: Vec<String>, bars: Vec<Bar>) -> BarPlot {
    BarPlot {
        about: about.to_owned(),
        x_label: format!("share of the {step} in %"),
        parts,
        bars,
    }
}
