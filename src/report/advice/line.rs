//! A straight line fitted to measured times, with intervals for its predictions.

use crate::compare::student_quantile;

/// `time = fixed + each · size`, by least squares with weights `1 / time²`: the standard deviation of a time is
/// proportional to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FittedLine {
    /// Time at size 0, in the unit of the fitted times.
    pub(super) fixed: f64,
    /// Additional time per unit of size.
    pub(super) each: f64,
    /// Covariance of `fixed` and `each`: (var fixed, cov, var each).
    covariance: (f64, f64, f64),
    /// Relative standard deviation of a time around the line.
    pub(super) spread: f64,
    /// Degrees of freedom: number of points minus two.
    freedom: usize,
}

impl FittedLine {
    /// Fits points `(size, time)`; `None` for fewer than three points, fewer than two sizes, or a time that is not
    /// positive. With two points no degree of freedom is left to estimate the error.
    pub(super) fn fit(points: &[(f64, f64)]) -> Option<Self> {
        if points.len() < 3 || points.iter().any(|&(_, time)| time <= 0.0) {
            return None;
        }
        let sum = |of: fn(f64, f64) -> f64| -> f64 {
            points.iter().map(|&(x, y)| of(x, y) / (y * y)).sum()
        };
        let (w, wx, wxx) = (sum(|_, _| 1.0), sum(|x, _| x), sum(|x, _| x * x));
        let (wy, wxy) = (sum(|_, y| y), sum(|x, y| x * y));
        let determinant = w * wxx - wx * wx;
        if determinant <= 1e-12 * w * wxx {
            return None;
        }
        let each = (w * wxy - wx * wy) / determinant;
        let fixed = (wxx * wy - wx * wxy) / determinant;
        let freedom = points.len() - 2;
        let squares: f64 = points
            .iter()
            .map(|&(x, y)| ((y - fixed - each * x) / y).powi(2))
            .sum();
        let variance = squares / freedom as f64;
        let scale = variance / determinant;
        Some(Self {
            fixed,
            each,
            covariance: (wxx * scale, -wx * scale, w * scale),
            spread: variance.sqrt(),
            freedom,
        })
    }

    /// Time that the line gives at `size`, in the unit of the fitted times.
    pub(super) fn at(&self, size: f64) -> f64 {
        self.fixed + self.each * size
    }

    /// The ratio of the time per unit at `a` to that at `b` (above 1: `b` costs less per unit), with the ends of its 95
    /// % prediction interval for medians of `runs` runs; `None` where the line gives no positive time.
    pub(super) fn gain(&self, a: f64, b: f64, runs: usize) -> Option<[f64; 3]> {
        let growth = self.growth(b, a, runs)?;
        Some(growth.map(|ratio| ratio * b / a))
    }

    /// The ratio of the time at `b` to that at `a`, with the ends of its 95 % prediction interval; `None` where the line
    /// gives no positive time, or one so near 0 that the interval has no end.
    ///
    /// `ln ratio ± t₀.₉₇₅ √(gᵀ C g + 2 s² ÷ runs)` with the fit's covariance `C`, the gradient `g` and the relative
    /// spread `s` of single times.
    pub(super) fn growth(&self, a: f64, b: f64, runs: usize) -> Option<[f64; 3]> {
        let (at_a, at_b) = (self.at(a), self.at(b));
        if at_a <= 0.0 || at_b <= 0.0 {
            return None;
        }
        let fixed = 1.0 / at_a - 1.0 / at_b;
        let each = a / at_a - b / at_b;
        let (var_fixed, both, var_each) = self.covariance;
        let of_fit = fixed * fixed * var_fixed + 2.0 * fixed * each * both + each * each * var_each;
        let of_runs = 2.0 * self.spread.powi(2) / runs.max(1) as f64;
        let ratio = at_b / at_a;
        let half = student_quantile(0.975, self.freedom) * (of_fit.max(0.0) + of_runs).sqrt();
        let ends = [ratio, ratio * (-half).exp(), ratio * half.exp()];
        ends.iter().all(|end| end.is_normal()).then_some(ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_points_give_the_line_and_no_error() {
        let points = [8.0, 16.0, 32.0].map(|x| (x, 20.0 + 3.0 * x));
        let line = FittedLine::fit(&points).expect("a line");
        assert!((line.fixed - 20.0).abs() < 1e-9 && (line.each - 3.0).abs() < 1e-9);
        let [ratio, low, high] = line.gain(8.0, 16.0, 1).expect("a ratio");
        assert!((ratio - (44.0 / 8.0) / (68.0 / 16.0)).abs() < 1e-9);
        assert!(high - low < 1e-6, "{low} {high}");
    }

    #[test]
    fn where_the_line_comes_near_no_time_at_all_nothing_is_predicted() {
        let falling = [(8.0, 44.0), (8.0, 48.0), (16.0, 30.0), (32.0, 10.0)];
        let line = FittedLine::fit(&falling).expect("a line");
        let end = -line.fixed / line.each;
        assert!(line.growth(8.0, 0.9 * end, 3).is_some());
        assert!(line.at(end - 1e-9) > 0.0);
        assert_eq!(line.growth(8.0, end - 1e-9, 3), None);
    }

    #[test]
    fn the_interval_widens_with_the_spread_and_the_distance() {
        let noisy = [
            (8.0, 44.0),
            (8.0, 48.0),
            (16.0, 66.0),
            (16.0, 70.0),
            (32.0, 118.0),
        ];
        let line = FittedLine::fit(&noisy).expect("a line");
        let width = |to: f64| {
            let [_, low, high] = line.gain(8.0, to, 3).expect("a ratio");
            high / low
        };
        assert!(width(16.0) > 1.05, "{}", width(16.0));
        assert!(width(128.0) > width(16.0));
    }

    /// Expected values: `numpy.polyfit([8, 16, 32, 64], [44, 69, 115, 214], 1, w=1/y, cov=True)`, covariance scaled.
    #[test]
    fn the_fit_agrees_with_numpy() {
        let points = [(8.0, 44.0), (16.0, 69.0), (32.0, 115.0), (64.0, 214.0)];
        let line = FittedLine::fit(&points).expect("a line");
        assert!((line.each - NUMPY[0]).abs() < 1e-6, "{line:?}");
        assert!((line.fixed - NUMPY[1]).abs() < 1e-6, "{line:?}");
        let errors = [line.covariance.2.sqrt(), line.covariance.0.sqrt()];
        assert!((errors[0] - NUMPY[2]).abs() < 1e-6, "{errors:?}");
        assert!((errors[1] - NUMPY[3]).abs() < 1e-6, "{errors:?}");
    }

    const NUMPY: [f64; 4] = [3.013_116_88, 20.036_097_62, 0.040_157_51, 0.704_621_67];

    #[test]
    fn what_gives_no_error_gives_no_line() {
        assert_eq!(FittedLine::fit(&[(8.0, 1.0), (16.0, 2.0)]), None);
        assert_eq!(FittedLine::fit(&[(8.0, 1.0), (8.0, 1.1), (8.0, 1.2)]), None);
        assert_eq!(
            FittedLine::fit(&[(8.0, 1.0), (16.0, 0.0), (32.0, 3.0)]),
            None
        );
    }
}
