//! [`Mixture`]: the density of a set of trials over a group of parameters.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::plan::search::{Domain, Value};

use super::kernels::Kernels;

/// Number of newest trials with full weight.
const FULL_WEIGHT: usize = 25;

/// A weighted sum of kernels, each a product over the parameters: one per trial, and a flat one.
#[derive(Debug)]
pub(super) struct Mixture {
    /// Weights of the kernels, with sum 1.
    weights: Vec<f64>,
    /// Weights times the constant factors of the kernels' densities.
    scaled: Vec<f64>,
    /// Kernels of each parameter.
    parameters: Vec<Kernels>,
}

impl Mixture {
    /// Estimates the density of good trials, with equal weights. `rows`: (trials, parameters).
    pub(super) fn of_good(domains: &[&Domain], rows: &[Vec<Value>]) -> Self {
        Self::new(domains, rows, vec![1.0; rows.len()])
    }

    /// Estimates the density of the other trials, with smaller weights for old ones. `rows`: (trials, parameters), by
    /// number.
    pub(super) fn of_bad(domains: &[&Domain], rows: &[Vec<Value>]) -> Self {
        Self::new(domains, rows, ramp(rows.len()))
    }

    fn new(domains: &[&Domain], rows: &[Vec<Value>], mut weights: Vec<f64>) -> Self {
        weights.push(1.0);
        let sum: f64 = weights.iter().sum();
        for weight in &mut weights {
            *weight /= sum;
        }
        let parameters = domains.iter().enumerate().map(|(i, domain)| {
            let observed: Vec<Value> = rows.iter().map(|row| row[i]).collect();
            Kernels::new(domain, &observed)
        });
        let parameters: Vec<Kernels> = parameters.collect();
        let mut scaled = weights.clone();
        for (kernels, domain) in parameters.iter().zip(domains) {
            kernels.scale(domain, &mut scaled);
        }
        Self {
            weights,
            scaled,
            parameters,
        }
    }

    pub(super) fn draw(&self, domains: &[&Domain], rng: &mut ChaCha8Rng) -> Vec<Value> {
        let mut left = rng.gen_range(0.0..1.0);
        let mut kernel = self.weights.len() - 1;
        for (index, weight) in self.weights.iter().enumerate() {
            if left < *weight {
                kernel = index;
                break;
            }
            left -= weight;
        }
        let parameters = self.parameters.iter().zip(domains);
        let values = parameters.map(|(kernels, domain)| kernels.draw(domain, kernel, rng));
        values.collect()
    }

    pub(super) fn densities(&self, domains: &[&Domain], candidates: &[Vec<Value>]) -> Vec<f64> {
        let density = |candidate: &Vec<Value>| {
            let mut factors = self.scaled.clone();
            let mut exponents = vec![0.0; factors.len()];
            for ((kernels, domain), value) in self.parameters.iter().zip(domains).zip(candidate) {
                kernels.weigh(domain, *value, &mut factors, &mut exponents);
            }
            let kernels = factors.iter().zip(&exponents);
            let terms = kernels.map(|(factor, exponent)| factor * libm::exp(-0.5 * exponent));
            terms.sum()
        };
        candidates.iter().map(density).collect()
    }
}

/// Returns weights by age: 1 for the newest 25; older ones increase linearly from `1 / n` to 1.
fn ramp(count: usize) -> Vec<f64> {
    let rising = count.saturating_sub(FULL_WEIGHT);
    let first = 1.0 / count.max(1) as f64;
    (0..count)
        .map(|index| match index {
            _ if index >= rising => 1.0,
            0 => first,
            _ => first + (1.0 - first) * index as f64 / (rising - 1) as f64,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Purpose, Seed};
    use crate::search::sampler::testing::{choice, float, int};

    #[test]
    fn the_newest_25_weigh_the_same_and_the_oldest_least() {
        assert_eq!(ramp(3), [1.0; 3]);
        // optuna.samplers._tpe.sampler.default_weights(28)
        let expected = [0.035_714_285_714_285_71, 0.517_857_142_857_142_8, 1.0, 1.0];
        for (found, expected) in ramp(28).iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
        assert!((ramp(26)[0] - 1.0 / 26.0).abs() < 1e-12);
    }

    #[test]
    fn draws_follow_the_density() {
        let (continuous, whole, chosen) = (float(0.0, 1.0), int(0, 3, 1), choice(3));
        let domains = [&continuous, &whole, &chosen];
        let row = |x, k, choice| vec![Value::Float(x), Value::Int(k), Value::Choice { choice }];
        let rows = [row(0.2, 0, 2), row(0.25, 3, 2), row(0.9, 3, 0)];
        let mixture = Mixture::of_good(&domains, &rows);
        // Probability of each of 10 × 4 × 3 cells, from the density at the midpoints of 20 parts per cell.
        let mut cells = vec![0.0; 120];
        for (cell, probability) in cells.iter_mut().enumerate() {
            let (slice, k, choice) = (cell / 12, i64::try_from(cell / 3 % 4).unwrap(), cell % 3);
            let parts: Vec<Vec<Value>> = (0..20)
                .map(|part| {
                    row(
                        (slice as f64 + (f64::from(part) + 0.5) / 20.0) / 10.0,
                        k,
                        choice,
                    )
                })
                .collect();
            *probability = mixture.densities(&domains, &parts).iter().sum::<f64>() / 200.0;
        }
        let sum: f64 = cells.iter().sum();
        assert!((sum - 1.0).abs() < 1e-3, "{sum}");
        let mut rng = Seed(5).stream(Purpose::Search);
        let mut shares = vec![0.0; 120];
        for _ in 0..20_000 {
            let drawn = mixture.draw(&domains, &mut rng);
            let slice = (drawn[0].as_f64() * 10.0) as usize;
            let cell = slice.min(9) * 12 + drawn[1].as_f64() as usize * 3;
            shares[cell + drawn[2].as_f64() as usize] += 1.0 / 20_000.0;
        }
        for (cell, (share, probability)) in shares.iter().zip(&cells).enumerate() {
            let spread = (probability / 20_000.0).sqrt();
            assert!(
                (share - probability).abs() < 5.0 * spread,
                "{cell}: {share} {probability}"
            );
        }
    }
}
