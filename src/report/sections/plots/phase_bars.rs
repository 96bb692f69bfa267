//! Shares of the phases, one stacked bar per cell.

use crate::base::units::human;
use crate::report::judged::first_of;
use crate::report::number::fixed;
use crate::report::plot::{Bar, BarPlot, Segment};
use crate::report::sections::phases::{breakdown, breakdown_part_names, present_phases};
use crate::report::view::View;

use super::PlotContext;

/// Largest number of bars in a plot; the table has all cells.
const BARS: usize = 16;

pub(crate) fn plots(view: &View<'_>) -> Vec<PlotContext> {
    let phases = present_phases(view);
    let cells = view.cells.iter();
    let found = cells.filter_map(|cell| Some((cell, breakdown(cell)?)));
    let found: Vec<_> = found.collect();
    if found.is_empty() {
        return Vec::new();
    }
    let shown = found.iter().take(BARS);
    let segment = |share: f64| Segment {
        value: share.max(0.0),
        text: fixed(share, 1),
    };
    let bars = shown.map(|(cell, found)| Bar {
        label: view.bar_name(cell),
        segments: phases
            .iter()
            .map(|&place| segment(found.shares[place]))
            .collect(),
        end: format!("{} ms", human(found.step_ms, 4)),
    });
    let names = breakdown_part_names();
    let parts = phases.iter().map(|&place| names[place].to_owned());
    let plot = BarPlot {
        about: "Shares of the phases of a step by cell".to_owned(),
        x_label: "share of the mean step in %".to_owned(),
        parts: parts.collect(),
        bars: bars.collect(),
    };
    let cut = first_of(BARS, found.len(), "cells");
    vec![PlotContext {
        id: "phases".to_owned(),
        title: "Where a step's time goes".to_owned(),
        caption: format!(
            "Derived: mean of each phase over the mean step, which stands at the end of the bar.{cut}"
        ),
        svg: plot.draw(),
    }]
}
