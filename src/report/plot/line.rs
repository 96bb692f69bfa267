//! Lines over a numeric axis, with points, intervals or bands.

use super::scale::{Scale, ScaleKind};
use super::svg::{Anchor, Svg, text_width};

const WIDTH: f64 = 560.0;
const PLOT_HEIGHT: f64 = 280.0;
const LEGEND_LINE: f64 = 22.0;

/// Lines over a numeric axis.
#[derive(Debug, Clone)]
pub(crate) struct LinePlot {
    /// What a screen reader says.
    pub(crate) about: String,
    /// Name and unit below the axis.
    pub(crate) x_label: String,
    /// Scale of the x axis.
    pub(crate) x_scale: ScaleKind,
    /// Whether ticks stand at the values themselves (settings) or are tidy numbers (epochs).
    pub(crate) x_settings: bool,
    /// Name and unit above the axis.
    pub(crate) y_label: String,
    /// Scale of the y axis.
    pub(crate) y_scale: ScaleKind,
    /// The lines, at most [`super::SERIES`].
    pub(crate) series: Vec<Series>,
    /// Whether intervals are bands around the line and not whiskers at the points.
    pub(crate) bands: bool,
}

/// One line.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    /// Its name in the legend.
    pub(crate) name: String,
    /// Its points, from left to right.
    pub(crate) points: Vec<Point>,
}

/// A point, with its interval where there is one.
#[derive(Debug, Clone)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) interval: Option<(f64, f64)>,
    /// Shown when the pointer rests on it.
    pub(crate) about: String,
}

impl LinePlot {
    /// Draws it; the same value gives the same bytes.
    pub(crate) fn draw(&self) -> String {
        let legend = self.legend();
        let top = 42.0 + legend.len() as f64 * LEGEND_LINE;
        let bottom = top + PLOT_HEIGHT;
        let (x, y) = self.scales((64.0, WIDTH - 22.0), (bottom, top));
        let mut svg = Svg::new(WIDTH, bottom + 54.0);
        draw_legend(&mut svg, &legend);
        self.axes(&mut svg, &x, &y, (top, bottom));
        for (index, series) in self.series.iter().enumerate() {
            self.intervals(&mut svg, index, series, &x, &y);
        }
        for (index, series) in self.series.iter().enumerate() {
            let places: Vec<(f64, f64)> = series
                .points
                .iter()
                .map(|point| (x.place(point.x), y.place(point.y)))
                .collect();
            svg.polyline(&format!("line s{index} d{}", index % 4), &places);
            // Dots on long curves would only hide them.
            if series.points.len() <= 24 {
                for (place, point) in places.iter().zip(&series.points) {
                    svg.marker(index, *place, &point.about);
                }
            }
        }
        svg.finish(&self.about)
    }

    fn scales(&self, across: (f64, f64), up: (f64, f64)) -> (Scale, Scale) {
        let points = || self.series.iter().flat_map(|series| &series.points);
        let xs: Vec<f64> = points().map(|point| point.x).collect();
        let ys: Vec<f64> = points()
            .flat_map(|point| {
                let (low, high) = point.interval.unwrap_or((point.y, point.y));
                [point.y, low, high]
            })
            .collect();
        let x = if self.x_settings {
            Scale::settings(self.x_scale, &xs, (across.0 + 16.0, across.1 - 16.0))
        } else {
            Scale::magnitude(self.x_scale, &xs, across)
        };
        (x, Scale::magnitude(self.y_scale, &ys, up))
    }

    fn axes(&self, svg: &mut Svg, x: &Scale, y: &Scale, (top, bottom): (f64, f64)) {
        let (left, right) = (64.0, WIDTH - 22.0);
        for (place, text) in y.ticks() {
            svg.line("grid", (left, place), (right, place));
            svg.text("tick", (left - 9.0, place + 4.5), Anchor::End, &text);
        }
        let mut taken = f64::NEG_INFINITY;
        for (place, text) in x.ticks() {
            svg.line("axis", (place, bottom), (place, bottom + 5.0));
            let half = text_width(&text, 13.0) / 2.0;
            if place - half > taken {
                svg.text("tick", (place, bottom + 21.0), Anchor::Middle, &text);
                taken = place + half + 6.0;
            }
        }
        svg.line("axis", (left, bottom), (right, bottom));
        let zero = if y.leaves_out_zero() {
            ", axis does not begin at 0"
        } else {
            self.y_scale.note()
        };
        let label = format!("{}{zero}", self.y_label);
        svg.text("label", (8.0, top - 16.0), Anchor::Start, &label);
        let label = format!("{}{}", self.x_label, self.x_scale.note());
        svg.text("label", (right, bottom + 44.0), Anchor::End, &label);
    }

    fn intervals(&self, svg: &mut Svg, index: usize, series: &Series, x: &Scale, y: &Scale) {
        let ends = series
            .points
            .iter()
            .filter_map(|point| Some((x.place(point.x), point.interval?)));
        if self.bands {
            let (mut upper, mut lower) = (Vec::new(), Vec::new());
            for (place, (low, high)) in ends {
                upper.push((place, y.place(high)));
                lower.push((place, y.place(low)));
            }
            upper.extend(lower.into_iter().rev());
            if !upper.is_empty() {
                svg.polygon(&format!("band f{index}"), &upper, "");
            }
            return;
        }
        let class = format!("whisker s{index}");
        for (place, (low, high)) in ends {
            let (low, high) = (y.place(low), y.place(high));
            svg.line(&class, (place, low), (place, high));
            svg.line(&class, (place - 6.0, low), (place + 6.0, low));
            svg.line(&class, (place - 6.0, high), (place + 6.0, high));
        }
    }

    /// Names in rows that fit the width.
    fn legend(&self) -> Vec<Vec<(usize, f64, String)>> {
        let mut rows: Vec<Vec<(usize, f64, String)>> = vec![Vec::new()];
        let mut left = 8.0;
        for (index, series) in self.series.iter().enumerate() {
            let width = 46.0 + text_width(&series.name, 14.0);
            if left + width > WIDTH - 8.0 && left > 8.0 {
                rows.push(Vec::new());
                left = 8.0;
            }
            if let Some(row) = rows.last_mut() {
                row.push((index, left, series.name.clone()));
            }
            left += width + 14.0;
        }
        rows
    }
}

fn draw_legend(svg: &mut Svg, rows: &[Vec<(usize, f64, String)>]) {
    for (line, row) in rows.iter().enumerate() {
        let middle = 14.0 + line as f64 * LEGEND_LINE;
        for (index, left, name) in row {
            let class = format!("line s{index} d{}", index % 4);
            svg.line(&class, (*left, middle), (left + 30.0, middle));
            svg.marker(*index, (left + 15.0, middle), "");
            svg.text("name", (left + 38.0, middle + 5.0), Anchor::Start, name);
        }
    }
}
