//! Throughput over each numeric axis, batch size first; bars per cell where no axis is numeric.

use std::collections::BTreeMap;

use crate::base::text::kebab_case;
use crate::plan::AxisKind;
use crate::report::plot::{Bar, BarPlot, LinePlot, Point, SERIES, ScaleKind, Segment, Series};
use crate::report::sections::speed::{self, throughput};
use crate::report::view::{Cell, View};
use crate::results::IntervalKind;

use super::PlotContext;

/// Numeric axes that get a plot each.
const AXES: usize = 3;
/// Bars of a plot.
const BARS: usize = 40;

pub(super) fn plots(view: &View<'_>) -> Vec<PlotContext> {
    let measured: Vec<&Cell<'_>> = view
        .cells
        .iter()
        .filter(|cell| throughput(cell).is_some())
        .collect();
    if measured.is_empty() {
        return Vec::new();
    }
    let axes = numeric_axes(view, &measured);
    if axes.is_empty() {
        return vec![bars(view, &measured)];
    }
    let axes = axes.into_iter().take(AXES);
    axes.map(|axis| lines(view, &measured, axis)).collect()
}

/// Places of the numeric axes with two values or more among the measured cells: batch size first, then matrix order.
fn numeric_axes(view: &View<'_>, measured: &[&Cell<'_>]) -> Vec<usize> {
    let axes = &view.set.plan.axes;
    let is_numeric = |place: &usize| {
        // A cell whose matrix lacks the axis has no point.
        let mut texts = measured.iter().map(|cell| &cell.info.axes[*place]);
        let numbers = texts.all(|text| text.is_empty() || text.parse::<f64>().is_ok());
        axes[*place].kind != AxisKind::Category && numbers
    };
    let varies = |place: &usize| {
        let texts = measured.iter().map(|cell| &cell.info.axes[*place]);
        let mut texts = texts.filter(|text| !text.is_empty());
        let first = texts.next();
        texts.any(|text| Some(text) != first)
    };
    let mut places: Vec<usize> = (0..axes.len()).filter(is_numeric).filter(varies).collect();
    places.sort_by_key(|&place| (axes[place].path != "train.batch-size", place));
    places
}

fn number(cell: &Cell<'_>, place: usize) -> Option<f64> {
    cell.info.axes[place].parse().ok()
}

fn lines(view: &View<'_>, measured: &[&Cell<'_>], axis: usize) -> PlotContext {
    let mut order: Vec<String> = Vec::new();
    let mut groups: BTreeMap<String, Vec<&Cell<'_>>> = BTreeMap::new();
    for cell in measured.iter().filter(|cell| number(cell, axis).is_some()) {
        let name = view.name(cell, Some(axis));
        if !groups.contains_key(&name) {
            order.push(name.clone());
        }
        groups.entry(name).or_default().push(cell);
    }
    let all = order.len();
    if all > SERIES {
        // Those that reach furthest are the ones to choose from.
        let best = |name: &String| {
            let speeds = groups[name].iter().filter_map(|cell| throughput(cell));
            speeds.map(|speed| speed.value).fold(0.0, f64::max)
        };
        order.sort_by(|a, b| best(b).total_cmp(&best(a)));
        order.truncate(SERIES);
    }
    let series: Vec<Series> = order
        .iter()
        .map(|name| Series {
            name: name.clone(),
            points: points(&groups[name], axis, name),
        })
        .collect();
    let xs = series
        .iter()
        .flat_map(|line| line.points.iter().map(|point| point.x));
    let x_scale = ScaleKind::for_values(&xs.collect::<Vec<f64>>());
    let axis_name = &view.set.plan.axes[axis].name;
    let plot = LinePlot {
        about: format!("Throughput over {axis_name}"),
        x_label: axis_name.clone(),
        x_scale,
        x_settings: true,
        y_label: "throughput in samples/s".to_owned(),
        y_scale: ScaleKind::Linear,
        series,
        bands: false,
    };
    let cut = if all > SERIES {
        format!(" The {SERIES} lines with the highest throughput of {all}.")
    } else {
        String::new()
    };
    let whiskers = whiskers(view);
    PlotContext {
        id: format!("throughput-{}", kebab_case(axis_name)),
        title: format!("Throughput over {axis_name}"),
        caption: format!(
            "Measured: medians over runs{whiskers}. Cells without a value have no point.{cut}"
        ),
        svg: plot.draw(),
    }
}

fn points(cells: &[&Cell<'_>], axis: usize, name: &str) -> Vec<Point> {
    let mut points: Vec<Point> = cells
        .iter()
        .filter_map(|cell| {
            let speed = throughput(cell)?;
            let x = number(cell, axis)?;
            let (value, unit) = (&speed.text, &speed.unit);
            Some(Point {
                x,
                y: speed.value,
                interval: ends(cell),
                about: format!("{name}, {}: {value} {unit}", cell.info.axes[axis]),
            })
        })
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}

fn ends(cell: &Cell<'_>) -> Option<(f64, f64)> {
    let interval = cell.timing?.values.get("samples_per_s")?;
    (interval.kind != IntervalKind::Single).then_some((interval.low, interval.high))
}

fn whiskers(view: &View<'_>) -> String {
    let kinds: Vec<&str> = speed::kinds(view)
        .into_iter()
        .filter(|kind| !kind.starts_with("n = 1"))
        .collect();
    if kinds.is_empty() {
        ", one run each".to_owned()
    } else {
        format!("; whiskers: {}", kinds.join(" or "))
    }
}

fn bars(view: &View<'_>, measured: &[&Cell<'_>]) -> PlotContext {
    let bars = measured.iter().take(BARS).filter_map(|cell| {
        let speed = throughput(cell)?;
        Some(Bar {
            label: view.name(cell, None),
            segments: vec![Segment {
                value: speed.value,
                text: speed.text.clone(),
            }],
            interval: ends(cell),
            end: speed.text,
        })
    });
    let plot = BarPlot {
        about: "Throughput by cell".to_owned(),
        x_label: "throughput in samples/s".to_owned(),
        parts: vec![String::new()],
        bars: bars.collect(),
    };
    let cut = if measured.len() > BARS {
        format!(" The first {BARS} of {} cells.", measured.len())
    } else {
        String::new()
    };
    let whiskers = whiskers(view);
    PlotContext {
        id: "throughput".to_owned(),
        title: "Throughput by cell".to_owned(),
        caption: format!("Measured: medians over runs{whiskers}.{cut}"),
        svg: plot.draw(),
    }
}
