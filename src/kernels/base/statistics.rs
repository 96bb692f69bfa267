//! Medians, quantiles, seeded bootstrap intervals, geometric means and fits.
//!
//! Every function takes finite numbers; empty input gives `None`.

mod normal;

use rand::Rng;
use rand_chacha::ChaCha8Rng;

pub use normal::normal_mass;

/// Returns the median; `None` for empty input.
///
/// # Source
/// `numpy.median`.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// Returns the mean; `None` for empty input.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the quantile `share` (0 to 1), with linear interpolation at position `(n − 1) share` of the sorted values;
/// `None` for empty input.
///
/// # Source
/// `numpy.quantile(values, share, method="linear")`.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile_of_sorted(&sorted, share)
}

fn quantile_of_sorted(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let position = last as f64 * share.clamp(0.0, 1.0);
    let below = position.floor() as usize;
    let (low, high) = (sorted[below], sorted[(below + 1).min(last)]);
    let part = position - below as f64;
    // Interpolate from the nearer neighbour, so that both neighbours are reached exactly.
    Some(if part < 0.5 {
        low + (high - low) * part
    } else {
        high - (high - low) * (1.0 - part)
    })
}

/// Returns the smallest and the largest value; `None` for empty input.
pub fn range(values: &[f64]) -> Option<(f64, f64)> {
    let low = values.iter().copied().min_by(f64::total_cmp)?;
    let high = values.iter().copied().max_by(f64::total_cmp)?;
    Some((low, high))
}

/// Returns the central `level` interval of the median, from `resamples` resamplings of `values` with replacement;
/// `None` for empty input.
///
/// # Source
/// Efron & Tibshirani 1993, §13.3 (percentile interval).
pub fn bootstrap_median(
    values: &[f64],
    level: f64,
    resamples: usize,
    rng: &mut ChaCha8Rng,
) -> Option<(f64, f64)> {
    if values.is_empty() || resamples == 0 {
        return None;
    }
    let mut draw = vec![0.0; values.len()];
    let mut medians: Vec<f64> = (0..resamples)
        .filter_map(|_| {
            for place in &mut draw {
                *place = values[rng.gen_range(0..values.len())];
            }
            draw.sort_by(f64::total_cmp);
            quantile_of_sorted(&draw, 0.5)
        })
        .collect();
    medians.sort_by(f64::total_cmp);
    let tail = (1.0 - level) / 2.0;
    Some((
        quantile_of_sorted(&medians, tail)?,
        quantile_of_sorted(&medians, 1.0 - tail)?,
    ))
}

/// Counts the values that lie more than 1.5 interquartile ranges outside the quartiles; 0 for fewer than four values.
///
/// # Source
/// Tukey 1977, fences of a box plot.
pub fn outliers(values: &[f64]) -> usize {
    if values.len() < 4 {
        return 0;
    }
    let (Some(lower), Some(upper)) = (quantile(values, 0.25), quantile(values, 0.75)) else {
        return 0;
    };
    let fence = 1.5 * (upper - lower);
    values
        .iter()
        .filter(|&&value| value < lower - fence || value > upper + fence)
        .count()
}

/// Returns the geometric mean `exp(mean(ln x))` of positive values; `None` for empty input or if a value is not
/// positive.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.iter().any(|&value| value <= 0.0) {
        return None;
    }
    let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    mean(&logarithms).map(f64::exp)
}

/// A power law `y = factor · x^exponent`, fitted to points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PowerLaw {
    /// The scaling exponent: 1 is proportional, 0 is constant.
    pub exponent: f64,
    /// Standard error of the exponent; `None` for two points.
    pub exponent_error: Option<f64>,
    /// Factor of the power law: `y` at `x = 1`.
    pub factor: f64,
    /// Standard deviation of `ln y` around the fit; 0 for two points.
    pub residual: f64,
    /// The straight line that was fitted to `(ln x, ln y)`.
    line: Line,
}

impl PowerLaw {
    /// `y` at `x`.
    pub fn at(&self, x: f64) -> f64 {
        self.factor * x.powf(self.exponent)
    }

    /// Standard error of `ln y` of a single value at `x`: `s √(1 + 1/n + (ln x − mean)² / spread)`; `None` for two
    /// points.
    pub fn prediction_error(&self, x: f64) -> Option<f64> {
        self.line.prediction_error(x.ln())
    }
}

/// Fits a power law by least squares on logarithms: `ln y = ln factor + exponent · ln x`.
///
/// Returns `None` for fewer than two different `x`, or if a value is not positive.
///
/// # Source
/// `numpy.polyfit(ln x, ln y, 1)`; the standard error is the usual one, with `n − 2` degrees of freedom.
pub fn fit_power_law(points: &[(f64, f64)]) -> Option<PowerLaw> {
    if points.iter().any(|&(x, y)| x <= 0.0 || y <= 0.0) {
        return None;
    }
    let logs: Vec<(f64, f64)> = points.iter().map(|&(x, y)| (x.ln(), y.ln())).collect();
    let line = least_squares(&logs)?;
    let (_, spread) = line.x;
    Some(PowerLaw {
        exponent: line.slope,
        exponent_error: line.variance.map(|variance| (variance / spread).sqrt()),
        factor: line.offset.exp(),
        residual: line.residual,
        line,
    })
}

/// A straight line `y = offset + slope · x`, fitted to points.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Line {
    /// Intercept of the line: `y` at `x = 0`.
    offset: f64,
    /// Change of `y` per unit of `x`.
    slope: f64,
    /// Standard deviation of `y` around the line, with `n − 2` degrees of freedom; 0 for two points.
    residual: f64,
    /// Square of `residual`; `None` for two points.
    variance: Option<f64>,
    n: usize,
    /// Mean of `x`, and the sum of its squared deviations from the mean.
    x: (f64, f64),
}

impl Line {
    /// Standard error of a single value at `x`: `s √(1 + 1/n + (x − mean)² / spread)`; `None` for fewer than three
    /// points.
    fn prediction_error(&self, x: f64) -> Option<f64> {
        let (mean, spread) = self.x;
        let distance = (x - mean).powi(2) / spread;
        (self.n > 2).then(|| self.residual * (1.0 + 1.0 / self.n as f64 + distance).sqrt())
    }
}

/// A straight line by least squares; `None` for fewer than two different `x`.
fn least_squares(points: &[(f64, f64)]) -> Option<Line> {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|point| point.0).sum::<f64>() / n;
    let mean_y = points.iter().map(|point| point.1).sum::<f64>() / n;
    let spread: f64 = points.iter().map(|point| (point.0 - mean_x).powi(2)).sum();
    if points.len() < 2 || spread <= f64::EPSILON {
        return None;
    }
    let covariance: f64 = points
        .iter()
        .map(|point| (point.0 - mean_x) * (point.1 - mean_y))
        .sum();
    let slope = covariance / spread;
    let offset = mean_y - slope * mean_x;
    let squares: f64 = points
        .iter()
        .map(|point| (point.1 - offset - slope * point.0).powi(2))
        .sum();
    let freedom = points.len() - 2;
    let variance = (freedom > 0).then(|| squares / freedom as f64);
    Some(Line {
        offset,
        slope,
        residual: variance.map_or(0.0, f64::sqrt),
        variance,
        n: points.len(),
        x: (mean_x, spread),
    })
}

#[cfg(test)]
mod tests;
