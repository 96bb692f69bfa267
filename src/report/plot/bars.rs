//! Horizontal bars, stacked: one per cell, with a value at the end.

use crate::base::units::round_significant;
use crate::report::language::Words;

use super::MAX_SERIES;
use super::frame::{
    LegendSymbol, WIDTH, draw_legend, legend, legend_height, shortened, ticks_below, widest,
};
use super::scale::{Scale, ScaleKind};
use super::svg::{Anchor, Svg, text_width};

const BAR: f64 = 22.0;
const PITCH: f64 = 30.0;
/// Largest width of labels in pixels.
const LABELS: f64 = 250.0;
/// Largest number of bars that the text for screen readers lists one by one.
const READ_OUT: usize = 12;

/// Horizontal bars.
#[derive(Debug, Clone, Default)]
pub(crate) struct BarPlot {
    /// Text for screen readers.
    pub(crate) about: String,
    /// Name and unit below the axis.
    pub(crate) x_label: String,
    /// Names of the parts, for the legend.
    pub(crate) parts: Vec<String>,
    /// The bars, from top to bottom.
    pub(crate) bars: Vec<Bar>,
}

/// A horizontal bar of stacked segments.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bar {
    /// Text left of the bar.
    pub(crate) label: String,
    /// Parts of the bar, one per name.
    pub(crate) segments: Vec<Segment>,
    /// Text right of the bar.
    pub(crate) end: String,
}

/// A part of a bar.
#[derive(Debug, Clone, Default)]
pub(crate) struct Segment {
    /// Length of the segment on the axis.
    pub(crate) value: f64,
    /// Text inside the segment, if it fits.
    pub(crate) text: String,
}

impl BarPlot {
    /// Draws the plot as SVG; equal plots give equal bytes.
    pub(crate) fn draw(&self) -> String {
        let left = 16.0 + widest(self.bars.iter().map(|bar| &bar.label)).clamp(20.0, LABELS);
        let right = WIDTH - 18.0 - widest(self.bars.iter().map(|bar| &bar.end));
        let parts = self.parts.iter().enumerate();
        let parts = parts.map(|(index, name)| (LegendSymbol::Square(index), name.as_str()));
        let legend = legend(&parts.collect::<Vec<_>>());
        let top = 16.0 + legend_height(legend.len());
        let bottom = top + self.bars.len() as f64 * PITCH;
        // Rounded first, so that percentages that sum to slightly more than 100 do not extend the axis to 120.
        let ends = self.bars.iter().map(|bar| round_significant(bar.sum(), 9));
        let ends: Vec<f64> = ends.chain([0.0]).collect();
        let scale = Scale::magnitude(ScaleKind::Linear, &ends, (left, right));
        let mut svg = Svg::new(WIDTH, bottom + 52.0);
        draw_legend(&mut svg, &legend);
        let label = format!("{}{}", self.x_label, scale.note());
        let words = Words::default();
        ticks_below(&mut svg, &scale, (top, bottom), words, &label);
        for (row, bar) in self.bars.iter().enumerate() {
            let above = top + row as f64 * PITCH + (PITCH - BAR) / 2.0;
            self.bar(&mut svg, bar, &scale, above);
        }
        svg.finish(&self.about, &self.described())
    }

    fn bar(&self, svg: &mut Svg, bar: &Bar, scale: &Scale, above: f64) {
        let base = above + BAR / 2.0 + 4.5;
        let label = shortened(&bar.label, LABELS, 13.0);
        svg.text("tick", (scale.place(0.0) - 9.0, base), Anchor::End, &label);
        let mut sum = 0.0;
        for (index, (segment, name)) in bar.segments.iter().zip(&self.parts).enumerate() {
            let (from, to) = (scale.place(sum), scale.place(sum + segment.value));
            sum += segment.value;
            let about = format!("{}: {name} {}", bar.label, segment.text);
            let class = format!("segment f{}", index % MAX_SERIES);
            svg.rectangle(&class, (from, above), (to - from, BAR), &about);
            if text_width(&segment.text, 12.0) + 8.0 < to - from {
                let at = (f64::midpoint(from, to), base - 0.5);
                svg.text("inside", at, Anchor::Middle, &segment.text);
            }
        }
        let end = scale.place(sum);
        svg.text("tick", (end + 8.0, base), Anchor::Start, &bar.end);
    }

    fn described(&self) -> String {
        let shown = self.bars.iter().take(READ_OUT);
        let mut texts: Vec<String> = shown
            .map(|bar| format!("{}: {}.", bar.label, bar.end))
            .collect();
        if self.bars.len() > READ_OUT {
            texts.push(format!("And {} more.", self.bars.len() - READ_OUT));
        }
        texts.join(" ")
    }
}

impl Bar {
    fn sum(&self) -> f64 {
        self.segments.iter().map(|segment| segment.value).sum()
    }
}
