//! Shares of the phases, one stacked bar per cell.

use crate::base::units::human;
use crate::report::number::fixed;
use crate::report::plot::{Bar, BarPlot, Segment};
use crate::report::sections::phases::{breakdown, present};
use crate::report::view::View;

use super::PlotContext;

/// Bars of a plot.
const BARS: usize = 40;

pub(super) fn plots(view: &View<'_>) -> Vec<PlotContext> {
    let phases = present(view);
    let measured: Vec<_> = view
        .cells
        .iter()
        .filter_map(|cell| Some((cell, breakdown(cell)?)))
        .collect();
    if measured.is_empty() {
        return Vec::new();
    }
    let bars = measured.iter().take(BARS).map(|(cell, found)| Bar {
        label: view.name(cell, None),
        segments: phases
            .iter()
            .map(|&(place, _)| Segment {
                value: found.shares[place].max(0.0),
                text: fixed(found.shares[place], 1),
            })
            .collect(),
        end: format!("{} ms", human(found.step_ms, 4)),
        ..Bar::default()
    });
    let plot = BarPlot {
        about: "Shares of the phases of a step by cell".to_owned(),
        x_label: "share of the mean step in %".to_owned(),
        parts: phases.iter().map(|(_, name)| (*name).to_owned()).collect(),
        bars: bars.collect(),
    };
    let cut = if measured.len() > BARS {
        format!(" The first {BARS} of {} cells.", measured.len())
    } else {
        String::new()
    };
    vec![PlotContext {
        id: "phases".to_owned(),
        title: "Where a step's time goes".to_owned(),
        caption: format!(
            "Derived: mean of each phase over the mean step, which stands at the end of the bar.{cut}"
        ),
        svg: plot.draw(),
    }]
}
