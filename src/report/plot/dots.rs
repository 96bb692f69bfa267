//! A dot for each row on one axis, with its interval and its runs, for values that do not add up to a whole.

use crate::base::units::human;
use crate::report::language::{Words, messages};

use super::MAX_SERIES;
use super::frame::{
    LegendSymbol, WIDTH, draw_legend, legend, legend_height, shortened, ticks_below, widest,
};
use super::scale::{Scale, ScaleKind};
use super::svg::{Anchor, Svg};

const PITCH: f64 = 26.0;
/// Largest width of labels in pixels.
const LABELS: f64 = 300.0;
/// Largest number of rows that the text for screen readers lists one by one.
const READ_OUT: usize = 12;

messages! {
    log_scale() = ", logarithmic" | ", logarithmisch";
}

/// A plot of dots with their intervals, one per row.
#[derive(Debug, Clone, Default)]
pub(crate) struct DotPlot {
    /// Text for screen readers.
    pub(crate) about: String,
    /// Name and unit below the axis.
    pub(crate) x_label: String,
    /// Language in which numbers are written.
    pub(crate) words: Words,
    /// Scale of the axis, if the values are not ratios.
    pub(crate) x_scale: ScaleKind,
    /// Whether values are ratios, on a logarithmic axis around 1.
    pub(crate) is_ratio: bool,
    /// Names of the kinds of rows, for the legend, each with the series whose marker and colour it has.
    pub(crate) kinds: Vec<(usize, String)>,
    /// The rows, from top to bottom.
    pub(crate) rows: Vec<DotRow>,
}

/// A row of the plot: one dot, with its interval and runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct DotRow {
    /// Text left of the row.
    pub(crate) label: String,
    /// Index of the series, which determines marker and colour.
    pub(crate) kind: usize,
    /// The row's value; a ratio is positive.
    pub(crate) value: f64,
    /// Ends of the value's interval; `None` if there is none.
    pub(crate) interval: Option<(f64, f64)>,
    /// Values of the single runs, drawn as small dots.
    pub(crate) runs: Vec<f64>,
    /// Half the width of the band around 1 of negligible ratios; 0 for no band.
    pub(crate) threshold: f64,
    /// Text right of the row.
    pub(crate) end: String,
    /// Id of the table row that the dot links to; empty for none.
    pub(crate) link: String,
}

impl DotPlot {
    /// Draws the plot as SVG; equal plots give equal bytes.
    pub(crate) fn draw(&self) -> String {
        let left = 26.0 + widest(self.rows.iter().map(|row| &row.label)).clamp(20.0, LABELS);
        let right = WIDTH - 24.0 - widest(self.rows.iter().map(|row| &row.end));
        let signs = self.kinds.iter();
        let signs = signs.map(|(series, name)| (LegendSymbol::Mark(*series), name.as_str()));
        let legend = legend(&signs.collect::<Vec<_>>());
        let top = 14.0 + legend_height(legend.len());
        let bottom = top + self.rows.len() as f64 * PITCH;
        let scale = self.scale((left, right));
        let mut svg = Svg::new(WIDTH, bottom + 52.0);
        draw_legend(&mut svg, &legend);
        let middles = (0_u32..).map(|at| top + (f64::from(at) + 0.5) * PITCH);
        let rows = || self.rows.iter().zip(middles.clone());
        for (row, middle) in rows().filter(|(row, _)| row.threshold > 0.0) {
            let [from, to] = row.band().map(|end| scale.place(end));
            let at = (from, middle - PITCH / 2.0);
            svg.rectangle("band f7", at, (to - from, PITCH), "");
        }
        let note = if self.is_ratio {
            let one = scale.place(1.0);
            svg.line("guide", (one, top), (one, bottom));
            self.words.log_scale()
        } else {
            scale.note().to_owned()
        };
        let label = format!("{}{note}", self.x_label);
        ticks_below(&mut svg, &scale, (top, bottom), self.words, &label);
        for (row, middle) in rows() {
            row.draw(&mut svg, &scale, (left, right), middle);
        }
        svg.finish(&self.about, &self.described())
    }

    fn scale(&self, pixels: (f64, f64)) -> Scale {
        let values: Vec<f64> = self.rows.iter().flat_map(DotRow::reach).collect();
        if self.is_ratio {
            Scale::around_one(&values, pixels)
        } else {
            Scale::magnitude(self.x_scale, &values, pixels)
        }
    }

    fn described(&self) -> String {
        let rows = self.rows.iter().take(READ_OUT);
        let rows = rows.map(|row| format!("{}: {}.", row.label, row.end));
        rows.collect::<Vec<_>>().join(" ")
    }
}

impl DotRow {
    /// Ends of the band of negligible ratios.
    fn band(&self) -> [f64; 2] {
        [1.0 - self.threshold, 1.0 + self.threshold]
    }

    fn reach(&self) -> Vec<f64> {
        let (low, high) = self.interval.unwrap_or((self.value, self.value));
        let mut values = vec![self.value, low, high];
        values.extend(&self.runs);
        if self.threshold > 0.0 {
            values.extend(self.band());
        }
        values
    }

    fn draw(&self, svg: &mut Svg, scale: &Scale, (left, right): (f64, f64), middle: f64) {
        let place = |value: f64| scale.place(value).clamp(left, right);
        let series = self.kind % MAX_SERIES;
        let label = shortened(&self.label, LABELS, 13.0);
        svg.text("tick", (left - 12.0, middle + 4.5), Anchor::End, &label);
        if let Some((low, high)) = self.interval {
            let (class, low, high) = (format!("whisker s{series}"), place(low), place(high));
            svg.line(&class, (low, middle), (high, middle));
            svg.line(&class, (low, middle - 4.0), (low, middle + 4.0));
            svg.line(&class, (high, middle - 4.0), (high, middle + 4.0));
        }
        for run in self.runs.iter().filter(|_| self.runs.len() > 1) {
            let about = format!("{}: {}", self.label, human(*run, 4));
            svg.dot(&format!("run f{series}"), (place(*run), middle), &about);
        }
        let about = format!("{}: {}", self.label, self.end);
        svg.linked_marker(self.kind, (place(self.value), middle), &about, &self.link);
        let at = (right + 12.0, middle + 4.5);
        svg.text("tick", at, Anchor::Start, &self.end);
    }
}
