//! Generated five-dimensional regression.
//!
//! Rows come in blocks of 4,096, each with its own random stream: blocks are generated in parallel, and a larger dataset
//! begins with the rows of a smaller one. Normal variates are Box–Muller pairs computed with the crate `libm`, so that
//! the bytes are the same on every machine.

use std::f64::consts::{PI, TAU};
use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::generator::{digest, normal_pair, uniform};
use super::normalisation::scales;
use super::split::share_of;
use super::table::Table;
use super::{
    DatasetError, DatasetFacts, Features, NoiseFloor, OpenDataset, Splits, Target, Targets,
};
use crate::base::{Purpose, Seed};

/// Version of the generator, part of the fingerprint; increased when its output changes.
const VERSION: u32 = 1;
const COLUMNS: usize = 5;
const FORM: Features = Features::Vector { len: COLUMNS };
const TARGET: Target = Target::Values { len: 1 };
const BLOCK_ROWS: usize = 4096;
const SHARE: f64 = 0.15;
const WEIGHTS: [f64; COLUMNS] = [2.0, 0.5, -1.5, 0.8, -0.3];
/// Standard deviation of the noise that is added to the linear target.
const NOISE: f64 = 0.1;

/// Generated five-dimensional regression: linear with noise, or non-linear; split 70/15/15.
///
/// `floor(0.15 n)` rows each are validated and tested on. Features and target are normalised by the mean and the
/// population standard deviation (+1e-8) of the training rows alone. In normalised units the linear target's noise
/// leaves an MSE of 0.00138: less is a leak.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct RegressionSpec {
    /// Number of rows, of all splits.
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub samples: usize,
    /// The function to learn.
    pub target: RegressionTarget,
    /// Seed of the generated rows; how they are split depends on the run's seed.
    pub seed: u64,
}

impl Default for RegressionSpec {
    fn default() -> Self {
        Self {
            samples: 1000,
            target: RegressionTarget::Linear,
            seed: 0,
        }
    }
}

/// The function of the regression dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RegressionTarget {
    /// `y = 2 x0 + 0.5 x1 - 1.5 x2 + 0.8 x3 - 0.3 x4 + 0.1 e`, `x ~ N(0, 1)`.
    Linear,
    /// `y = sin(2π x0) + 0.5 x1² - 0.3 x2 + cos(π x3 x4)`, `x ~ U(-1, 1)`.
    Nonlinear,
}

impl RegressionSpec {
    #[expect(clippy::unnecessary_wraps, reason = "as of the other datasets")]
    pub(super) fn facts(&self) -> Result<DatasetFacts, DatasetError> {
        let held_out = share_of(self.samples, SHARE);
        let sizes = [self.samples - 2 * held_out, held_out, held_out];
        let fingerprint = digest(&format!(
            "regression-5d {VERSION} {} {:?} {}",
            self.samples, self.target, self.seed
        ));
        Ok(DatasetFacts::new(sizes, FORM, TARGET, Some(fingerprint)))
    }

    #[expect(clippy::unnecessary_wraps, reason = "as of the other datasets")]
    pub(super) fn open(&self, seed: Seed) -> Result<OpenDataset, DatasetError> {
        let held_out = share_of(self.samples, SHARE);
        let splits = Splits::random(self.samples, [held_out, held_out], seed);
        let mut table = self.generate(self.samples, Purpose::Data);
        let mut fresh = self.generate(held_out, Purpose::Fresh);
        let of_features = scales(table.numbers(), COLUMNS, &splits.train, 0.0);
        let of_target = scales(&table.targets.values, 1, &splits.train, 0.0);
        for part in [&mut table, &mut fresh] {
            part.normalise(of_features.clone());
            part.normalisation.set_targets(&of_target);
            part.normalisation
                .normalise_targets(&mut part.targets.values);
        }
        Ok(OpenDataset {
            fresh: Some(Arc::new(fresh)),
            ..OpenDataset::new(table, splits)
        })
    }

    /// The smallest error that the noise of the linear target allows; `None` for the non-linear target, which has no
    /// noise.
    pub(super) fn noise_floor(&self) -> Option<NoiseFloor> {
        if self.target != RegressionTarget::Linear {
            return None;
        }
        let noise = NOISE * NOISE;
        let signal: f64 = WEIGHTS.iter().map(|weight| weight * weight).sum();
        Some(NoiseFloor {
            mse: noise / (signal + noise),
            mse_original: noise,
            rows: share_of(self.samples, SHARE),
        })
    }

    /// Generates rows that are not normalised.
    fn generate(&self, rows: usize, purpose: Purpose) -> Table {
        let mut features = vec![0.0; rows * COLUMNS];
        let mut values = vec![0.0; rows];
        features
            .par_chunks_mut(BLOCK_ROWS * COLUMNS)
            .zip(values.par_chunks_mut(BLOCK_ROWS))
            .enumerate()
            .for_each(|(block, (features, values))| {
                let mut rng = Seed(self.seed).stream_at(purpose, &[block as u64]);
                for (x, y) in features.chunks_exact_mut(COLUMNS).zip(values) {
                    *y = self.target.draw(&mut rng, x);
                }
            });
        Table::new(FORM, features, Targets::of_values(TARGET, values))
    }
}

impl RegressionTarget {
    /// Draws one row into `x` and returns its target.
    fn draw(self, rng: &mut ChaCha8Rng, x: &mut [f32]) -> f32 {
        match self {
            Self::Linear => {
                let (a, b) = normal_pair(rng);
                let (c, d) = normal_pair(rng);
                let (e, noise) = normal_pair(rng);
                let drawn = [a, b, c, d, e];
                store(&drawn, x);
                let clean: f64 = drawn.iter().zip(WEIGHTS).map(|(x, w)| w * x).sum();
                (clean + NOISE * noise) as f32
            }
            Self::Nonlinear => {
                let drawn: [f64; COLUMNS] = std::array::from_fn(|_| 2.0 * uniform(rng) - 1.0);
                store(&drawn, x);
                let [a, b, c, d, e] = drawn;
                (libm::sin(TAU * a) + 0.5 * b * b - 0.3 * c + libm::cos(PI * d * e)) as f32
            }
        }
    }
}

fn store(drawn: &[f64; COLUMNS], x: &mut [f32]) {
    for (x, drawn) in x.iter_mut().zip(drawn) {
        *x = *drawn as f32;
    }
}

#[cfg(test)]
mod tests;
