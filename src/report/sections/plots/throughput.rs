//! Throughput over each numeric axis, batch size first; bars per cell where no axis is numeric.

use std::collections::BTreeMap;

use crate::base::statistics::{median, range};
use crate::base::text::kebab_case;
use crate::base::units::human;
use crate::plan::AxisKind;
use crate::report::plot::{
    Bar, BarPlot, LinePlot, POINTS, Point, SERIES, ScaleKind, Segment, Series,
};
use crate::report::sections::speed::{self, throughput};
use crate::report::view::{Cell, View};
use crate::results::IntervalKind;

use super::PlotContext;

/// Numeric axes that get a plot each.
const AXES: usize = 3;
/// Bars of a plot.
const BARS: usize = 30;

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

/// Measured cells that differ in one axis only, with their name.
struct Line<'v, 'a> {
    name: String,
    cells: Vec<&'v Cell<'a>>,
}

impl Line<'_, '_> {
    fn best(&self) -> f64 {
        let speeds = self.cells.iter().filter_map(|cell| throughput(cell));
        speeds.map(|speed| speed.value).fold(0.0, f64::max)
    }
}

fn lines(view: &View<'_>, measured: &[&Cell<'_>], axis: usize) -> PlotContext {
    let mut lines = lines_along(view, measured, axis);
    let all = lines.len();
    let mut rest = Vec::new();
    if all > SERIES {
        // Those that reach furthest are the ones to choose from.
        let mut ordered: Vec<(f64, Line<'_, '_>)> =
            lines.into_iter().map(|line| (line.best(), line)).collect();
        ordered.sort_by(|a, b| b.0.total_cmp(&a.0));
        lines = ordered.into_iter().map(|(_, line)| line).collect();
        rest = lines.split_off(SERIES - 1);
    }
    let named = lines.iter().map(|line| {
        let series = Series {
            name: line.name.clone(),
            points: points(&line.cells, axis, &line.name),
            is_band: false,
        };
        series.condensed()
    });
    let mut series: Vec<Series> = named.collect();
    if !rest.is_empty() {
        series.push(summed(&rest, axis).condensed());
    }
    let is_condensed = lines.iter().any(|line| line.cells.len() > POINTS);
    let xs = series.iter().flat_map(|line| &line.points);
    let x_scale = ScaleKind::for_values(&xs.map(|point| point.x).collect::<Vec<f64>>());
    let axis_name = &view.set.plan.axes[axis].name;
    let plot = LinePlot {
        about: format!("Throughput over {axis_name}"),
        x_label: axis_name.clone(),
        x_scale,
        x_settings: true,
        y_label: "throughput in samples/s".to_owned(),
        series,
        ..LinePlot::default()
    };
    let cut = left_out(all, is_condensed);
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

fn lines_along<'v, 'a>(
    view: &View<'a>,
    measured: &[&'v Cell<'a>],
    axis: usize,
) -> Vec<Line<'v, 'a>> {
    let mut lines: Vec<Line<'_, '_>> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for cell in measured.iter().filter(|cell| number(cell, axis).is_some()) {
        let name = view.name(cell, Some(axis));
        let place = *places.entry(name.clone()).or_insert(lines.len());
        if place == lines.len() {
            let cells = Vec::new();
            lines.push(Line { name, cells });
        }
        lines[place].cells.push(cell);
    }
    lines
}

fn left_out(lines: usize, is_condensed: bool) -> String {
    let mut cut = String::new();
    if lines > SERIES {
        let named = SERIES - 1;
        let rest = lines - named;
        cut = format!(
            " Of {lines} lines the {named} with the highest throughput; of the other {rest} median and range."
        );
    }
    if is_condensed {
        cut += " Of long lines median and range of neighbouring points.";
    }
    cut
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
                runs: runs(cell),
                about: format!("{name}, {}: {value} {unit}", cell.info.axes[axis]),
                ..Point::default()
            })
        })
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}

/// Median and range over lines, at each value of the axis.
fn summed(lines: &[Line<'_, '_>], axis: usize) -> Series {
    let mut at: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for cell in lines.iter().flat_map(|line| &line.cells) {
        let speed = throughput(cell).map(|speed| speed.value);
        at.entry(&cell.info.axes[axis]).or_default().extend(speed);
    }
    let name = format!("the other {}: median and range", lines.len());
    let mut points: Vec<Point> = at
        .iter()
        .filter_map(|(text, speeds)| {
            Some(Point {
                x: text.parse().ok()?,
                y: median(speeds)?,
                interval: range(speeds),
                about: format!("{name}, {text}"),
                ..Point::default()
            })
        })
        .collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    Series {
        name,
        points,
        is_band: true,
    }
}

/// The throughput of each run that counts.
pub(super) fn runs(cell: &Cell<'_>) -> Vec<f64> {
    let times = cell.counted.iter().filter_map(|run| run.times.as_ref());
    times.map(|times| times.samples_per_s).collect()
}

pub(super) fn ends(cell: &Cell<'_>) -> Option<(f64, f64)> {
    let interval = cell.timing?.values.get("samples_per_s")?;
    (interval.kind != IntervalKind::Single).then_some((interval.low, interval.high))
}

pub(super) fn whiskers(view: &View<'_>) -> String {
    let kinds: Vec<&str> = speed::kinds(view)
        .into_iter()
        .filter(|kind| !kind.starts_with("n = 1"))
        .collect();
    if kinds.is_empty() {
        ", one run each".to_owned()
    } else {
        format!("; whiskers: {}; dots: the runs", kinds.join(" or "))
    }
}

fn bars(view: &View<'_>, measured: &[&Cell<'_>]) -> PlotContext {
    let mut shown = measured.to_vec();
    let mut rest = Vec::new();
    if shown.len() > BARS {
        // Stable, so that equal cells stay in plan order.
        let speed = |cell: &Cell<'_>| throughput(cell).map_or(0.0, |speed| speed.value);
        shown.sort_by(|a, b| speed(b).total_cmp(&speed(a)));
        rest = shown.split_off(BARS);
    }
    let mut bars: Vec<Bar> = shown.iter().filter_map(|cell| bar(view, cell)).collect();
    bars.extend(rest_bar(&rest));
    let plot = BarPlot {
        about: "Throughput by cell".to_owned(),
        x_label: "throughput in samples/s".to_owned(),
        parts: vec![String::new()],
        bars,
        ..BarPlot::default()
    };
    let cut = if rest.is_empty() {
        String::new()
    } else {
        format!(
            " The {BARS} fastest of {} cells; the last bar is the median of the others, its whisker their range.",
            measured.len()
        )
    };
    let whiskers = whiskers(view);
    PlotContext {
        id: "throughput".to_owned(),
        title: "Throughput by cell".to_owned(),
        caption: format!("Measured: medians over runs{whiskers}.{cut}"),
        svg: plot.draw(),
    }
}

fn bar(view: &View<'_>, cell: &Cell<'_>) -> Option<Bar> {
    let speed = throughput(cell)?;
    Some(Bar {
        label: view.name(cell, None),
        segments: vec![Segment {
            value: speed.value,
            text: speed.text.clone(),
        }],
        interval: ends(cell),
        runs: runs(cell),
        end: speed.text,
    })
}

fn rest_bar(cells: &[&Cell<'_>]) -> Option<Bar> {
    let speeds = cells.iter().filter_map(|cell| throughput(cell));
    let speeds: Vec<f64> = speeds.map(|speed| speed.value).collect();
    let value = median(&speeds)?;
    let text = human(value, 3);
    Some(Bar {
        label: format!("the other {} cells", cells.len()),
        segments: vec![Segment {
            value,
            text: text.clone(),
        }],
        interval: range(&speeds),
        end: text,
        ..Bar::default()
    })
}
