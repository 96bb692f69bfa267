//! Maps values to positions on an axis, with round ticks.

use crate::base::statistics::range;
use crate::base::units::{human, human_si};

/// Largest number of ticks on an axis of ratios.
const TICKS: usize = 7;
/// Candidate steps between ticks; the finest that gives few enough ticks is used.
const STEPS: [f64; 10] = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0];

/// How an axis maps values to positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ScaleKind {
    /// Linear.
    #[default]
    Linear,
    /// Logarithmic; ticks at powers of two.
    Log2,
    /// Logarithmic; ticks at powers of ten.
    Log10,
}

impl ScaleKind {
    /// The suitable scale for `values`: logarithmic if they span a factor of eight or more, with base 2 if all are
    /// powers of two.
    pub(crate) fn for_values(values: &[f64]) -> Self {
        let (low, high) = range(values).unwrap_or_default();
        if low <= 0.0 || high < 8.0 * low {
            return Self::Linear;
        }
        let is_power = |value: &f64| value.log2().fract() == 0.0;
        if values.iter().all(is_power) {
            Self::Log2
        } else {
            Self::Log10
        }
    }

    fn forward(self, value: f64) -> f64 {
        match self {
            Self::Linear => value,
            Self::Log2 => value.log2(),
            Self::Log10 => value.log10(),
        }
    }
}

/// An axis with its range in values and in pixels.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    kind: ScaleKind,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    ticks: Vec<f64>,
}

impl Scale {
    /// An axis of positive ratios around 1, logarithmic, with a small margin.
    pub(crate) fn around_one(values: &[f64], pixels: (f64, f64)) -> Self {
        let positive = values
            .iter()
            .copied()
            .filter(|value| value.is_finite() && *value > 0.0);
        let ends = range(&positive.chain([1.0]).collect::<Vec<f64>>());
        let (low, high) = ends.unwrap_or((1.0, 1.0));
        // The margin is positive even if all values are 1.
        let air = (high / low).powf(0.06).max(1.005);
        let (low, high) = (low / air, high * air);
        Self::new(ScaleKind::Log10, (low, high), ratios(low, high), pixels)
    }

    fn new(
        kind: ScaleKind,
        (low, high): (f64, f64),
        ticks: Vec<f64>,
        (from, to): (f64, f64),
    ) -> Self {
        Self {
            kind,
            low,
            high,
            from,
            to,
            ticks,
        }
    }

    /// An axis for magnitudes: ends are ticks, and it begins at zero unless the values are close together. A
    /// logarithmic one begins at the smallest positive value.
    pub(crate) fn magnitude(kind: ScaleKind, values: &[f64], pixels: (f64, f64)) -> Self {
        if kind != ScaleKind::Linear {
            let positive = values.iter().copied().filter(|value| *value > 0.0);
            let (low, high) = ends(&positive.collect::<Vec<f64>>());
            if low > 0.0 {
                return Self::logarithmic(kind, low, high, pixels);
            }
        }
        let (low, high) = ends(values);
        // A single value has no spread, so the axis begins at zero.
        let from_zero = low >= 0.0 && (low < 0.6 * high || low >= high);
        let low = if from_zero { 0.0 } else { low };
        let step = tidy_step((high - low).max(high.abs() * 1e-3).max(f64::MIN_POSITIVE) / 5.0);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let last = last.max(first + 1.0);
        let count = (last - first).round() as usize;
        let ticks: Vec<f64> = (0..=count).map(|i| (first + i as f64) * step).collect();
        Self::new(
            ScaleKind::Linear,
            (first * step, last * step),
            ticks,
            pixels,
        )
    }

    /// An axis for settings: ticks are at the values themselves if they are few.
    pub(crate) fn settings(kind: ScaleKind, values: &[f64], pixels: (f64, f64)) -> Self {
        let mut known = values.to_vec();
        known.sort_by(f64::total_cmp);
        known.dedup();
        if known.len() > 9 || known.is_empty() {
            return Self::magnitude(kind, values, pixels);
        }
        let (low, high) = ends(&known);
        let (low, high) = if low < high {
            (low, high)
        } else {
            (low - 1.0, high + 1.0)
        };
        let kind = if low > 0.0 { kind } else { ScaleKind::Linear };
        Self::new(kind, (low, high), known, pixels)
    }

    fn logarithmic(kind: ScaleKind, low: f64, high: f64, pixels: (f64, f64)) -> Self {
        let base: f64 = if kind == ScaleKind::Log2 { 2.0 } else { 10.0 };
        let first = kind.forward(low).floor() as i32;
        let last = (kind.forward(high).ceil() as i32).max(first + 1);
        let every = ((last - first) / 8 + 1) as usize;
        let mut ticks: Vec<f64> = (first..=last)
            .step_by(every)
            .map(|e| base.powi(e))
            .collect();
        if base > 2.0 && last - first <= 2 {
            let between = (first..last).flat_map(|e| [2.0, 5.0].map(|m| m * 10f64.powi(e)));
            ticks.extend(between);
            ticks.sort_by(f64::total_cmp);
        }
        Self::new(kind, (base.powi(first), base.powi(last)), ticks, pixels)
    }

    /// The position of a value in pixels; on a logarithmic axis, smaller values than the axis' beginning (also 0) are
    /// placed there.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let (low, high) = (self.kind.forward(self.low), self.kind.forward(self.high));
        let value = match self.kind {
            ScaleKind::Linear => value,
            _ => value.max(self.low),
        };
        let share = (self.kind.forward(value) - low) / (high - low);
        self.from + share * (self.to - self.from)
    }

    /// End of an axis label that describes the scale: `, from 0`, `, log₂ scale`.
    pub(crate) fn note(&self) -> &'static str {
        match self.kind {
            ScaleKind::Linear if self.low == 0.0 => ", from 0",
            ScaleKind::Linear if self.low > 0.0 || self.high < 0.0 => ", not from 0",
            _ => self.kind_note(),
        }
    }

    /// End of the label of an axis of settings or positions, for which zero has no meaning.
    pub(crate) fn kind_note(&self) -> &'static str {
        match self.kind {
            ScaleKind::Linear => "",
            ScaleKind::Log2 => ", log₂ scale",
            ScaleKind::Log10 => ", log₁₀ scale",
        }
    }

    /// Positions in pixels and texts of the ticks.
    pub(crate) fn ticks(&self) -> impl Iterator<Item = (f64, String)> + '_ {
        let ticks = self.ticks.iter();
        ticks.map(|&tick| (self.place(tick), tick_text(tick)))
    }
}

fn ends(values: &[f64]) -> (f64, f64) {
    let finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    let ends = range(&finite).filter(|(low, high)| *low != 0.0 || *high != 0.0);
    ends.unwrap_or((0.0, 1.0))
}

/// Ticks of an axis of ratios: multiples of the finest step of [`STEPS`] that gives few enough ticks; powers of ten and
/// their halves on a wide axis.
fn ratios(low: f64, high: f64) -> Vec<f64> {
    let mut fitting = STEPS.iter().map(|step| {
        let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
        let ticks = (first..=last).map(|at| at as f64 * step);
        ticks.collect::<Vec<f64>>()
    });
    let tidy = fitting.find(|ticks| (2..=TICKS).contains(&ticks.len()));
    tidy.filter(|_| high / low <= 6.0).unwrap_or_else(|| {
        let powers = -6..=6_i32;
        let all = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
        all.filter(|tick| (low..=high).contains(tick)).collect()
    })
}

/// The smallest of 1, 2 or 5 times a power of ten, at least `raw`.
fn tidy_step(raw: f64) -> f64 {
    let power = 10f64.powi(raw.log10().floor() as i32);
    let factor = [1.0, 2.0, 5.0, 10.0];
    let found = factor.iter().find(|&&factor| factor * power >= raw * 0.999);
    found.copied().unwrap_or(10.0) * power
}

fn tick_text(value: f64) -> String {
    if value.abs() >= 1e6 {
        return human_si(value, "").replace(".00", "").replace(".0 ", " ");
    }
    // Six digits, so that 0.1 + 0.2 is shown as 0.3.
    let text = human(value, 6);
    let (digits, power) = text.split_once('e').unwrap_or((&text, ""));
    let digits = if digits.contains('.') {
        digits.trim_end_matches('0').trim_end_matches('.')
    } else {
        digits
    };
    let e = if power.is_empty() { "" } else { "e" };
    format!("{digits}{e}{power}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(scale: &Scale) -> Vec<String> {
        scale.ticks().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_tidy_and_enclose_the_values() {
        let scale = Scale::magnitude(ScaleKind::Linear, &[0.3, 13.9], (0.0, 100.0));
        assert_eq!(texts(&scale), ["0", "5", "10", "15"]);
        assert_eq!(scale.note(), ", from 0");
        let scale = Scale::magnitude(ScaleKind::Linear, &[13.2, 14.6], (0.0, 100.0));
        assert_eq!(texts(&scale), ["13", "13.5", "14", "14.5", "15"]);
        assert_eq!(scale.note(), ", not from 0");
        let scale = Scale::magnitude(ScaleKind::Linear, &[0.1, 0.3], (0.0, 100.0));
        assert_eq!(texts(&scale)[..3], ["0", "0.1", "0.2"]);
    }

    #[test]
    fn ticks_have_no_digits_that_say_nothing() {
        let texts = [1e-5, 0.1 + 0.2, 2500.0, -0.5, 3e15].map(tick_text);
        assert_eq!(texts, ["1e-5", "0.3", "2,500", "-0.5", "3 P"]);
    }

    #[test]
    fn doublings_are_equally_far_apart() {
        let values = [8.0, 16.0, 32.0, 64.0];
        let kind = ScaleKind::for_values(&values);
        assert_eq!(kind, ScaleKind::Log2);
        let scale = Scale::settings(kind, &values, (0.0, 300.0));
        let places: Vec<f64> = values.iter().map(|&value| scale.place(value)).collect();
        assert!(
            places
                .iter()
                .zip([0.0, 100.0, 200.0, 300.0])
                .all(|(a, b)| (a - b).abs() < 1e-9)
        );
        assert_eq!(texts(&scale), ["8", "16", "32", "64"]);
    }

    #[test]
    fn values_with_zero_or_close_together_get_a_linear_axis() {
        assert_eq!(ScaleKind::for_values(&[0.0, 4.0]), ScaleKind::Linear);
        assert_eq!(ScaleKind::for_values(&[4.0, 8.0]), ScaleKind::Linear);
        assert_eq!(ScaleKind::for_values(&[1000.0, 10_000.0]), ScaleKind::Log10);
    }

    #[test]
    fn a_logarithmic_axis_begins_at_the_smallest_positive_value() {
        let scale = Scale::magnitude(ScaleKind::Log10, &[0.0, 300.0, 9000.0], (0.0, 100.0));
        assert_eq!(
            texts(&scale),
            ["100", "200", "500", "1,000", "2,000", "5,000", "10,000"]
        );
        assert!(scale.place(0.0).abs() < 1e-9);
        let scale = Scale::magnitude(ScaleKind::Log10, &[0.0], (0.0, 100.0));
        assert_eq!(scale.note(), ", from 0");
    }

    #[test]
    fn one_value_and_none_give_an_axis_too() {
        for values in [&[5.0][..], &[], &[0.0], &[-3.0, -3.0]] {
            let scale = Scale::magnitude(ScaleKind::Linear, values, (0.0, 100.0));
            assert!(
                scale.ticks().all(|(place, _)| place.is_finite()),
                "{values:?}"
            );
            let scale = Scale::settings(ScaleKind::Linear, values, (0.0, 100.0));
            assert!(
                scale.ticks().all(|(place, _)| place.is_finite()),
                "{values:?}"
            );
        }
    }
}
