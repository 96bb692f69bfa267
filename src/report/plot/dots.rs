//! A dot for each cell on one axis, with its interval and its runs: what does not add up is no bar.

use crate::base::units::human;

use super::frame::{WIDTH, shortened};
use super::scale::{Scale, ScaleKind};
use super::svg::{Anchor, Svg, text_width};

const PITCH: f64 = 26.0;
/// Most that labels take of the width.
const LABELS: f64 = 300.0;
/// From this factor between values on, an axis is logarithmic.
const TENFOLD: f64 = 10.0;
/// Rows that are read out one by one.
const READ_OUT: usize = 12;

/// Dots with their intervals, a row each.
#[derive(Debug, Clone, Default)]
pub(crate) struct DotPlot {
    /// What a screen reader says.
    pub(crate) about: String,
    /// Name and unit below the axis.
    pub(crate) x_label: String,
    /// Whether values have an upper bound, as shares have: their axis is never logarithmic.
    pub(crate) is_bounded: bool,
    /// The rows, from top to bottom.
    pub(crate) rows: Vec<DotRow>,
}

/// A dot.
#[derive(Debug, Clone, Default)]
pub(crate) struct DotRow {
    /// Left of it.
    pub(crate) label: String,
    /// Its value.
    pub(crate) value: f64,
    /// Ends of its interval; `None` where there is none.
    pub(crate) interval: Option<(f64, f64)>,
    /// The values of its runs, drawn as small dots.
    pub(crate) runs: Vec<f64>,
    /// Right of it.
    pub(crate) end: String,
    /// Id of the table row that it leads to; empty for none.
    pub(crate) link: String,
}

impl DotPlot {
    /// Draws it; the same value gives the same bytes.
    pub(crate) fn draw(&self) -> String {
        let widest = |texts: &mut dyn Iterator<Item = &String>| {
            texts.map(|text| text_width(text, 13.0)).fold(0.0, f64::max)
        };
        let left = 26.0 + widest(&mut self.rows.iter().map(|row| &row.label)).clamp(20.0, LABELS);
        let right = WIDTH - 24.0 - widest(&mut self.rows.iter().map(|row| &row.end));
        let bottom = 14.0 + self.rows.len() as f64 * PITCH;
        let scale = self.scale((left, right));
        let mut svg = Svg::new(WIDTH, bottom + 52.0);
        let mut taken = f64::NEG_INFINITY;
        for (place, text) in scale.ticks() {
            svg.line("grid", (place, 14.0), (place, bottom));
            let half = text_width(&text, 13.0) / 2.0;
            if place - half > taken {
                svg.text("tick", (place, bottom + 18.0), Anchor::Middle, &text);
                taken = place + half + 6.0;
            }
        }
        let label = format!("{}{}", self.x_label, scale.note());
        svg.text("label", (WIDTH - 18.0, bottom + 42.0), Anchor::End, &label);
        for (row, at) in self.rows.iter().zip(0_u32..) {
            let middle = 14.0 + (f64::from(at) + 0.5) * PITCH;
            draw_row(&mut svg, row, &scale, (left, right), middle);
        }
        svg.finish(&self.about, &self.described())
    }

    fn scale(&self, pixels: (f64, f64)) -> Scale {
        let values: Vec<f64> = self.rows.iter().flat_map(DotRow::reach).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let is_wide = low > 0.0 && high >= TENFOLD * low && !self.is_bounded;
        let kind = if is_wide {
            ScaleKind::Log10
        } else {
            ScaleKind::Linear
        };
        Scale::magnitude(kind, &values, pixels)
    }

    fn described(&self) -> String {
        let rows = self.rows.iter().take(READ_OUT);
        let rows = rows.map(|row| format!("{}: {}.", row.label, row.end));
        rows.collect::<Vec<_>>().join(" ")
    }
}

impl DotRow {
    fn reach(&self) -> Vec<f64> {
        let (low, high) = self.interval.unwrap_or((self.value, self.value));
        let mut values = vec![self.value, low, high];
        values.extend(&self.runs);
        values
    }
}

fn draw_row(svg: &mut Svg, row: &DotRow, scale: &Scale, (left, right): (f64, f64), middle: f64) {
    let label = shortened(&row.label, LABELS, 13.0);
    svg.text("tick", (left - 12.0, middle + 4.5), Anchor::End, &label);
    if let Some((low, high)) = row.interval {
        let (low, high) = (scale.place(low), scale.place(high));
        svg.line("whisker s0", (low, middle), (high, middle));
        svg.line("whisker s0", (low, middle - 4.0), (low, middle + 4.0));
        svg.line("whisker s0", (high, middle - 4.0), (high, middle + 4.0));
    }
    if row.runs.len() > 1 {
        for run in &row.runs {
            let about = format!("{}: {}", row.label, human(*run, 4));
            svg.dot("run f0", (scale.place(*run), middle), &about);
        }
    }
    let about = format!("{}: {}", row.label, row.end);
    svg.linked_marker(0, (scale.place(row.value), middle), &about, &row.link);
    svg.text(
        "tick",
        (right + 12.0, middle + 4.5),
        Anchor::Start,
        &row.end,
    );
}
