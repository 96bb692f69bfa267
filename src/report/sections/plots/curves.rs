//! Loss and metric curves over epochs: one line per different curve, or one per axis value if there are too many.

use std::collections::BTreeSet;

use crate::base::text::{capitalised, kebab_case};
use crate::event::EpochRow;
use crate::report::measure::{Measure, column_words};
use crate::report::plot::{MAX_SERIES, Point, PointPlot, ScaleKind, Series};
use crate::report::view::{Cell, View};
use crate::results::grouped;

use super::{PlotContext, band};
use crate::report::quality;

/// Relative difference of two values that is invisible in a drawing.
const INVISIBLE: f64 = 1e-4;

/// Number of metrics that get a plot besides the training loss.
const METRICS: usize = 2;

/// A curve: its points, and the cells that have it.
struct Curve<'v, 'a> {
    points: Vec<(f64, f64)>,
    cells: Vec<&'v Cell<'a>>,
}

pub(crate) fn plots(view: &View<'_>) -> Vec<PlotContext> {
    let rows = view.set.epochs.iter();
    let names: BTreeSet<&String> = rows.flat_map(|row| row.epoch.validation.keys()).collect();
    let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
    let train = plot(view, "train_loss", &[], &|epoch| epoch.train_loss);
    // The deciding metric comes first, then the loss; tables show the last values of all other metrics.
    let cells: Vec<&Cell<'_>> = view.measured().collect();
    let deciding = quality::quality_column(view, &cells);
    let mut others = without_twins(view, &names);
    others.sort_by_key(|(name, twins)| {
        let is = |wanted: &str| *name == wanted || twins.contains(&wanted);
        (!is(&deciding), !is("val_loss"))
    });
    let others = others.into_iter().take(METRICS);
    let others = others.filter_map(|(name, twins)| {
        plot(view, name, &twins, &|epoch| {
            epoch.validation.get(name).copied().flatten()
        })
    });
    train.into_iter().chain(others).collect()
}

/// The names of metrics, each with later ones that have the same curve (a loss may equal a metric).
fn without_twins<'n>(view: &View<'_>, names: &[&'n str]) -> Vec<(&'n str, Vec<&'n str>)> {
    let mut kept: Vec<(&str, Vec<&str>)> = Vec::new();
    for name in names {
        match kept
            .iter_mut()
            .find(|(other, _)| is_twin(view, other, name))
        {
            Some((_, twins)) => twins.push(name),
            None => kept.push((name, Vec::new())),
        }
    }
    kept
}

fn is_twin(view: &View<'_>, one: &str, other: &str) -> bool {
    view.set.epochs.iter().all(|row| {
        let value = |name: &str| row.epoch.validation.get(name).copied().flatten();
        match (value(one), value(other)) {
            (Some(one), Some(other)) => (one - other).abs() <= INVISIBLE * one.abs(),
            (one, other) => one == other,
        }
    })
}

fn plot(
    view: &View<'_>,
    name: &str,
    twins: &[&str],
    get: &dyn Fn(&EpochRow) -> Option<f64>,
) -> Option<PlotContext> {
    let curves = curves(view, get);
    // A curve with a single point adds nothing to the table.
    if curves.iter().all(|curve| curve.points.len() < 2) {
        return None;
    }
    let (series, how) = if curves.len() > MAX_SERIES {
        aggregated(view, &curves)
    } else {
        let how = "one line per different curve; cells that share it are named together";
        (single(view, &curves), how.to_owned())
    };
    let words = column_words(name);
    let values: Vec<f64> = series
        .iter()
        .flat_map(|line| line.points.iter().map(|p| p.y))
        .collect();
    let drawing = PointPlot {
        is_joined: true,
        about: format!("{words} over epochs"),
        x_label: "epoch".to_owned(),
        x_scale: ScaleKind::Linear,
        x_settings: values.len() <= 9 * series.len(),
        y_label: words.clone(),
        y_scale: Measure::of(name).scale(&values),
        series,
        ..PointPlot::default()
    };
    Some(PlotContext {
        id: kebab_case(name),
        title: format!("{} over epochs", capitalised(&words)),
        caption: format!("Measured, first seed; {how}{}.", twins_in_words(twins)),
        svg: drawing.draw(),
    })
}

fn twins_in_words(twins: &[&str]) -> String {
    if twins.is_empty() {
        return String::new();
    }
    let percent = INVISIBLE * 100.0;
    let names: Vec<String> = twins.iter().map(|name| column_words(name)).collect();
    format!("; {} is the same within {percent} %", names.join(", "))
}

/// The distinct curves of the first seed, in plan order.
fn curves<'v, 'a>(
    view: &'v View<'a>,
    get: &dyn Fn(&EpochRow) -> Option<f64>,
) -> Vec<Curve<'v, 'a>> {
    let drawn = view.cells.iter().filter_map(|cell| {
        let seed = cell.epochs.first()?.seed;
        let rows = cell.epochs.iter().filter(|row| row.seed == seed);
        let points = rows.filter_map(|row| Some((row.epoch.epoch as f64, get(&row.epoch)?)));
        let points: Vec<(f64, f64)> = points.collect();
        (!points.is_empty()).then_some((cell, points))
    });
    let bits = |(_, points): &(&Cell<'_>, Vec<(f64, f64)>)| {
        let bits = points.iter().map(|(x, y)| (x.to_bits(), y.to_bits()));
        bits.collect::<Vec<(u64, u64)>>()
    };
    let curve = |same: Vec<(&'v Cell<'a>, Vec<(f64, f64)>)>| Curve {
        points: same[0].1.clone(),
        cells: same.iter().map(|(cell, _)| *cell).collect(),
    };
    grouped(drawn, bits).into_iter().map(curve).collect()
}

fn single(view: &View<'_>, curves: &[Curve<'_, '_>]) -> Vec<Series> {
    let line = |curve: &Curve<'_, '_>| {
        let name = shared_name(view, &curve.cells);
        let points = curve.points.iter().map(|&(x, y)| Point {
            x,
            y,
            about: format!("{name}, epoch {x}: {y:.5}"),
            ..Point::default()
        });
        Series::of(&name, points).condensed()
    };
    curves.iter().map(line).collect()
}

/// Settings that cells of one curve share, as text: `batch-size 8 (2 cells)`.
fn shared_name(view: &View<'_>, cells: &[&Cell<'_>]) -> String {
    let name = view.shared_name(cells);
    if cells.len() > 1 {
        format!("{name} ({} cells)", cells.len())
    } else {
        name
    }
}

/// Median and range over the cells of each value of one axis: the axis with most values that fits the legend.
fn aggregated(view: &View<'_>, curves: &[Curve<'_, '_>]) -> (Vec<Series>, String) {
    let values = |place: usize| {
        let mut seen: Vec<&str> = Vec::new();
        for cell in curves.iter().flat_map(|curve| &curve.cells) {
            if !seen.contains(&&*cell.info.axes[place]) {
                seen.push(&cell.info.axes[place]);
            }
            // Stops when there are more values than the legend can show.
            if seen.len() > MAX_SERIES {
                break;
            }
        }
        seen
    };
    let fitting = view
        .axes_in_names
        .iter()
        .map(|&place| (place, values(place)));
    let chosen = fitting
        .filter(|(_, values)| (2..=MAX_SERIES).contains(&values.len()))
        .max_by_key(|(place, values)| (values.len(), usize::MAX - place));
    let Some((place, values)) = chosen else {
        let all: Vec<&Curve<'_, '_>> = curves.iter().collect();
        let how = format!("median and range over {} different curves", curves.len());
        return (vec![summed(&all, "all cells")], how);
    };
    let series = values.iter().map(|value| {
        let of = |curve: &&Curve<'_, '_>| curve.cells.iter().any(|c| c.info.axes[place] == *value);
        let group: Vec<&Curve<'_, '_>> = curves.iter().filter(of).collect();
        summed(&group, &view.axis_value_text(place, value))
    });
    let axis = view.axis_name(place);
    let how = format!("median and range over the cells of each {axis}");
    (series.collect(), how)
}

fn summed(curves: &[&Curve<'_, '_>], name: &str) -> Series {
    let points = curves.iter().flat_map(|curve| curve.points.iter().copied());
    let about = |epoch, y| format!("epoch {epoch}: {y:.5}");
    band(name.to_owned(), points.collect(), about)
}
