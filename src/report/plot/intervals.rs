//! Ratios with their intervals, one row each, on a logarithmic axis around 1.

use crate::report::language::{Words, messages};

use super::SERIES;
use super::frame::{Sign, WIDTH, draw_legend, legend, legend_height, shortened};
use super::svg::{Anchor, Svg, text_width};

const PITCH: f64 = 26.0;
/// Most that labels take of the width.
const LABELS: f64 = 190.0;
/// Ticks of an axis at most.
const TICKS: usize = 7;
/// Steps between ticks of which the finest that fits is taken.
const STEPS: [f64; 10] = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0];

messages! {
    log_scale() = ", logarithmic" | ", logarithmisch";
}

/// Ratios with their intervals.
#[derive(Debug, Clone, Default)]
pub(crate) struct IntervalPlot {
    /// What a screen reader says.
    pub(crate) about: String,
    /// Name below the axis.
    pub(crate) x_label: String,
    /// How numbers are written.
    pub(crate) words: Words,
    /// Names of the kinds of rows, for the legend, each with the series whose marker and colour it has.
    pub(crate) kinds: Vec<(usize, String)>,
    /// The rows, from top to bottom.
    pub(crate) rows: Vec<IntervalRow>,
}

/// One ratio.
#[derive(Debug, Clone, Default)]
pub(crate) struct IntervalRow {
    /// Left of it.
    pub(crate) label: String,
    /// Series of its kind.
    pub(crate) kind: usize,
    /// The ratio; positive.
    pub(crate) value: f64,
    /// Ends of its interval; `None` where there is none.
    pub(crate) interval: Option<(f64, f64)>,
    /// Half the width of the band around 1 in which a ratio does not matter.
    pub(crate) threshold: f64,
    /// Right of it.
    pub(crate) end: String,
}

/// The axis: logarithms from left to right.
struct Across {
    low: f64,
    high: f64,
    left: f64,
    right: f64,
}

impl Across {
    fn place(&self, value: f64) -> f64 {
        let share = (value / self.low).ln() / (self.high / self.low).ln();
        (self.left + share * (self.right - self.left)).clamp(self.left, self.right)
    }

    /// Multiples of the finest tidy step that gives few enough ticks; powers of ten and their halves on a wide axis.
    fn ticks(&self) -> Vec<f64> {
        let fitting = STEPS.iter().map(|step| {
            let (first, last) = (
                (self.low / step).ceil() as i64,
                (self.high / step).floor() as i64,
            );
            (first..=last)
                .map(|at| at as f64 * step)
                .collect::<Vec<f64>>()
        });
        let is_tidy = |ticks: &Vec<f64>| ticks.len() <= TICKS && ticks.len() >= 2;
        if self.high / self.low <= 6.0
            && let Some(ticks) = fitting.into_iter().find(is_tidy)
        {
            return ticks;
        }
        let powers = -6..=6_i32;
        let all = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
        all.filter(|tick| (self.low..=self.high).contains(tick))
            .collect()
    }
}

impl IntervalPlot {
    /// Draws it; the same value gives the same bytes.
    pub(crate) fn draw(&self) -> String {
        let widest = |texts: &mut dyn Iterator<Item = &String>| {
            texts.map(|text| text_width(text, 13.0)).fold(0.0, f64::max)
        };
        let left = 20.0 + widest(&mut self.rows.iter().map(|row| &row.label)).clamp(20.0, LABELS);
        let right = WIDTH - 22.0 - widest(&mut self.rows.iter().map(|row| &row.end));
        let signs: Vec<(Sign, &str)> = self
            .kinds
            .iter()
            .map(|(series, name)| (Sign::Mark(*series), name.as_str()))
            .collect();
        let legend = legend(&signs);
        let top = 18.0 + legend_height(legend.len());
        let bottom = top + self.rows.len() as f64 * PITCH;
        let across = self.across(left, right);
        let mut svg = Svg::new(WIDTH, bottom + 52.0);
        draw_legend(&mut svg, &legend);
        for (row, at) in self.rows.iter().zip(0_u32..) {
            let above = top + f64::from(at) * PITCH;
            let (from, to) = (
                across.place(1.0 - row.threshold),
                across.place(1.0 + row.threshold),
            );
            svg.rectangle("band f7", (from, above), (to - from, PITCH), "");
        }
        self.axis(&mut svg, &across, (top, bottom));
        for (row, at) in self.rows.iter().zip(0_u32..) {
            Self::row(&mut svg, row, &across, top + (f64::from(at) + 0.5) * PITCH);
        }
        svg.finish(&self.about, &self.described())
    }

    fn across(&self, left: f64, right: f64) -> Across {
        let ends = self.rows.iter().flat_map(|row| {
            let (low, high) = row.interval.unwrap_or((row.value, row.value));
            [
                low,
                high,
                row.value,
                1.0 - row.threshold,
                1.0 + row.threshold,
            ]
        });
        let ends: Vec<f64> = ends
            .filter(|end| end.is_finite() && *end > 0.0)
            .chain([1.0])
            .collect();
        let low = ends.iter().copied().fold(1.0, f64::min);
        let high = ends.iter().copied().fold(1.0, f64::max);
        // A little air, and an axis of some width where everything is 1.
        let air = (high / low).powf(0.06).max(1.005);
        Across {
            low: low / air,
            high: high * air,
            left,
            right,
        }
    }

    fn axis(&self, svg: &mut Svg, across: &Across, (top, bottom): (f64, f64)) {
        let mut taken = f64::NEG_INFINITY;
        for tick in across.ticks() {
            let place = across.place(tick);
            svg.line("grid", (place, top), (place, bottom));
            let text = self.words.tick(tick);
            let half = text_width(&text, 13.0) / 2.0;
            if place - half > taken {
                svg.text("tick", (place, bottom + 18.0), Anchor::Middle, &text);
                taken = place + half + 6.0;
            }
        }
        let one = across.place(1.0);
        svg.line("guide", (one, top), (one, bottom));
        let label = format!("{}{}", self.x_label, self.words.log_scale());
        svg.text("label", (WIDTH - 18.0, bottom + 42.0), Anchor::End, &label);
    }

    fn row(svg: &mut Svg, row: &IntervalRow, across: &Across, middle: f64) {
        let label = shortened(&row.label, LABELS, 13.0);
        svg.text(
            "tick",
            (across.left - 9.0, middle + 4.5),
            Anchor::End,
            &label,
        );
        let class = format!("whisker s{}", row.kind % SERIES);
        let mut end = across.place(row.value);
        if let Some((low, high)) = row.interval {
            let (low, high) = (across.place(low), across.place(high));
            svg.line(&class, (low, middle), (high, middle));
            svg.line(&class, (low, middle - 4.0), (low, middle + 4.0));
            svg.line(&class, (high, middle - 4.0), (high, middle + 4.0));
            end = end.max(high);
        }
        let about = format!("{}: {}", row.label, row.end);
        svg.marker(row.kind, (across.place(row.value), middle), &about);
        let at = across.right.max(end) + 9.0;
        svg.text("tick", (at, middle + 4.5), Anchor::Start, &row.end);
    }

    fn described(&self) -> String {
        let rows = self
            .rows
            .iter()
            .map(|row| format!("{}: {}.", row.label, row.end));
        rows.collect::<Vec<_>>().join(" ")
    }
}
