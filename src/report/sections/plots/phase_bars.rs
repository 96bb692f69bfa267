//! Shares of the phases, one stacked bar per cell.

use crate::base::statistics::mean;
use crate::base::units::human;
use crate::report::groups::Group;
use crate::report::number::{fixed, to_hundred};
use crate::report::plot::{Bar, BarPlot, Segment};
use crate::report::sections::phases::{Breakdown, breakdown, present};
use crate::report::view::View;

use super::PlotContext;

/// Bars of a plot.
const BARS: usize = 40;

pub(crate) fn plots(view: &View<'_>) -> Vec<PlotContext> {
    let phases = present(view);
    let found: Vec<(String, Breakdown)> = match &view.grouping {
        None => {
            let cells = view.cells.iter();
            let named = cells.filter_map(|cell| Some((view.name(cell, None), breakdown(cell)?)));
            named.collect()
        }
        Some(grouping) => {
            let groups = grouping.groups.iter();
            groups.filter_map(|group| of_group(view, group)).collect()
        }
    };
    if found.is_empty() {
        return Vec::new();
    }
    let bars = found.iter().take(BARS).map(|(label, found)| Bar {
        label: label.clone(),
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
        ..BarPlot::default()
    };
    vec![PlotContext {
        id: "phases".to_owned(),
        title: "Where a step's time goes".to_owned(),
        caption: format!(
            "Derived: mean of each phase over the mean step, which stands at the end of the bar.{}",
            left_out(view, found.len())
        ),
        svg: plot.draw(),
    }]
}

/// Means over the measured cells of a group.
fn of_group(view: &View<'_>, group: &Group) -> Option<(String, Breakdown)> {
    let cells = group.cells.iter().map(|&place| &view.cells[place]);
    let found: Vec<Breakdown> = cells.filter_map(breakdown).collect();
    let over = |get: &dyn Fn(&Breakdown) -> f64| mean(&found.iter().map(get).collect::<Vec<f64>>());
    let shares = (0..found.first()?.shares.len()).map(|place| over(&|one| one.shares[place]));
    let label = match group.labels.join(", ") {
        none if none.is_empty() => "all cells".to_owned(),
        label => label,
    };
    let breakdown = Breakdown {
        step_ms: over(&|one| one.step_ms)?,
        shares: to_hundred(&shares.collect::<Option<Vec<f64>>>()?),
    };
    Some((label, breakdown))
}

fn left_out(view: &View<'_>, found: usize) -> String {
    let (words, what) = match &view.grouping {
        None => (String::new(), "cells"),
        Some(grouping) => {
            let words = grouping.words(&view.set.plan);
            (format!(" {words}, means over each."), "groups")
        }
    };
    if found > BARS {
        format!("{words} The first {BARS} of {found} {what}.")
    } else {
        words
    }
}
