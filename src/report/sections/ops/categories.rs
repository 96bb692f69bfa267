//! Shares of a profiled step by category of operation: one row, and one bar, per cell.

use crate::base::units::human;
use crate::report::number::{Provenance, fixed, to_hundred};
use crate::report::plot::{Bar, BarPlot, SERIES, Segment};
use crate::report::sections::plots::PlotContext;
use crate::report::table::{Column, Entry, Table};
use crate::report::view::View;

use super::profiled::{CATEGORIES, Profiled};

/// Bars of the plot.
const BARS: usize = 20;

/// The table of shares.
pub(super) fn table(view: &View<'_>, all: &[Profiled<'_, '_>]) -> Table {
    let present = present(all);
    let timed = Provenance::Measured("mean over the profiled steps of one run".into());
    let ordinary = Provenance::Measured("mean over the measured steps of the same run".into());
    let ratio = Provenance::Derived("profiled step ÷ ordinary step".into());
    let mut columns = vec![
        Column::number("profiled step", "ms", &timed),
        Column::number("ordinary step", "ms", &ordinary),
        Column::number("ratio", "", &ratio),
    ];
    let share = |&place: &usize| Column::share(CATEGORIES[place], "category ÷ profiled step");
    columns.extend(present.iter().map(share));
    Column::last_is_residual(&mut columns);
    let sum = Provenance::Derived("sum of the shares".into());
    columns.push(Column::number("sum", "%", &sum));
    let about = "Both directions of every operation, by category; loss and optimizer are phases of their own, “residual” \
                 is what lies between operations. A dash: not profiled."
        .to_owned();
    let head = ("categories", "A profiled step by category", about);
    let width = columns.len();
    Table::of_cells(view, head, columns, |cell| {
        if !cell.is_measured() {
            return None;
        }
        let mut profiles = all.iter();
        let profiled = profiles.find(|profiled| profiled.cell.info.key == cell.info.key);
        Some(profiled.map_or_else(
            || vec![Entry::text("–"); width],
            |profiled| fields(profiled, &present),
        ))
    })
}

fn fields(profiled: &Profiled<'_, '_>, present: &[usize]) -> Vec<Entry> {
    let step_ms = profiled.step_ms();
    let shares = shares(profiled);
    let ordinary = profiled.ordinary_ms();
    let number = |value: Option<f64>, digits: usize| {
        value.map_or_else(
            || Entry::text("–"),
            |value| Entry::value(value, human(value, digits)),
        )
    };
    let ratio = ordinary.map(|ordinary| step_ms / ordinary);
    let mut fields = vec![
        number(Some(step_ms), 4),
        number(ordinary, 4),
        number(ratio, 3),
    ];
    let shown = present.iter().map(|&place| shares[place]);
    fields.extend(shown.map(|share| Entry::value(share, fixed(share, 1))));
    let sum: f64 = shares.iter().sum();
    fields.push(Entry::value(sum, fixed(sum, 1)));
    fields
}

/// Percent of every category; as shown they sum to 100.0.
fn shares(profiled: &Profiled<'_, '_>) -> Vec<f64> {
    let step_ms = profiled.step_ms();
    let times = profiled.by_category();
    to_hundred(
        &times
            .iter()
            .map(|ms| 100.0 * ms / step_ms)
            .collect::<Vec<_>>(),
    )
}

/// Places of the categories that some cell has; the residual is always among them.
fn present(all: &[Profiled<'_, '_>]) -> Vec<usize> {
    let shares: Vec<Vec<f64>> = all.iter().map(shares).collect();
    let is_there = |&place: &usize| {
        place + 1 == CATEGORIES.len() || shares.iter().any(|shares| shares[place] > 0.0)
    };
    (0..CATEGORIES.len()).filter(is_there).collect()
}

/// One stacked bar per profiled cell.
pub(super) fn plots(view: &View<'_>, all: &[Profiled<'_, '_>]) -> Vec<PlotContext> {
    let (parts, merged) = parts(all);
    let bars = all.iter().take(BARS).map(|profiled| {
        let shares = shares(profiled);
        let segment = |value: f64| Segment {
            value: value.max(0.0),
            text: fixed(value, 1),
        };
        let rest: f64 = merged.iter().map(|&place| shares[place]).sum();
        let mut segments: Vec<Segment> =
            parts.iter().map(|&place| segment(shares[place])).collect();
        if !merged.is_empty() {
            segments.push(segment(rest));
        }
        Bar {
            label: view.name(profiled.cell, None),
            segments,
            end: format!("{} ms", human(profiled.step_ms(), 4)),
            ..Bar::default()
        }
    });
    let mut names: Vec<String> = parts
        .iter()
        .map(|&place| CATEGORIES[place].to_owned())
        .collect();
    if !merged.is_empty() {
        names.push("the rest".to_owned());
    }
    let plot = BarPlot {
        about: "Shares of a profiled step by category and cell".to_owned(),
        x_label: "share of the profiled step in %".to_owned(),
        parts: names,
        bars: bars.collect(),
        ..BarPlot::default()
    };
    vec![PlotContext {
        id: "operations".to_owned(),
        title: "What a step computes".to_owned(),
        caption: caption(&merged, all.len()),
        svg: plot.draw(),
    }]
}

fn caption(merged: &[usize], bars: usize) -> String {
    let names: Vec<&str> = merged.iter().map(|&place| CATEGORIES[place]).collect();
    let rest = if names.is_empty() {
        String::new()
    } else {
        format!(" The rest: {}.", names.join(", "))
    };
    let cut = if bars > BARS {
        format!(" The first {BARS} of {bars} profiled cells.")
    } else {
        String::new()
    };
    format!(
        "Derived: times of the operations of a category, forward and backward, over the profiled step, which stands at \
         the end of the bar.{rest}{cut}"
    )
}

/// Categories with a colour of their own, in order, and those that share the last one: the smallest, where there are more
/// than colours; never the residual.
fn parts(all: &[Profiled<'_, '_>]) -> (Vec<usize>, Vec<usize>) {
    let present = present(all);
    if present.len() <= SERIES {
        return (present, Vec::new());
    }
    let shares: Vec<Vec<f64>> = all.iter().map(shares).collect();
    let largest = |place: usize| shares.iter().map(|s| s[place]).fold(0.0, f64::max);
    // The residual is always seen.
    let named = present
        .iter()
        .copied()
        .filter(|place| place + 1 < CATEGORIES.len());
    let mut by_size: Vec<usize> = named.collect();
    by_size.sort_by(|&a, &b| largest(b).total_cmp(&largest(a)).then(a.cmp(&b)));
    let small = &by_size[SERIES - 2..];
    present
        .into_iter()
        .partition(|place| !small.contains(place))
}
