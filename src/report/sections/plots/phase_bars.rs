//! Shares of the phases, one stacked bar per cell.

use crate::base::statistics::mean;
use crate::report::groups::Group;
use crate::report::number::to_hundred;
use crate::report::sections::phases::{Breakdown, breakdown, names, present};
use crate::report::sections::shares;
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
    let all = found.len();
    if all == 0 {
        return Vec::new();
    }
    let shown = found.into_iter().take(BARS);
    let bars = shown.map(|(label, found)| found.bar(label, &phases, &[]));
    let names = names();
    let parts = phases.iter().map(|&place| names[place].to_owned());
    let about = "Shares of the phases of a step by cell";
    let plot = shares::plot(about, "mean step", parts.collect(), bars.collect());
    vec![PlotContext {
        id: "phases".to_owned(),
        title: "Where a step's time goes".to_owned(),
        caption: format!(
            "Derived: mean of each phase over the mean step, which stands at the end of the bar.{}",
            left_out(view, all)
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
