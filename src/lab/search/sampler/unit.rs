//! Maps a domain to the unit interval, so that a uniformly distributed position gives a uniform (or log-uniform) value.
//!
//! A discrete domain is divided into bins, one per value. The bins extend half a step beyond either end, so that the
//! ends are as likely as the other values. For a logarithmic integer the bin of `v` is `ln (v − ½) … ln (v + ½)`.
//!
//! # Source
//! Optuna's `FloatDistribution`, `IntDistribution`, `CategoricalDistribution` and `_SearchSpaceTransform`.

use crate::plan::search::{Domain, Parameter, Point, Space, Value};

/// A numeric range on its linear or logarithmic scale: a continuous domain, or all bins of a logarithmic integer.
struct Line {
    low: f64,
    high: f64,
    is_log: bool,
}

impl Line {
    /// The range of a domain; `None` if all its bins have the same width.
    fn of(domain: &Domain) -> Option<Self> {
        let (low, high, is_log) = match domain {
            Domain::Choice { .. }
            | Domain::Int { log: false, .. }
            | Domain::Float { step: Some(_), .. } => return None,
            Domain::Int { low, high, .. } => (*low as f64 - 0.5, *high as f64 + 0.5, true),
            Domain::Float { low, high, log, .. } => (*low, *high, *log),
        };
        let scaled = |end: f64| if is_log { libm::log(end) } else { end };
        Some(Self {
            low: scaled(low),
            high: scaled(high),
            is_log,
        })
    }

    fn at(&self, place: f64) -> f64 {
        let value = self.low + place * (self.high - self.low);
        if self.is_log { libm::exp(value) } else { value }
    }

    fn place_of(&self, value: f64) -> f64 {
        let value = if self.is_log { libm::log(value) } else { value };
        (value - self.low) / (self.high - self.low)
    }
}

/// Returns the number of values of the domain; `None` if it is continuous.
pub(super) fn levels(domain: &Domain) -> Option<usize> {
    Some(usize::try_from(domain.count()?).unwrap_or(usize::MAX))
}

/// Returns value number `index` of the domain, from 0; for a continuous domain the lower end.
pub(super) fn level(domain: &Domain, index: usize) -> Value {
    match domain {
        Domain::Choice { .. } => Value::Choice { choice: index },
        Domain::Int {
            low, high, step, ..
        } => {
            let value = i128::from(*low) + index as i128 * i128::from(*step);
            Value::Int(i64::try_from(value).map_or(*high, |value| value.min(*high)))
        }
        Domain::Float {
            low, high, step, ..
        } => {
            let value = |step: f64| tidy(low + index as f64 * step).clamp(*low, *high);
            Value::Float(step.map_or(*low, value))
        }
    }
}

/// Returns the value at position `place` (0 to 1) of the unit interval.
pub(super) fn value_at(domain: &Domain, place: f64) -> Value {
    match (domain, Line::of(domain)) {
        (Domain::Int { low, high, .. }, Some(line)) => {
            let value = libm::round(line.at(place));
            Value::Int((value as i64).clamp(*low, *high))
        }
        (Domain::Float { low, high, .. }, Some(line)) => {
            Value::Float(line.at(place).clamp(*low, *high))
        }
        _ => {
            let count = levels(domain).unwrap_or(1).max(1);
            level(domain, ((place * count as f64) as usize).min(count - 1))
        }
    }
}

/// Returns the position of a value in the unit interval: the middle of its bin, if the domain has bins of equal width.
pub(super) fn place_of(domain: &Domain, value: Value) -> f64 {
    match Line::of(domain) {
        Some(line) => line.place_of(value.as_f64()),
        None => bin_of(domain, value).map_or(0.5, |(from, to)| from.midpoint(to)),
    }
}

/// Returns the two ends of a value's bin in the unit interval; `None` if the domain is continuous.
pub(super) fn bin_of(domain: &Domain, value: Value) -> Option<(f64, f64)> {
    let value = value.as_f64();
    if let (Domain::Int { .. }, Some(line)) = (domain, Line::of(domain)) {
        return Some((line.place_of(value - 0.5), line.place_of(value + 0.5)));
    }
    let count = levels(domain)? as f64;
    let index = match domain {
        Domain::Choice { .. } => value,
        Domain::Int { low, step, .. } => (value - *low as f64) / *step as f64,
        Domain::Float { low, step, .. } => {
            step.map_or(0.0, |step| libm::round((value - low) / step))
        }
    };
    Some((index / count, (index + 1.0) / count))
}

/// `value` rounded to 14 digits: 0.3 instead of 0.30000000000000004.
fn tidy(value: f64) -> f64 {
    format!("{value:.13e}").parse().unwrap_or(value)
}

/// Builds a point by setting the parameters in order; `value` gives the value of each parameter that is active at the
/// point built so far.
pub(super) fn build_point(
    space: &Space,
    mut value: impl FnMut(usize, &Parameter) -> Value,
) -> Point {
    let mut point = Point::default();
    for (index, parameter) in space.parameters.iter().enumerate() {
        let is_active = space.is_active(index, &point);
        let value = is_active.then(|| value(index, parameter));
        point.values.push(value);
    }
    point
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::sampler::testing::{choice, float, float_step, int, int_log, log_float};

    /// How often each value occurs at 9,000 evenly spaced places.
    fn shares(domain: &Domain) -> Vec<(f64, f64)> {
        let mut counts: Vec<(f64, f64)> = Vec::new();
        for i in 0..9_000 {
            let value = value_at(domain, (f64::from(i) + 0.5) / 9_000.0).as_f64();
            match counts.last_mut() {
                Some((last, share)) if last.total_cmp(&value).is_eq() => *share += 1.0 / 9_000.0,
                _ => counts.push((value, 1.0 / 9_000.0)),
            }
        }
        counts
    }

    #[test]
    fn both_ends_are_as_likely_as_the_rest() {
        for domain in [
            int(4, 8, 1),
            int(-3, 6, 3),
            float_step(0.5, 2.0, 0.25),
            choice(3),
        ] {
            let shares = shares(&domain);
            assert_eq!(Some(shares.len()), levels(&domain));
            for (value, share) in &shares {
                let even = 1.0 / shares.len() as f64;
                assert!((share - even).abs() < 1e-3, "{value}: {share}, {domain:?}");
            }
        }
    }

    #[test]
    fn a_logarithmic_whole_number_is_as_likely_as_its_bin_is_long() {
        let shares = shares(&int_log(1, 100));
        let expected = |v: f64| ((v + 0.5) / (v - 0.5)).ln() / (100.5_f64 / 0.5).ln();
        for value in [1.0, 2.0, 100.0] {
            let (_, share) = shares
                .iter()
                .find(|(v, _)| v.total_cmp(&value).is_eq())
                .unwrap();
            assert!((share - expected(value)).abs() < 2e-3, "{value}: {share}");
        }
    }

    #[test]
    fn steps_give_round_numbers() {
        let domain = float_step(0.1, 0.7, 0.1);
        let values: Vec<f64> = (0..levels(&domain).unwrap())
            .map(|index| level(&domain, index).as_f64())
            .collect();
        assert_eq!(values, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]);
    }

    #[test]
    fn ranges_keep_their_ends_and_logarithms_halve_by_ratio() {
        assert_eq!(value_at(&float(-5.0, 10.0), 0.0), Value::Float(-5.0));
        assert_eq!(value_at(&float(-5.0, 10.0), 1.0), Value::Float(10.0));
        let middle = value_at(&log_float(1e-5, 1e-3), 0.5).as_f64();
        assert!((middle / 1e-4 - 1.0).abs() < 1e-12, "{middle}");
        let high = value_at(&log_float(1e-5, 1e-3), 1.0).as_f64();
        assert!((1e-5..=1e-3).contains(&high), "{high}");
    }

    #[test]
    fn the_place_of_a_value_gives_the_value_back() {
        for domain in [
            int(4, 8, 1),
            int_log(1, 1000),
            float(-2.0, 3.0),
            log_float(1e-6, 1.0),
            float_step(0.5, 2.0, 0.25),
            choice(5),
        ] {
            for i in 0..50 {
                let value = value_at(&domain, f64::from(i) / 49.0);
                let place = place_of(&domain, value);
                let again = value_at(&domain, place).as_f64();
                assert!(
                    (again - value.as_f64()).abs() < 1e-12,
                    "{value:?} {domain:?}"
                );
                if let Some((from, to)) = bin_of(&domain, value) {
                    assert!(from < place && place < to, "{from} {place} {to} {domain:?}");
                }
            }
        }
    }
}
