//! Parameters against the time of a sample, a point per cell.

use crate::base::units::{human, human_integer};
use crate::report::plot::{Point, SERIES, ScaleKind, ScatterPlot, Series};
use crate::report::sections::classes;
use crate::report::sections::complexity::sample_ms;
use crate::report::view::{Cell, View};
use crate::results::IntervalKind;

use super::PlotContext;

pub(super) fn plots(view: &View<'_>) -> Vec<PlotContext> {
    let mut series: Vec<Series> = Vec::new();
    for class in classes::of_plan(view).into_iter().take(SERIES) {
        let points: Vec<Point> = class
            .cells
            .iter()
            .filter_map(|cell| point(view, cell))
            .collect();
        if !points.is_empty() {
            let name = class.name;
            series.push(Series {
                name,
                points,
                is_band: false,
            });
        }
    }
    let points = || series.iter().flat_map(|series| &series.points);
    let xs: Vec<f64> = points().map(|point| point.x).collect();
    let ys: Vec<f64> = points().map(|point| point.y).collect();
    // One size says nothing about sizes.
    if xs.iter().all(|x| Some(x) == xs.first()) {
        return Vec::new();
    }
    let y_scale = match ScaleKind::for_values(&ys) {
        ScaleKind::Linear => ScaleKind::Linear,
        _ => ScaleKind::Log10,
    };
    let plot = ScatterPlot {
        about: "Time per sample over parameters".to_owned(),
        x_label: "parameters".to_owned(),
        x_scale: ScaleKind::Log10,
        y_label: "time per sample in ms".to_owned(),
        y_scale,
        series,
        ..ScatterPlot::default()
    };
    vec![PlotContext {
        id: "complexity".to_owned(),
        title: "Parameters and time per sample".to_owned(),
        caption: format!(
            "Derived: 1000 ÷ median throughput; whiskers: its interval over runs. Points of different losses, data or batch \
             sizes stand side by side and are not compared.{}",
            plot.merged_note()
        ),
        svg: plot.draw(),
    }]
}

fn point(view: &View<'_>, cell: &Cell<'_>) -> Option<Point> {
    let facts = cell.runs.iter().find_map(|row| row.facts.as_ref())?;
    let y = sample_ms(cell)?;
    let interval = cell.timing?.values.get("samples_per_s")?;
    let ends = (1000.0 / interval.high, 1000.0 / interval.low);
    let has_interval = interval.kind != IntervalKind::Single && interval.low > 0.0;
    let name = view.name(cell, None);
    let (parameters, time) = (human_integer(facts.parameters), human(y, 3));
    Some(Point {
        x: facts.parameters as f64,
        y,
        interval: has_interval.then_some(ends),
        about: format!("{name}: {parameters} parameters, {time} ms per sample"),
        label: name,
        ..Point::default()
    })
}
