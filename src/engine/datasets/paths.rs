//! Generated paths of stochastic processes.
//!
//! Every path has its own random stream: a larger dataset begins with the paths of a smaller one. Normal variates are
//! Box–Muller pairs, and all functions come from the crate `libm`, so that the bytes are the same on every machine.

use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::generator::digest;
use super::split::validation_rows;
use super::table::Table;
use super::{DatasetError, DatasetFacts, Features, OpenDataset, Splits, Target, Targets};
use crate::base::{Purpose, Seed};
use process::Normals;

mod process;

pub use process::PathProcess;

/// Version of the generator, part of the fingerprint; increased when its output changes.
const VERSION: u32 = 1;
/// Number of rows of a sample: times and values.
const CHANNELS: usize = 2;

/// Generated paths of a stochastic process on evenly spaced points of `[0, 1]`: a row of times, a row of values.
///
/// Rows are samples of one law: `validation.fraction` of them, drawn from the run's seed, are kept for validation; the
/// others are trained on in the order in which they were generated. There is no target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct PathsSpec {
    /// The stochastic process.
    pub process: PathProcess,
    /// Number of paths.
    #[schemars(range(min = 1, max = 4_294_967_295_u32))]
    pub samples: usize,
    /// Points of a path.
    #[schemars(range(min = 2, max = 1_000_000))]
    pub points: usize,
    /// Seed of the generated paths; how they are split depends on the run's seed.
    pub seed: u64,
}

impl Default for PathsSpec {
    fn default() -> Self {
        Self {
            process: PathProcess::default(),
            samples: 256,
            points: 100,
            seed: 0,
        }
    }
}

impl PathsSpec {
    pub(super) fn facts(&self, validation_fraction: f64) -> Result<DatasetFacts, DatasetError> {
        let validation = validation_rows(self.samples, validation_fraction)?;
        let sizes = [self.samples - validation, validation, 0];
        let fingerprint = digest(&format!(
            "paths {VERSION} {:?} {} {} {}",
            self.process, self.samples, self.points, self.seed
        ));
        let form = self.form();
        Ok(DatasetFacts::new(
            sizes,
            form,
            Target::None,
            Some(fingerprint),
        ))
    }

    pub(super) fn open(
        &self,
        seed: Seed,
        validation_fraction: f64,
    ) -> Result<OpenDataset, DatasetError> {
        let validation = validation_rows(self.samples, validation_fraction)?;
        let mut splits = Splits::random(self.samples, [validation, 0], seed);
        splits.train.sort_unstable();
        splits.validation.sort_unstable();
        Ok(OpenDataset::new(self.generate(), splits))
    }

    fn form(&self) -> Features {
        Features::Path {
            points: self.points,
        }
    }

    fn generate(&self) -> Table {
        let mut features = vec![0.0; self.samples * CHANNELS * self.points];
        features
            .par_chunks_mut(CHANNELS * self.points)
            .enumerate()
            .for_each(|(row, sample)| {
                let (times, values) = sample.split_at_mut(self.points);
                for (index, time) in times.iter_mut().enumerate() {
                    *time = (index as f64 / (self.points - 1) as f64) as f32;
                }
                let mut rng = Seed(self.seed).stream_at(Purpose::Data, &[row as u64]);
                self.process.draw(&mut rng, values);
            });
        let targets = Targets::of_values(Target::None, Vec::new());
        Table::new(self.form(), features, targets)
    }
}

impl PathProcess {
    /// Draws the values of a path at evenly spaced points of `[0, 1]` and writes them to `values`.
    pub fn draw(self, rng: &mut ChaCha8Rng, values: &mut [f32]) {
        let steps = values.len().saturating_sub(1).max(1);
        let mut normals = Normals::new(rng);
        self.simulate(&mut normals, steps, &mut |index, value| {
            if let Some(slot) = values.get_mut(index) {
                *slot = value as f32;
            }
        });
    }
}

#[cfg(test)]
mod tests;
