//! Maps a domain to the unit interval, so that a uniform place gives a uniform (or log-uniform) value.
//!
//! A discrete domain is divided into bins, one per value. The bins extend half a step beyond either end, so that the ends
//! are as likely as the other values. For a logarithmic integer the bin of `v` is `ln (v − ½) … ln (v + ½)`.
//!
//! # Source
//! Optuna's `FloatDistribution`, `IntDistribution`, `CategoricalDistribution` and `_SearchSpaceTransform`.

use crate::plan::search::{Domain, Value};

/// Returns the number of values of the domain; `None` if it is continuous.
pub(super) fn levels(domain: &Domain) -> Option<usize> {
    match domain {
        Domain::Float {
            low,
            high,
            step: None,
            ..
        } => (low >= high).then_some(1),
        _ => domain
            .count()
            .map(|count| usize::try_from(count).unwrap_or(usize::MAX)),
    }
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
            low,
            high,
            step: Some(step),
            ..
        } => Value::Float(tidy(low + index as f64 * step).clamp(*low, *high)),
        Domain::Float { low, .. } => Value::Float(*low),
    }
}

/// Returns the value at `place` (0 to 1).
pub(super) fn value_at(domain: &Domain, place: f64) -> Value {
    match domain {
        Domain::Int {
            low,
            high,
            log: true,
            ..
        } => {
            let (bottom, top) = log_ends(*low, *high);
            let value = libm::round(libm::exp(bottom + place * (top - bottom)));
            Value::Int((value as i64).clamp(*low, *high))
        }
        Domain::Float {
            low,
            high,
            step: None,
            log,
        } => {
            let value = if *log {
                let (bottom, top) = (libm::log(*low), libm::log(*high));
                libm::exp(bottom + place * (top - bottom))
            } else {
                low + place * (high - low)
            };
            Value::Float(value.clamp(*low, *high))
        }
        _ => {
            let count = levels(domain).unwrap_or(1).max(1);
            level(domain, ((place * count as f64) as usize).min(count - 1))
        }
    }
}

/// Returns the place of a value: the middle of its bin, if the domain has bins.
pub(super) fn place_of(domain: &Domain, value: Value) -> f64 {
    match domain {
        Domain::Int {
            low,
            high,
            log: true,
            ..
        } => {
            let (bottom, top) = log_ends(*low, *high);
            (libm::log(value.as_f64()) - bottom) / (top - bottom)
        }
        Domain::Float {
            low,
            high,
            step: None,
            log: true,
        } => {
            let (bottom, top) = (libm::log(*low), libm::log(*high));
            (libm::log(value.as_f64()) - bottom) / (top - bottom)
        }
        Domain::Float {
            low,
            high,
            step: None,
            ..
        } => (value.as_f64() - low) / (high - low),
        _ => bin_of(domain, value).map_or(0.5, |(from, to)| from.midpoint(to)),
    }
}

/// Returns the bin of a value; `None` if the domain is continuous.
pub(super) fn bin_of(domain: &Domain, value: Value) -> Option<(f64, f64)> {
    if let Domain::Int {
        low,
        high,
        log: true,
        ..
    } = domain
    {
        let (bottom, top) = log_ends(*low, *high);
        let at = |edge: f64| (libm::log(edge) - bottom) / (top - bottom);
        return Some((at(value.as_f64() - 0.5), at(value.as_f64() + 0.5)));
    }
    let count = levels(domain)? as f64;
    let index = match domain {
        Domain::Choice { .. } => value.as_f64(),
        Domain::Int { low, step, .. } => (value.as_f64() - *low as f64) / *step as f64,
        Domain::Float { low, step, .. } => {
            step.map_or(0.0, |step| libm::round((value.as_f64() - low) / step))
        }
    };
    Some((index / count, (index + 1.0) / count))
}

/// The ends of a logarithmic integer range, extended by half a step.
fn log_ends(low: i64, high: i64) -> (f64, f64) {
    (libm::log(low as f64 - 0.5), libm::log(high as f64 + 0.5))
}

/// `value` rounded to 14 digits: 0.3 instead of 0.30000000000000004.
fn tidy(value: f64) -> f64 {
    format!("{value:.13e}").parse().unwrap_or(value)
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
