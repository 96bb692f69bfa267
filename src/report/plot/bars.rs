//! Horizontal bars: one per cell, in one piece or stacked, with a value at the end.

use crate::base::units::{human, round_significant};
use crate::report::language::{Words, messages};

use super::SERIES;
use super::frame::{Sign, WIDTH, draw_legend, legend, legend_height, shortened};
use super::scale::{Scale, ScaleKind};
use super::svg::{Anchor, Svg, text_width};

const BAR: f64 = 22.0;
const PITCH: f64 = 30.0;
/// Most that labels take of the width.
const LABELS: f64 = 250.0;
/// Bars that are read out one by one.
const READ_OUT: usize = 12;

messages! {
    axis_from_zero() = ", from 0" | ", ab 0";
    further_bars(count) = "And {count} more." | "Und {count} weitere.";
}

/// Horizontal bars.
#[derive(Debug, Clone, Default)]
pub(crate) struct BarPlot {
    /// What a screen reader says.
    pub(crate) about: String,
    /// Name and unit below the axis.
    pub(crate) x_label: String,
    /// How numbers are written.
    pub(crate) words: Words,
    /// Names of the parts, for the legend; one name means bars in one piece, without a legend.
    pub(crate) parts: Vec<String>,
    /// The bars, from top to bottom.
    pub(crate) bars: Vec<Bar>,
}

/// One bar.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bar {
    /// Left of it.
    pub(crate) label: String,
    /// Its parts, one per name.
    pub(crate) segments: Vec<Segment>,
    /// Interval of the whole, where there is one.
    pub(crate) interval: Option<(f64, f64)>,
    /// The values of its runs, drawn as small dots; empty where they are not known.
    pub(crate) runs: Vec<f64>,
    /// Right of it.
    pub(crate) end: String,
}

/// A part of a bar.
#[derive(Debug, Clone, Default)]
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
        let left = 16.0 + widest(&mut self.bars.iter().map(|bar| &bar.label)).clamp(20.0, LABELS);
        let right = WIDTH - 18.0 - widest(&mut self.bars.iter().map(|bar| &bar.end));
        let legend = self.legend();
        let top = 16.0 + legend_height(legend.len());
        let bottom = top + self.bars.len() as f64 * PITCH;
        let ends = self.bars.iter().map(Bar::reach).chain([0.0]);
        // Shares that sum to 100 and a rounding error are no reason for an axis to 120.
        let ends: Vec<f64> = ends.map(|end| round_significant(end, 9)).collect();
        let scale = Scale::magnitude(ScaleKind::Linear, &ends, (left, right));
        let mut svg = Svg::new(WIDTH, bottom + 52.0);
        draw_legend(&mut svg, &legend);
        let mut taken = f64::NEG_INFINITY;
        for (place, text) in scale.ticks() {
            svg.line("grid", (place, top), (place, bottom));
            let text = self.words.localised(&text);
            let half = text_width(&text, 13.0) / 2.0;
            if place - half > taken {
                svg.text("tick", (place, bottom + 18.0), Anchor::Middle, &text);
                taken = place + half + 6.0;
            }
        }
        let label = format!("{}{}", self.x_label, self.words.axis_from_zero());
        svg.text("label", (WIDTH - 18.0, bottom + 42.0), Anchor::End, &label);
        for (row, bar) in self.bars.iter().enumerate() {
            let above = top + row as f64 * PITCH + (PITCH - BAR) / 2.0;
            self.bar(&mut svg, bar, &scale, above);
        }
        svg.finish(&self.about, &self.described())
    }

    fn bar(&self, svg: &mut Svg, bar: &Bar, scale: &Scale, above: f64) {
        let base = above + BAR / 2.0 + 4.5;
        let zero = scale.place(0.0);
        svg.text(
            "tick",
            (zero - 9.0, base),
            Anchor::End,
            &shortened(&bar.label, LABELS, 13.0),
        );
        let is_told = bar.segments.iter().any(|segment| !segment.text.is_empty());
        let light = if self.parts.len() > 1 && is_told {
            ""
        } else {
            " light"
        };
        let mut sum = 0.0;
        for (index, segment) in bar.segments.iter().enumerate() {
            let (from, to) = (scale.place(sum), scale.place(sum + segment.value));
            sum += segment.value;
            let name = self.parts.get(index).map_or("", String::as_str);
            let about = format!("{}: {name} {}", bar.label, segment.text);
            if segment.value == 0.0 && !is_told {
                continue;
            }
            let class = format!("segment f{}{light}", index % SERIES);
            svg.rectangle(&class, (from, above), (to - from, BAR), &about);
            let does_fit = text_width(&segment.text, 12.0) + 8.0 < to - from;
            if does_fit && self.parts.len() > 1 && is_told {
                let at = (f64::midpoint(from, to), base - 0.5);
                svg.text("inside", at, Anchor::Middle, &segment.text);
            }
        }
        let mut end = scale.place(sum);
        if let Some((low, high)) = bar.interval {
            let (low, high, middle) = (scale.place(low), scale.place(high), above + BAR / 2.0);
            svg.line("across", (low, middle), (high, middle));
            svg.line("across", (low, middle - 5.0), (low, middle + 5.0));
            svg.line("across", (high, middle - 5.0), (high, middle + 5.0));
            end = end.max(high);
        }
        if bar.runs.len() > 1 {
            for run in &bar.runs {
                let place = scale.place(*run);
                let about = format!("{}: {}", bar.label, human(*run, 4));
                svg.dot("run ink", (place, above + BAR / 2.0), &about);
                end = end.max(place);
            }
        }
        svg.text("tick", (end + 8.0, base), Anchor::Start, &bar.end);
    }

    fn legend(&self) -> Vec<Vec<(Sign, f64, String)>> {
        if self.parts.len() < 2 {
            return Vec::new();
        }
        let parts = self.parts.iter().enumerate();
        let entries: Vec<(Sign, &str)> = parts
            .map(|(index, name)| (Sign::Square(index), name.as_str()))
            .collect();
        legend(&entries)
    }

    fn described(&self) -> String {
        let shown = self.bars.iter().take(READ_OUT);
        let mut texts: Vec<String> = shown
            .map(|bar| format!("{}: {}.", bar.label, bar.end))
            .collect();
        if self.bars.len() > READ_OUT {
            texts.push(self.words.further_bars(self.bars.len() - READ_OUT));
        }
        texts.join(" ")
    }
}

impl Bar {
    fn reach(&self) -> f64 {
        let sum: f64 = self.segments.iter().map(|segment| segment.value).sum();
        let end = self.interval.map_or(sum, |(_, high)| high.max(sum));
        self.runs.iter().copied().fold(end, f64::max)
    }
}
