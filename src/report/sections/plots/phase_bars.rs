//! Shares of the phases, one stacked bar per cell.

use crate::report::judged::first_of;
use crate::report::sections::phases::{breakdown, names, present};
use crate::report::sections::shares;
use crate::report::view::View;

use super::PlotContext;

/// Bars of a plot.
const BARS: usize = 40;

pub(crate) fn plots(view: &View<'_>) -> Vec<PlotContext> {
    let phases = present(view);
    let cells = view.cells.iter();
    let found = cells.filter_map(|cell| Some((cell, breakdown(cell)?)));
    let found: Vec<_> = found.collect();
    if found.is_empty() {
        return Vec::new();
    }
    let shown = found.iter().take(BARS);
    let bars = shown.map(|(cell, found)| found.bar(view.name(cell, None), &phases, &[]));
    let names = names();
    let parts = phases.iter().map(|&place| names[place].to_owned());
    let about = "Shares of the phases of a step by cell";
    let plot = shares::plot(about, "mean step", parts.collect(), bars.collect());
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
