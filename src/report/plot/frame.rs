//! The frame of a plot with two axes: legend, axes with units and scale notes, vertical guide lines.

use crate::report::language::Words;

use super::MAX_SERIES;
use super::scale::{Scale, ScaleKind};
use super::svg::{Anchor, Svg, text_width};

pub(super) const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 280.0;
const LEGEND_LINE: f64 = 22.0;
const RIGHT: f64 = WIDTH - 22.0;

/// Description of an axis, before its position is determined.
pub(super) struct Axis<'a> {
    /// Name and unit.
    pub(super) label: &'a str,
    pub(super) kind: ScaleKind,
    /// Whether ticks are at the values themselves (for settings) instead of round numbers.
    pub(super) is_settings: bool,
    pub(super) values: Vec<f64>,
}

/// The frame of a plot, with the scales of its two axes.
pub(super) struct Frame {
    pub(super) x: Scale,
    pub(super) y: Scale,
    left: f64,
    top: f64,
    bottom: f64,
}

/// How a legend draws a series.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LegendSymbol {
    /// A line with its marker; contains the index of the series.
    Line(usize),
    /// A marker without a line; contains the index of the series.
    Mark(usize),
    /// A filled square; contains the index of the series.
    Square(usize),
}

impl Frame {
    /// Starts a plot: draws legend and axes.
    pub(super) fn begin(
        entries: &[(LegendSymbol, &str)],
        x: &Axis<'_>,
        y: &Axis<'_>,
    ) -> (Svg, Self) {
        let legend = legend(entries);
        let top = 42.0 + legend.len() as f64 * LEGEND_LINE;
        let bottom = top + HEIGHT;
        let up = Scale::magnitude(y.kind, &y.values, (bottom, top));
        let ticks = up.ticks().map(|(_, text)| text_width(&text, 13.0));
        let left = (ticks.fold(0.0, f64::max) + 18.0).max(48.0);
        let across = if x.is_settings {
            Scale::settings(x.kind, &x.values, (left + 18.0, RIGHT - 18.0))
        } else {
            Scale::magnitude(x.kind, &x.values, (left, RIGHT))
        };
        let mut svg = Svg::new(WIDTH, bottom + 54.0);
        draw_legend(&mut svg, &legend);
        let frame = Self {
            x: across,
            y: up,
            left,
            top,
            bottom,
        };
        frame.axes(&mut svg, x, y);
        (svg, frame)
    }

    /// Position of the point `(x, y)` in pixels.
    pub(super) fn place(&self, x: f64, y: f64) -> (f64, f64) {
        (self.x.place(x), self.y.place(y))
    }

    /// Whether a box lies inside the axes.
    pub(super) fn contains_box(&self, (left, top, right, bottom): (f64, f64, f64, f64)) -> bool {
        left >= self.left && right <= RIGHT && top >= self.top - 8.0 && bottom <= self.bottom
    }

    /// Draws vertical guide lines with labels at values of the x axis; values outside the axis are left out.
    pub(super) fn guides(&self, svg: &mut Svg, guides: &[(f64, String)]) {
        let places = guides
            .iter()
            .map(|(value, text)| (self.x.place(*value), text));
        let inside = places.filter(|(place, _)| (self.left..=RIGHT).contains(place));
        for ((place, text), row) in inside.zip(0_u32..) {
            svg.line("guide", (place, self.top), (place, self.bottom));
            let at = self.top + 13.0 + 17.0 * f64::from(row);
            if place + text_width(text, 13.0) + 8.0 > RIGHT {
                svg.text("note", (place - 6.0, at), Anchor::End, text);
            } else {
                svg.text("note", (place + 6.0, at), Anchor::Start, text);
            }
        }
    }

    fn axes(&self, svg: &mut Svg, x: &Axis<'_>, y: &Axis<'_>) {
        for (place, text) in self.y.ticks() {
            svg.line("grid", (self.left, place), (RIGHT, place));
            svg.text("tick", (self.left - 9.0, place + 4.5), Anchor::End, &text);
        }
        let mut taken = f64::NEG_INFINITY;
        for (place, text) in self.x.ticks() {
            svg.line("axis", (place, self.bottom), (place, self.bottom + 5.0));
            let half = text_width(&text, 13.0) / 2.0;
            if place - half > taken {
                // The label must not extend beyond the plot.
                let middle = place.min(WIDTH - 2.0 - half);
                svg.text("tick", (middle, self.bottom + 21.0), Anchor::Middle, &text);
                taken = place + half + 6.0;
            }
        }
        svg.line("axis", (self.left, self.bottom), (RIGHT, self.bottom));
        let label = format!("{}{}", y.label, self.y.note());
        svg.text("label", (8.0, self.top - 16.0), Anchor::Start, &label);
        // Settings and positions need no note about zero: the label only mentions a logarithmic scale.
        let label = format!("{}{}", x.label, self.x.kind_note());
        svg.text("label", (RIGHT, self.bottom + 44.0), Anchor::End, &label);
    }
}

/// An entry of a legend with its text and x position in pixels.
type Placed = (LegendSymbol, f64, String);

/// Arranges legend entries in rows that fit the width.
pub(super) fn legend(entries: &[(LegendSymbol, &str)]) -> Vec<Vec<Placed>> {
    let mut rows: Vec<Vec<Placed>> = Vec::new();
    let mut left = 8.0;
    for (sign, name) in entries.iter().filter(|(_, name)| !name.is_empty()) {
        let indent = sign.width();
        let name = shortened(name, WIDTH - 16.0 - indent, 14.0);
        let width = indent + text_width(&name, 14.0);
        if rows.is_empty() || (left + width > WIDTH - 8.0 && left > 8.0) {
            rows.push(Vec::new());
            left = 8.0;
        }
        if let Some(row) = rows.last_mut() {
            row.push((*sign, left, name));
        }
        left += width + 16.0;
    }
    rows
}

/// Height in pixels of a legend with this number of rows.
pub(super) fn legend_height(rows: usize) -> f64 {
    rows as f64 * LEGEND_LINE
}

pub(super) fn draw_legend(svg: &mut Svg, rows: &[Vec<Placed>]) {
    for (line, row) in rows.iter().enumerate() {
        let middle = 14.0 + line as f64 * LEGEND_LINE;
        for (sign, left, name) in row {
            sign.draw(svg, *left, middle);
            let at = (left + sign.width(), middle + 5.0);
            svg.text("name", at, Anchor::Start, name);
        }
    }
}

impl LegendSymbol {
    fn width(self) -> f64 {
        match self {
            Self::Line(_) => 38.0,
            Self::Mark(_) => 18.0,
            Self::Square(_) => 20.0,
        }
    }

    fn draw(self, svg: &mut Svg, left: f64, middle: f64) {
        match self {
            Self::Line(index) => {
                let class = line_class(index);
                svg.line(&class, (left, middle), (left + 30.0, middle));
                svg.marker(index, (left + 15.0, middle), "");
            }
            Self::Mark(index) => svg.marker(index, (left + 7.0, middle), ""),
            Self::Square(index) => {
                let class = format!("segment f{}", index % MAX_SERIES);
                svg.rectangle(&class, (left, middle - 7.0), (14.0, 14.0), "");
            }
        }
    }
}

/// Draws the ticks of an axis below rows, with lines through them, and its label. Overlapping texts are left out.
pub(super) fn ticks_below(
    svg: &mut Svg,
    scale: &Scale,
    (top, bottom): (f64, f64),
    words: Words,
    label: &str,
) {
    let mut taken = f64::NEG_INFINITY;
    for (place, text) in scale.ticks() {
        svg.line("grid", (place, top), (place, bottom));
        let text = words.localised(&text);
        let half = text_width(&text, 13.0) / 2.0;
        if place - half > taken {
            svg.text("tick", (place, bottom + 18.0), Anchor::Middle, &text);
            taken = place + half + 6.0;
        }
    }
    svg.text("label", (WIDTH - 18.0, bottom + 42.0), Anchor::End, label);
}

/// Width of the widest text in pixels.
pub(super) fn widest<'t>(texts: impl Iterator<Item = &'t String>) -> f64 {
    texts.map(|text| text_width(text, 13.0)).fold(0.0, f64::max)
}

/// CSS classes for colour and dash pattern of a line.
pub(super) fn line_class(index: usize) -> String {
    format!("line s{} d{}", index % MAX_SERIES, index % 4)
}

/// A text that fits `width` pixels; longer texts lose their beginning, since their end names the innermost axes.
pub(super) fn shortened(text: &str, width: f64, size: f64) -> String {
    let count = text.chars().count();
    let most = (width / text_width("0", size)) as usize;
    if count <= most {
        return text.to_owned();
    }
    let tail: String = text.chars().skip(count + 1 - most.max(1)).collect();
    format!("…{tail}")
}
