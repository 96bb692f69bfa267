//! Importance of the parameters of a search: how much the values in the best trials differ from those in all trials.
//!
//! A pure function of the space and of the trials that are done; start at [`importance`].

use crate::base::statistics::normal_mass;
use crate::plan::search::{Domain, Point, Space, Value};

/// Number of points of the grid over a parameter's range, at most.
const GRID: usize = 50;
/// Fraction of the trials that counts as the best, but at least [`FEWEST`] trials.
const BEST_SHARE: f64 = 0.1;
/// Smallest number of trials that count as the best: fewer give no useful density.
const FEWEST: usize = 5;
/// Smallest number of trials that must have a parameter for it to get an importance.
const FEWEST_WITH: usize = 2;
/// Weight of the uniform part of a density, in trials.
const PRIOR: f64 = 1.0;
/// Lower bound of densities, against division by zero.
const FLOOR: f64 = 1e-12;

/// How important each parameter is.
#[derive(Debug, Clone, PartialEq)]
pub struct Importance {
    /// Importance of each parameter of the space, in its order; the sum is 1.
    pub shares: Vec<f64>,
    /// Number of trials that count as the best.
    pub best: usize,
    /// Number of trials that the importance is computed from.
    pub trials: usize,
}

/// Returns how important each parameter is for being among the best trials: the best tenth, but at least five.
///
/// `trials` are the points and losses (smaller is better) of all done trials; non-finite losses are ignored. `None`
/// with fewer than ten trials, if all losses are equal, or if no parameter has an effect.
///
/// For each parameter two densities are estimated on a grid of at most 50 points (of its logarithm, if that is sampled
/// uniformly): `p` from the best trials and `q` from all, with normal kernels of Scott's width and a uniform part with
/// the weight of one trial. The importance is the Pearson divergence `Σ q (p / q − 1)²`, times `α² / β` if only a
/// fraction `α` of the best and `β` of all trials has the parameter, normalised to the sum 1. Each parameter is
/// considered alone: interactions are not detected.
///
/// # Source
/// PED-ANOVA: Watanabe, Bansal & Hutter 2023 (IJCAI), algorithm 1; conditions: Optuna 5. Agrees with Optuna's
/// `PedAnovaImportanceEvaluator` (its default) for the same fraction of best trials (Optuna uses a tenth even for few
/// trials) (`tests/reference/search`).
pub fn importance(space: &Space, trials: &[(&Point, f64)]) -> Option<Importance> {
    let finite = trials.iter().filter(|(_, loss)| loss.is_finite()).count();
    let best = (BEST_SHARE * finite as f64).ceil() as usize;
    (finite >= 2 * FEWEST).then(|| of_best(space, trials, best.max(FEWEST)))?
}

/// As [`importance`], with the given number of best trials, and further ones equal to the last of them.
fn of_best(space: &Space, trials: &[(&Point, f64)], best: usize) -> Option<Importance> {
    let mut all: Vec<(&Point, f64)> = trials.to_vec();
    all.retain(|(_, loss)| loss.is_finite());
    all.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let (_, worst) = *all.get(best.checked_sub(1)?)?;
    let best = all.partition_point(|(_, loss)| *loss <= worst);
    if best == all.len() {
        return None;
    }
    let points: Vec<&Point> = all.iter().map(|(point, _)| *point).collect();
    let of = |index: usize| divergence(&space.parameters[index].domain, index, &points, best);
    let divergences: Vec<f64> = (0..space.parameters.len()).map(of).collect();
    let sum: f64 = divergences.iter().sum();
    (sum > 0.0).then(|| Importance {
        shares: divergences.iter().map(|one| one / sum).collect(),
        best,
        trials: all.len(),
    })
}

/// The divergence of a parameter between the first `best` of the `points` and all of them.
fn divergence(domain: &Domain, index: usize, points: &[&Point], best: usize) -> f64 {
    let values = |points: &[&Point]| -> Vec<Value> {
        points.iter().filter_map(|point| point.get(index)).collect()
    };
    let (with_best, with_all) = (values(&points[..best]), values(points));
    let Some(grid) = Grid::new(domain) else {
        return 0.0;
    };
    if with_best.is_empty() || with_all.len() < FEWEST_WITH {
        return 0.0;
    }
    let share_of_best = with_best.len() as f64 / best as f64;
    let share_of_all = with_all.len() as f64 / points.len() as f64;
    let (best, all) = (grid.density(&with_best), grid.density(&with_all));
    let pearson = best
        .iter()
        .zip(&all)
        .map(|(p, q)| q * (p / q - 1.0).powi(2));
    share_of_best.powi(2) / share_of_all * pearson.sum::<f64>()
}

/// The grid points at which values of a parameter are counted.
struct Grid {
    /// Number of grid points.
    size: usize,
    /// The first grid point and the distance to the next; `None` for a choice, whose values have no order.
    line: Option<Line>,
}

/// A range of numbers divided into grid points.
struct Line {
    low: f64,
    step: f64,
    is_log: bool,
}

impl Grid {
    /// The grid of a domain; `None` if the domain has a single value.
    fn new(domain: &Domain) -> Option<Self> {
        let (low, high, size, is_log) = match domain {
            Domain::Choice { texts, .. } => {
                let size = texts.len();
                return (size > 1).then_some(Self { size, line: None });
            }
            Domain::Int { low, high, log, .. } if *log => {
                let count = (high - low + 1) as f64;
                let size = (count.ln() / 2.0_f64.ln()).ceil() as usize + 1;
                (*low as f64, *high as f64, size, true)
            }
            Domain::Int {
                low, high, step, ..
            } => {
                let steps = (high - low) / (*step).max(1);
                (
                    *low as f64,
                    (low + steps * step) as f64,
                    steps as usize + 1,
                    false,
                )
            }
            Domain::Float {
                low,
                high,
                step: Some(step),
                ..
            } => {
                // The last value that whole steps reach, with a tolerance for rounding.
                let steps = ((high - low) / step + 1e-9).floor();
                (*low, low + steps * step, steps as usize + 1, false)
            }
            Domain::Float { low, high, log, .. } => (*low, *high, GRID, *log),
        };
        let (low, high) = if is_log {
            (low.ln(), high.ln())
        } else {
            (low, high)
        };
        let size = size.min(GRID);
        let step = (high - low) / (size as f64 - 1.0);
        let line = Line { low, step, is_log };
        (size > 1 && high > low).then_some(Self {
            size,
            line: Some(line),
        })
    }

    /// Number of values at each grid point.
    fn counts(&self, values: &[Value]) -> Vec<f64> {
        let mut counts = vec![0.0; self.size];
        for value in values {
            let place = match &self.line {
                None => value.as_f64(),
                Some(line) if line.is_log => line.place(value.as_f64().ln()),
                Some(line) => line.place(value.as_f64()),
            };
            counts[place.clamp(0.0, self.size as f64 - 1.0) as usize] += 1.0;
        }
        counts
    }

    /// The density of the values at each grid point; the sum is 1, apart from [`FLOOR`].
    fn density(&self, values: &[Value]) -> Vec<f64> {
        let counts = self.counts(values);
        let kernels = match self.line {
            None => equal_kernels(&counts),
            Some(_) => normal_kernels(&counts),
        };
        let sum: f64 = counts.iter().sum::<f64>() + PRIOR;
        let weights = counts.iter().copied().filter(|count| *count > 0.0);
        let weights: Vec<f64> = weights.chain([PRIOR]).collect();
        let at = |place: usize| {
            let parts = kernels.iter().zip(&weights);
            parts
                .map(|(kernel, weight)| weight / sum * kernel[place])
                .sum::<f64>()
                + FLOOR
        };
        (0..self.size).map(at).collect()
    }
}

impl Line {
    /// Index of the nearest grid point; the lower one of two equally near.
    fn place(&self, value: f64) -> f64 {
        ((value - self.low) / self.step - 0.5).ceil()
    }
}

/// For a choice: one kernel per observed value, which gives the other values a small weight, and a uniform kernel.
fn equal_kernels(counts: &[f64]) -> Vec<Vec<f64>> {
    let size = counts.len();
    let taken: Vec<usize> = (0..size).filter(|place| counts[*place] > 0.0).collect();
    let little = PRIOR / (taken.len() as f64 + 1.0);
    let sum = 1.0 + little * size as f64;
    let of_choice = |choice: &usize| {
        let mut kernel = vec![little / sum; size];
        kernel[*choice] = (1.0 + little) / sum;
        kernel
    };
    let uniform = vec![1.0 / size as f64; size];
    taken.iter().map(of_choice).chain([uniform]).collect()
}

/// For numbers: one normal kernel per grid point with values, and a wide one, truncated at the ends of the grid.
fn normal_kernels(counts: &[f64]) -> Vec<Vec<f64>> {
    let size = counts.len();
    let taken = (0..size).filter(|place| counts[*place] > 0.0);
    let width = scotts_width(counts);
    let taken = taken.map(|place| (place as f64, width));
    let wide = ((size as f64 - 1.0) / 2.0, size as f64);
    let kernel = |(center, width): (f64, f64)| {
        let mass = |from: f64, to: f64| normal_mass((from - center) / width, (to - center) / width);
        let whole = mass(-0.5, size as f64 - 0.5);
        let at = |place: usize| mass(place as f64 - 0.5, place as f64 + 0.5) / whole;
        (0..size).map(at).collect()
    };
    taken.chain([wide]).map(kernel).collect()
}

/// The width of the kernels, in grid points: `1.059 min(interquartile range / 1.34, standard deviation) n^(−1/5)`, but
/// so wide that at most nine tenths of a kernel lie at one grid point.
///
/// # Source
/// Scott 1992, *Multivariate Density Estimation*; quartiles as in Optuna.
fn scotts_width(counts: &[f64]) -> f64 {
    let taken: Vec<(f64, f64)> = counts
        .iter()
        .enumerate()
        .filter(|(_, count)| **count > 0.0)
        .map(|(place, count)| (place as f64, *count))
        .collect();
    let n: f64 = counts.iter().sum();
    let mean = taken
        .iter()
        .map(|(place, count)| place * count)
        .sum::<f64>()
        / n;
    let squares = taken
        .iter()
        .map(|(place, count)| (place - mean).powi(2) * count);
    let deviation = (squares.sum::<f64>() / (n - 1.0).max(1.0)).sqrt();
    let mut up_to = 0.0;
    let cumulated: Vec<f64> = taken
        .iter()
        .map(|(_, count)| {
            up_to += count;
            up_to
        })
        .collect();
    let first = cumulated.partition_point(|sum| *sum < (n / 4.0).floor());
    let third = cumulated.partition_point(|sum| *sum <= (n * 3.0 / 4.0).floor());
    let place = |index: usize| {
        taken
            .get(index.min(taken.len() - 1))
            .map_or(0.0, |one| one.0)
    };
    let range = place(third) - place(first);
    let width = 1.059 * (range / 1.34).min(deviation) * n.powf(-0.2);
    width.max(0.5 / 1.64)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::plan::search::Parameter;

    const CASES: &[u8] = include_bytes!("../../tests/reference/search/importance.json.gz");

    /// Cases written by `tests/reference/search/importance.py`, with Optuna's importances.
    #[derive(serde::Deserialize)]
    struct Cases {
        importances: Vec<Case>,
    }

    #[derive(serde::Deserialize)]
    struct Case {
        name: String,
        space: Space,
        quantile: f64,
        points: Vec<Vec<Option<f64>>>,
        losses: Vec<f64>,
        importances: Vec<f64>,
    }

    fn point(space: &Space, values: &[Option<f64>]) -> Point {
        let value = |(parameter, value): (&Parameter, &Option<f64>)| {
            value.map(|value| match parameter.domain {
                Domain::Choice { .. } => Value::Choice {
                    choice: value as usize,
                },
                Domain::Int { .. } => Value::Int(value as i64),
                Domain::Float { .. } => Value::Float(value),
            })
        };
        let values = space.parameters.iter().zip(values).map(value);
        Point {
            values: values.collect(),
        }
    }

    #[test]
    fn importances_are_those_of_optuna() {
        let mut text = String::new();
        let mut decoder = flate2::read::GzDecoder::new(CASES);
        decoder.read_to_string(&mut text).expect("gzip");
        let cases: Cases = serde_json::from_str(&text).expect("cases");
        assert_eq!(cases.importances.len(), 20);
        for case in cases.importances {
            let points = case.points.iter().map(|values| point(&case.space, values));
            let points: Vec<Point> = points.collect();
            let trials: Vec<(&Point, f64)> = points.iter().zip(case.losses).collect();
            let best = (case.quantile * trials.len() as f64).ceil() as usize;
            let found = of_best(&case.space, &trials, best).expect("a difference");
            for (own, optunas) in found.shares.iter().zip(&case.importances) {
                let name = &case.name;
                assert!((own - optunas).abs() < 1e-9, "{name}: {own} {optunas}");
            }
        }
    }

    /// Trials over two ranges; the loss depends on the first one.
    fn trials(count: usize) -> (Space, Vec<(Point, f64)>) {
        let parameter = |name: &str| Parameter {
            name: name.to_owned(),
            path: name.to_owned(),
            domain: Domain::Float {
                low: 0.0,
                high: 1.0,
                step: None,
                log: false,
            },
            when: None,
        };
        let parameters = vec![parameter("lr"), parameter("clip")];
        let trial = |number: usize| {
            // The golden ratio and the square root of 2 spread both ranges evenly.
            let at = |ratio: f64| (number as f64 * ratio).fract();
            let (lr, clip) = (at(0.618_033_988_75), at(std::f64::consts::SQRT_2));
            let values = [lr, clip].map(|value| Some(Value::Float(value)));
            let point = Point {
                values: values.into(),
            };
            (point, (lr - 0.3).abs())
        };
        (Space { parameters }, (0..count).map(trial).collect())
    }

    fn of(count: usize) -> Option<Importance> {
        let (space, trials) = trials(count);
        let trials: Vec<(&Point, f64)> =
            trials.iter().map(|(point, loss)| (point, *loss)).collect();
        importance(&space, &trials)
    }

    #[test]
    fn the_parameter_that_makes_the_loss_is_important() {
        let found = of(100).expect("a difference");
        assert!(found.shares[0] > 0.9, "{found:?}");
        assert_eq!((found.best, found.trials), (10, 100));
    }

    #[test]
    fn of_few_trials_five_are_the_best_and_of_fewer_nothing_is_said() {
        assert_eq!(of(20).map(|found| found.best), Some(5));
        assert_eq!(of(10).map(|found| found.best), Some(5));
        assert_eq!(of(9), None);
        assert_eq!(of(0), None);
    }

    #[test]
    fn equal_losses_say_nothing() {
        let (space, trials) = trials(30);
        let trials: Vec<(&Point, f64)> = trials.iter().map(|(point, _)| (point, 1.0)).collect();
        assert_eq!(importance(&space, &trials), None);
    }
}
