//! Lines over a numeric axis, with points, runs, intervals or bands, and vertical guide lines.

use crate::base::units::human;

use super::MAX_SERIES;
use super::frame::{Frame, line_class};
use super::series::{Point, Series};
use super::svg::Svg;

/// Largest number of points with which a line has markers.
const MARKED: usize = 24;

/// All y values of a point that the axis must include.
pub(super) fn y_extent(point: &Point) -> Vec<f64> {
    let (low, high) = point.interval.unwrap_or((point.y, point.y));
    let mut values = vec![point.y, low, high];
    values.extend(&point.runs);
    values
}

pub(super) fn line(svg: &mut Svg, frame: &Frame, index: usize, series: &Series, aside: f64) {
    let places: Vec<(f64, f64)> = series
        .points
        .iter()
        .map(|point| frame.place(point.x, point.y))
        .map(|(x, y)| (x + aside, y))
        .collect();
    svg.polyline(&line_class(index), &places);
    if series.points.len() > MARKED {
        return;
    }
    for (place, point) in places.iter().zip(&series.points) {
        draw_run_dots(svg, frame, index, point, place.0);
        svg.linked_marker(index, *place, &point.about, &point.link);
    }
}

/// Draws small dots for the runs that a point summarises.
pub(super) fn draw_run_dots(svg: &mut Svg, frame: &Frame, index: usize, point: &Point, x: f64) {
    if point.runs.len() < 2 || point.runs.len() > MARKED {
        return;
    }
    for run in &point.runs {
        let class = format!("run f{}", index % MAX_SERIES);
        svg.dot(&class, (x, frame.y.place(*run)), &human(*run, 4));
    }
}

pub(super) fn band(svg: &mut Svg, frame: &Frame, index: usize, series: &Series) {
    let (mut outline, mut lower) = (Vec::new(), Vec::new());
    for point in &series.points {
        let Some((low, high)) = point.interval else {
            continue;
        };
        outline.push(frame.place(point.x, high));
        lower.push(frame.place(point.x, low));
    }
    outline.extend(lower.into_iter().rev());
    if !outline.is_empty() {
        svg.polygon(&format!("band f{}", index % MAX_SERIES), &outline, "");
    }
}

pub(super) fn whiskers(svg: &mut Svg, frame: &Frame, index: usize, series: &Series, aside: f64) {
    let class = format!("whisker s{}", index % MAX_SERIES);
    for point in &series.points {
        let Some((low, high)) = point.interval else {
            continue;
        };
        let place = frame.x.place(point.x) + aside;
        let (low, high) = (frame.y.place(low), frame.y.place(high));
        svg.line(&class, (place, low), (place, high));
        svg.line(&class, (place - 4.0, low), (place + 4.0, low));
        svg.line(&class, (place - 4.0, high), (place + 4.0, high));
    }
}
