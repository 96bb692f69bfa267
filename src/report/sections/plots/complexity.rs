//! Parameters against the time of a sample, a point per cell.

use crate::base::units::{human, human_integer};
use crate::report::plot::{Point, SERIES, ScaleKind, ScatterPlot, Series};
use crate::report::sections::classes;
use crate::report::sections::complexity::sample_times;
use crate::report::view::{Cell, View};
use crate::results::interval_over_runs;

use super::PlotContext;

pub(crate) fn plots(view: &View<'_>) -> Vec<PlotContext> {
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
            "Derived: median step ÷ samples of a step; whiskers: interval over runs. Points of different losses, data or batch \
             sizes stand side by side and are not compared.{}",
            plot.merged_note()
        ),
        svg: plot.draw(),
    }]
}

fn point(view: &View<'_>, cell: &Cell<'_>) -> Option<Point> {
    let facts = cell.runs.iter().find_map(|row| row.facts.as_ref())?;
    let found = interval_over_runs(&cell.info.key, &sample_times(view, cell))?;
    let y = found.median;
    let name = view.name(cell, None);
    let (parameters, time) = (human_integer(facts.parameters), human(y, 3));
    Some(Point {
        x: facts.parameters as f64,
        y,
        interval: found.ends(),
        about: format!("{name}: {parameters} parameters, {time} ms per sample"),
        label: name,
        ..Point::default()
    })
}
