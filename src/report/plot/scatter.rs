//! Points over two numeric axes, with labels where there is space, or joined to lines.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::units::human;

use super::MAX_SERIES;
use super::frame::{Axis, Frame, LegendSymbol, line_class};
use super::line::{band, draw_run_dots, line, whiskers, y_extent};
use super::scale::ScaleKind;
use super::series::{Point, Series};
use super::svg::{Anchor, Svg, text_width};

/// Number of points above which overlapping points are merged.
const MOST: usize = 400;
/// Grid size in pixels for merging overlapping points.
const GRID: f64 = 9.0;
/// Most labels in a plot; with more, names are only in the legend and in tooltips.
const LABELS: usize = 24;
/// Horizontal offset in pixels between series with points at the same setting.
const ASIDE: f64 = 7.0;

/// Points over two numeric axes.
#[derive(Debug, Clone, Default)]
pub(crate) struct PointPlot {
    /// Short text for screen readers.
    pub(crate) about: String,
    /// Name and unit below the axis.
    pub(crate) x_label: String,
    /// Scale of the x axis.
    pub(crate) x_scale: ScaleKind,
    /// Name and unit above the axis.
    pub(crate) y_label: String,
    /// Scale of the y axis.
    pub(crate) y_scale: ScaleKind,
    /// The points, by series; at most [`super::MAX_SERIES`]. A label is drawn if it hides nothing.
    pub(crate) series: Vec<Series>,
    /// A line for each series, by index (the best value so far, a front); series beyond the end of the list have none.
    pub(crate) lines: Vec<Vec<(f64, f64)>>,
    /// Small dots for each series, by index, drawn below its points; series beyond the end of the list have none.
    pub(crate) dots: Vec<Vec<(f64, f64)>>,
    /// Whether the ticks of the x axis are at the values themselves (settings), if they are few, or at round numbers.
    pub(crate) x_settings: bool,
    /// Whether the points of each series are joined to a line, with runs, intervals or bands.
    pub(crate) is_joined: bool,
    /// Vertical lines, each at a value of the x axis with a label, in plots of lines (the knee of a curve).
    pub(crate) guides: Vec<(f64, String)>,
}

/// A box on the drawing in pixels: left, top, right, bottom.
type Area = (f64, f64, f64, f64);

impl PointPlot {
    /// Draws the plot as SVG; equal plots give equal bytes.
    pub(crate) fn draw(&self) -> String {
        let names = self.series.iter().enumerate();
        let mut entries: Vec<(LegendSymbol, &str)> = names
            .map(|(index, series)| (self.sign(index), &*series.name))
            .collect();
        if entries.len() == 1 && !self.is_joined {
            entries.clear();
        }
        let (mut svg, frame) = Frame::begin(&entries, &self.x_axis(), &self.y_axis());
        self.lines_and_dots(&mut svg, &frame);
        if self.is_joined {
            self.joined(&mut svg, &frame);
        } else if self.count() > MOST {
            self.merged(&mut svg, &frame);
        } else {
            self.points(&mut svg, &frame);
        }
        let described: Vec<String> = self.series.iter().map(Series::described).collect();
        svg.finish(&self.about, &described.join(" "))
    }

    fn sign(&self, index: usize) -> LegendSymbol {
        let has_line = self.lines.get(index).is_some_and(|line| !line.is_empty());
        if has_line || self.is_joined {
            LegendSymbol::Line(index)
        } else {
            LegendSymbol::Mark(index)
        }
    }

    fn count(&self) -> usize {
        self.series.iter().map(|series| series.points.len()).sum()
    }

    /// Draws the dots and, above them, the lines; points are drawn later.
    fn lines_and_dots(&self, svg: &mut Svg, frame: &Frame) {
        for (index, dots) in self.dots.iter().enumerate() {
            let mut places = BTreeSet::new();
            for &(x, y) in dots {
                let place = frame.place(x, y);
                // Of several dots at the same pixel only one is drawn.
                if places.insert((place.0.round() as i64, place.1.round() as i64)) {
                    let class = format!("run f{}", index % MAX_SERIES);
                    svg.dot(&class, place, &format!("{}, {}", human(x, 4), human(y, 4)));
                }
            }
        }
        for (index, line) in self.lines.iter().enumerate() {
            let line: Vec<(f64, f64)> = line.iter().map(|&(x, y)| frame.place(x, y)).collect();
            if !line.is_empty() {
                svg.polyline(&line_class(index), &line);
            }
        }
    }

    /// Coordinates of all points of lines and dots.
    fn others(&self) -> impl Iterator<Item = (f64, f64)> {
        self.lines.iter().chain(&self.dots).flatten().copied()
    }

    fn x_axis(&self) -> Axis<'_> {
        let points = self.series.iter().flat_map(|series| &series.points);
        let values = points.map(|point| point.x);
        Axis {
            label: &self.x_label,
            kind: self.x_scale,
            is_settings: self.x_settings,
            values: values.chain(self.others().map(|(x, _)| x)).collect(),
        }
    }

    fn y_axis(&self) -> Axis<'_> {
        let points = self.series.iter().flat_map(|series| &series.points);
        Axis {
            label: &self.y_label,
            kind: self.y_scale,
            is_settings: false,
            values: points
                .flat_map(y_extent)
                .chain(self.others().map(|(_, y)| y))
                .collect(),
        }
    }

    fn points(&self, svg: &mut Svg, frame: &Frame) {
        let mut taken: Vec<Area> = Vec::new();
        for (index, series) in self.series.iter().enumerate() {
            whiskers(svg, frame, index, series, 0.0);
            for point in &series.points {
                let (x, y) = frame.place(point.x, point.y);
                draw_run_dots(svg, frame, index, point, x);
                svg.linked_marker(index, (x, y), &point.about, &point.link);
                taken.push((x - 6.0, y - 6.0, x + 6.0, y + 6.0));
            }
        }
        let all = || self.series.iter().flat_map(|series| &series.points);
        if all().filter(|point| !point.label.is_empty()).count() <= LABELS {
            for point in all().filter(|point| !point.label.is_empty()) {
                label(svg, frame, point, &mut taken);
            }
        }
    }

    /// Draws series as lines from left to right: bands and whiskers below, lines with their points and guides above.
    fn joined(&self, svg: &mut Svg, frame: &Frame) {
        for (index, series) in self.series.iter().enumerate() {
            let aside = self.aside(index, frame);
            if series.is_band {
                band(svg, frame, index, series);
            } else {
                whiskers(svg, frame, index, series, aside);
            }
        }
        for (index, series) in self.series.iter().enumerate() {
            let aside = self.aside(index, frame);
            line(svg, frame, index, series, aside);
        }
        frame.guides(svg, &self.guides);
    }

    /// Horizontal offset of a series in pixels, so that whiskers of different series do not overlap.
    fn aside(&self, index: usize, frame: &Frame) -> f64 {
        let spread = |point: &Point| point.interval.is_some() || !point.runs.is_empty();
        let has_spread = |series: &Series| !series.is_band && series.points.iter().any(spread);
        let several = self.series.iter().filter(|series| has_spread(series));
        if !self.x_settings || several.count() < 2 {
            return 0.0;
        }
        let count = self.series.len().min(MAX_SERIES) as f64;
        let mut places: Vec<f64> = frame.x.ticks().map(|(place, _)| place).collect();
        places.sort_by(f64::total_cmp);
        let gaps = places.windows(2).map(|pair| pair[1] - pair[0]);
        let step = (gaps.fold(f64::INFINITY, f64::min) / (count + 2.0)).min(ASIDE);
        (index as f64 - (count - 1.0) / 2.0) * step
    }

    /// Draws one marker per grid cell and series.
    fn merged(&self, svg: &mut Svg, frame: &Frame) {
        for (index, series) in self.series.iter().enumerate() {
            let mut places: BTreeMap<(i64, i64), ((f64, f64), usize)> = BTreeMap::new();
            for point in &series.points {
                let (x, y) = frame.place(point.x, point.y);
                let place = ((x / GRID).round() as i64, (y / GRID).round() as i64);
                places.entry(place).or_insert(((x, y), 0)).1 += 1;
            }
            for (at, count) in places.values() {
                let about = format!("{}: {count} points here", series.name);
                svg.marker(index % MAX_SERIES, *at, &about);
            }
        }
    }
}

/// Writes a label right, left, above or below its point: the first position that hides nothing; none if all would.
fn label(svg: &mut Svg, frame: &Frame, point: &Point, taken: &mut Vec<Area>) {
    let (x, y) = frame.place(point.x, point.y);
    let wide = text_width(&point.label, 13.0);
    let sides = [
        (Anchor::Start, (x + 9.0, y + 4.5), x + 9.0),
        (Anchor::End, (x - 9.0, y + 4.5), x - 9.0 - wide),
        (Anchor::Middle, (x, y - 11.0), x - wide / 2.0),
        (Anchor::Middle, (x, y + 20.0), x - wide / 2.0),
    ];
    for (anchor, at, left) in sides {
        let own = (left, at.1 - 11.0, left + wide, at.1 + 3.0);
        let is_free = taken.iter().all(|other| !overlap(&own, other));
        if is_free && frame.contains_box(own) {
            svg.text("note", at, anchor, &point.label);
            taken.push(own);
            return;
        }
    }
}

fn overlap(a: &Area, b: &Area) -> bool {
    a.0 < b.2 && b.0 < a.2 && a.1 < b.3 && b.1 < a.3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot(count: usize) -> PointPlot {
        let point = |i: usize| Point {
            x: 1.0 + (i % 100) as f64,
            y: 1.0 + (i / 100) as f64,
            label: format!("p{i}"),
            ..Point::default()
        };
        PointPlot {
            about: "Points".into(),
            series: vec![Series {
                name: "all".into(),
                points: (0..count).map(point).collect(),
                is_band: false,
            }],
            ..PointPlot::default()
        }
    }

    #[test]
    fn labels_never_lie_on_points_or_each_other() {
        let notes = |crowd: usize| {
            let mut plot = plot(crowd);
            for point in &mut plot.series[0].points {
                (point.x, point.y) = (5.0, 5.0);
            }
            let corners = [0.0, 10.0].map(|at| Point {
                x: at,
                y: at,
                ..Point::default()
            });
            plot.series[0].points.extend(corners);
            plot.draw().matches("class=\"note\"").count()
        };
        // At most four labels at one place (right, left, above, below), each at a position of its own.
        assert_eq!([1, 3, 4, 9].map(notes), [1, 3, 4, 4]);
    }

    #[test]
    fn many_points_are_merged() {
        let svg = plot(10_000).draw();
        assert!(svg.len() < 300_000, "{} bytes", svg.len());
        assert!(svg.contains("points here"));
    }
}
