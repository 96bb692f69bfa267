//! Shares of a profiled step by category of operation: one row, and one bar, per cell.

use crate::base::units::human;
use crate::report::judged::first_of;
use crate::report::number::Provenance;
use crate::report::plot::SERIES;
use crate::report::sections::plots::PlotContext;
use crate::report::sections::shares::{self, Parts};
use crate::report::table::{Column, Entry, Table};
use crate::report::view::View;

use super::profiled::{CATEGORIES, Profiled};

/// Bars of the plot.
const BARS: usize = 20;

/// The table of shares.
pub(super) fn table(view: &View<'_>, all: &[Profiled<'_, '_>]) -> Table {
    let present = present(&parts(all));
    let timed = Provenance::Measured("mean over the profiled steps of one run".into());
    let ordinary = Provenance::Measured("mean over the measured steps of the same run".into());
    let ratio = Provenance::Derived("profiled step ÷ ordinary step".into());
    let mut columns = vec![
        Column::number("profiled step", "ms", &timed),
        Column::number("ordinary step", "ms", &ordinary),
        Column::number("ratio", "", &ratio),
    ];
    columns.extend(shares::columns(
        &CATEGORIES,
        &present,
        "category ÷ profiled step",
    ));
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
    let parts = profiled.parts();
    let ordinary = profiled.ordinary_ms();
    let ratio = ordinary.map(|ordinary| parts.step_ms / ordinary);
    let mut fields = vec![
        Entry::shown(Some(parts.step_ms), |ms| human(ms, 4)),
        Entry::shown(ordinary, |ms| human(ms, 4)),
        Entry::shown(ratio, |ratio| human(ratio, 3)),
    ];
    fields.extend(parts.entries(present));
    fields
}

fn parts(all: &[Profiled<'_, '_>]) -> Vec<Parts> {
    all.iter().map(Profiled::parts).collect()
}

fn present(parts: &[Parts]) -> Vec<usize> {
    shares::present(&parts.iter().collect::<Vec<_>>(), CATEGORIES.len())
}

/// One stacked bar per profiled cell.
pub(super) fn plots(view: &View<'_>, all: &[Profiled<'_, '_>]) -> Vec<PlotContext> {
    let parts = parts(all);
    let (own, merged) = coloured(&parts);
    let shown = all.iter().zip(&parts).take(BARS);
    let bars =
        shown.map(|(profiled, found)| found.bar(view.name(profiled.cell, None), &own, &merged));
    let rest = (!merged.is_empty()).then_some("the rest");
    let names = own.iter().map(|&place| CATEGORIES[place]).chain(rest);
    let plot = shares::plot(
        "Shares of a profiled step by category and cell",
        "profiled step",
        names.map(str::to_owned).collect(),
        bars.collect(),
    );
    vec![PlotContext {
        id: "operations".to_owned(),
        title: "What a step computes".to_owned(),
        caption: caption(&merged, all.len()),
        svg: plot.draw(),
    }]
}

fn caption(merged: &[usize], bars: usize) -> String {
    let names: Vec<&str> = merged.iter().map(|&place| CATEGORIES[place]).collect();
    let rest = (!names.is_empty()).then(|| format!(" The rest: {}.", names.join(", ")));
    let rest = rest.unwrap_or_default();
    let cut = first_of(BARS, bars, "profiled cells");
    format!(
        "Derived: times of the operations of a category, forward and backward, over the profiled step, which stands at \
         the end of the bar.{rest}{cut}"
    )
}

/// Categories with a colour of their own, in order, and those that share the last one: the smallest, where there are more
/// than colours; never the residual.
fn coloured(parts: &[Parts]) -> (Vec<usize>, Vec<usize>) {
    let present = present(parts);
    if present.len() <= SERIES {
        return (present, Vec::new());
    }
    let largest = |place: usize| {
        parts
            .iter()
            .map(|own| own.shares[place])
            .fold(0.0, f64::max)
    };
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
