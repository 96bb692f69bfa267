//! Horizontal bars: one per cell, in one piece or stacked, with a value at the end.

use super::scale::{Scale, ScaleKind};
use super::svg::{Anchor, Svg, text_width};

const WIDTH: f64 = 560.0;
const BAR: f64 = 22.0;
const PITCH: f64 = 30.0;
const LEGEND_LINE: f64 = 22.0;

/// Horizontal bars.
#[derive(Debug, Clone)]
pub(crate) struct BarPlot {
    /// What a screen reader says.
    pub(crate) about: String,
    /// Name and unit below the axis.
    pub(crate) x_label: String,
    /// Names of the parts, for the legend; one name means bars in one piece, without a legend.
    pub(crate) parts: Vec<String>,
    /// The bars, from top to bottom.
    pub(crate) bars: Vec<Bar>,
}

/// One bar.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    /// Left of it.
    pub(crate) label: String,
    /// Its parts, one per name.
    pub(crate) segments: Vec<Segment>,
    /// Interval of the whole, where there is one.
    pub(crate) interval: Option<(f64, f64)>,
    /// Right of it.
    pub(crate) end: String,
}

/// A part of a bar.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    /// Its length on the axis.
    pub(crate) value: f64,
    /// Inside it, where it fits.
    pub(crate) text: String,
}

impl BarPlot {
    /// Draws it; the same value gives the same bytes.
    pub(crate) fn draw(&self) -> String {
        let widest = |texts: &mut dyn Iterator<Item = &String>| {
            texts.map(|text| text_width(text, 13.0)).fold(0.0, f64::max)
        };
        let left = 16.0 + widest(&mut self.bars.iter().map(|bar| &bar.label)).clamp(20.0, 250.0);
        let right = WIDTH - 18.0 - widest(&mut self.bars.iter().map(|bar| &bar.end));
        let legend = self.legend();
        let top = 10.0 + legend.len() as f64 * LEGEND_LINE;
        let bottom = top + self.bars.len() as f64 * PITCH;
        let ends: Vec<f64> = self.bars.iter().map(Bar::reach).chain([0.0]).collect();
        let scale = Scale::magnitude(ScaleKind::Linear, &ends, (left, right));
        let mut svg = Svg::new(WIDTH, bottom + 52.0);
        draw_legend(&mut svg, &legend);
        for (place, text) in scale.ticks() {
            svg.line("grid", (place, top), (place, bottom));
            svg.text("tick", (place, bottom + 18.0), Anchor::Middle, &text);
        }
        svg.text("label", (right, bottom + 42.0), Anchor::End, &self.x_label);
        for (row, bar) in self.bars.iter().enumerate() {
            let above = top + row as f64 * PITCH + (PITCH - BAR) / 2.0;
            self.bar(&mut svg, bar, &scale, above);
        }
        svg.finish(&self.about)
    }

    fn bar(&self, svg: &mut Svg, bar: &Bar, scale: &Scale, above: f64) {
        let base = above + BAR / 2.0 + 4.5;
        let zero = scale.place(0.0);
        svg.text(
            "tick",
            (zero - 9.0, base),
            Anchor::End,
            &shortened(&bar.label),
        );
        let mut sum = 0.0;
        for (index, segment) in bar.segments.iter().enumerate() {
            let (from, to) = (scale.place(sum), scale.place(sum + segment.value));
            sum += segment.value;
            let name = self.parts.get(index).map_or("", String::as_str);
            let about = format!("{}: {name} {}", bar.label, segment.text);
            let class = format!("segment f{index}");
            svg.rectangle(&class, (from, above), (to - from, BAR), &about);
            if text_width(&segment.text, 12.0) + 8.0 < to - from && self.parts.len() > 1 {
                let at = (f64::midpoint(from, to), base - 0.5);
                svg.text("inside", at, Anchor::Middle, &segment.text);
            }
        }
        let mut end = scale.place(sum);
        if let Some((low, high)) = bar.interval {
            let (low, high, middle) = (scale.place(low), scale.place(high), above + BAR / 2.0);
            svg.line("axis", (low, middle), (high, middle));
            svg.line("axis", (low, middle - 5.0), (low, middle + 5.0));
            svg.line("axis", (high, middle - 5.0), (high, middle + 5.0));
            end = end.max(high);
        }
        svg.text("tick", (end + 8.0, base), Anchor::Start, &bar.end);
    }

    fn legend(&self) -> Vec<Vec<(usize, f64, String)>> {
        if self.parts.len() < 2 {
            return Vec::new();
        }
        let mut rows: Vec<Vec<(usize, f64, String)>> = vec![Vec::new()];
        let mut left = 8.0;
        for (index, name) in self.parts.iter().enumerate() {
            let width = 22.0 + text_width(name, 14.0);
            if left + width > WIDTH - 8.0 && left > 8.0 {
                rows.push(Vec::new());
                left = 8.0;
            }
            if let Some(row) = rows.last_mut() {
                row.push((index, left, name.clone()));
            }
            left += width + 14.0;
        }
        rows
    }
}

impl Bar {
    fn reach(&self) -> f64 {
        let sum: f64 = self.segments.iter().map(|segment| segment.value).sum();
        self.interval.map_or(sum, |(_, high)| high.max(sum))
    }
}

/// Labels longer than their place keep their end, where the innermost axes stand.
fn shortened(label: &str) -> String {
    let count = label.chars().count();
    let most = (250.0 / text_width("0", 13.0)) as usize;
    if count <= most {
        return label.to_owned();
    }
    let tail: String = label.chars().skip(count - most + 1).collect();
    format!("…{tail}")
}

fn draw_legend(svg: &mut Svg, rows: &[Vec<(usize, f64, String)>]) {
    for (line, row) in rows.iter().enumerate() {
        let above = 2.0 + line as f64 * LEGEND_LINE;
        for (index, left, name) in row {
            svg.rectangle(
                &format!("segment f{index}"),
                (*left, above),
                (14.0, 14.0),
                "",
            );
            svg.text("name", (left + 20.0, above + 12.0), Anchor::Start, name);
        }
    }
}
