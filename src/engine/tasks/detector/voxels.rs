//! Importance of each voxel to a denoiser: gradient, ablation and Shapley values.
//!
//! Zeroing voxel i adds `-√ᾱ x_i W[i, :]` to the output of the first layer, so each score needs only one more row
//! through the remaining layers, not a product over all voxels. A voxel that an event does not hit is zero already: it
//! contributes exactly 0 and is skipped.

use rand::Rng;
use rand::seq::SliceRandom;
use rand_distr::StandardNormal;

use super::Detector;
use super::events::Events;
use crate::base::{Purpose, Seed};
use crate::ops::{Kernels, Pass, Result, Var, mse};
use crate::tasks::Assessment;

const BATCH: usize = 256;
/// First number of the keys of random streams; 1 and 2 are used in `verification.rs`.
const NOISE: u64 = 3;
const ORDER: u64 = 4;

/// Events with noise added at one diffusion time, with the output of the model's first layer.
pub(super) struct NoisedEvents<D: Kernels> {
    time: usize,
    noised: Var<D>,
    phi: Vec<Vec<f32>>,
    noise: Vec<Vec<f32>>,
    /// For each event: the indices of the hit voxels, and their share of the input of the first layer, `√ᾱ x_i`.
    hits: Vec<Vec<(usize, f32)>>,
    /// Output of the first layer, `(events, hidden)`.
    signal: Vec<f32>,
    /// Weight of the first layer, `(voxels, hidden)`.
    weight: Vec<f32>,
    hidden: usize,
}

impl<D: Kernels> NoisedEvents<D> {
    fn events(&self) -> usize {
        self.phi.len()
    }

    fn signal(&self, event: usize) -> &[f32] {
        &self.signal[event * self.hidden..][..self.hidden]
    }

    /// Adds `factor` times the contribution of a hit voxel, with the input `size`, to `row`, an output of the first
    /// layer.
    fn add(&self, row: &mut [f32], (voxel, size): (usize, f32), factor: f32) {
        let weight = &self.weight[voxel * self.hidden..][..self.hidden];
        for (value, weight) in row.iter_mut().zip(weight) {
            *value += factor * size * weight;
        }
    }
}

impl<D: Kernels> Detector<D> {
    /// Adds noise to every event at the diffusion time `time` and computes the first layer.
    pub(super) fn prepare_noised_events(
        &self,
        device: &D,
        events: &Events,
        time: usize,
        seed: Seed,
    ) -> Result<NoisedEvents<D>> {
        let voxels = self.size.voxels;
        let kept = self.schedule.alpha_bar(time).sqrt() as f32;
        let mut noised = events.values().to_vec();
        let mut noise = Vec::with_capacity(events.len());
        for (event, signal) in noised.chunks_exact_mut(voxels).enumerate() {
            let mut rng = seed.stream_at(Purpose::Sampling, &[NOISE, event as u64]);
            let drawn: Vec<f32> = (0..voxels).map(|_| rng.sample(StandardNormal)).collect();
            self.schedule.add_noise(signal, &drawn, time);
            noise.push(drawn);
        }
        let noised = Var::constant(device, noised, [events.len(), voxels])?;
        let signal = self
            .model
            .first_layer_output(&mut Pass::inference(device), &noised)?;
        let weight = self.model.first_layer_weight();
        let hits = |signal: &[f32]| {
            let hit = signal.iter().enumerate().filter(|(_, x)| **x != 0.0);
            hit.map(|(voxel, x)| (voxel, kept * x)).collect()
        };
        Ok(NoisedEvents {
            time,
            phi: events.numbers().map(<[f32]>::to_vec).collect(),
            noise,
            hits: events.signals().map(hits).collect(),
            signal: signal.to_host(device)?,
            weight: weight.to_host(device)?,
            hidden: signal.shape().last(),
            noised,
        })
    }

    /// For each voxel i: mean over events of `|d Σ ε̂² / d x_i|`, with ε̂ the noise estimated from the noised signal x.
    pub(super) fn gradient_scores(&self, device: &D, asked: &NoisedEvents<D>) -> Result<Vec<f64>> {
        let events = asked.events();
        let x = asked.noised.leaf(device)?;
        let phi = Var::constant(device, asked.phi.concat(), [events, self.size.phi])?;
        let mut pass = Pass::recording(device);
        let times = vec![asked.time; events];
        let estimate = self.model.forward(&mut pass, &x, &times, &phi)?;
        let len = estimate.shape().len();
        let zeros = Var::constant(device, vec![0.0; len], estimate.shape())?;
        let square = mse(&mut pass, &estimate, &zeros)?;
        // The backward pass starts from the sum of squares, which is the mean times the number of values. Rows are
        // independent, so one backward pass gives the gradients of all events.
        let mut grads = pass.backward(&square, len as f32)?;
        let gradient = device.download(grads.of(&x)?)?;
        let mut scores = vec![0.0; self.size.voxels];
        for row in gradient.chunks_exact(self.size.voxels) {
            for (score, value) in scores.iter_mut().zip(row) {
                *score += f64::from(value.abs()) / events as f64;
            }
        }
        Ok(scores)
    }

    /// For each voxel i: mean over events of how much the mean squared error of the noise rises when `x_i` is zeroed.
    pub(super) fn ablation_scores(
        &self,
        device: &D,
        asked: &NoisedEvents<D>,
        found: &mut Assessment<'_>,
    ) -> Result<Vec<f64>> {
        let events = asked.events();
        let mut scores = vec![0.0; self.size.voxels];
        for event in 0..events {
            let hits = &asked.hits[event];
            let whole = std::iter::once(asked.signal(event).to_vec());
            let without = hits.iter().map(|hit| {
                let mut row = asked.signal(event).to_vec();
                asked.add(&mut row, *hit, -1.0);
                row
            });
            let errors = self.errors(device, asked, event, whole.chain(without))?;
            for ((voxel, _), error) in hits.iter().zip(&errors[1..]) {
                scores[*voxel] += (error - errors[0]) / events as f64;
            }
            found.progress("ablation", event + 1, events);
        }
        Ok(scores)
    }

    /// Shapley value of each voxel for the decrease of the noise's mean squared error, estimated by sampling: for each
    /// event, voxels are added in `orders` random orders; the value is the mean decrease that adding the voxel causes.
    ///
    /// # Source
    /// Castro, Gómez & Tejada 2009.
    pub(super) fn shapley_values(
        &self,
        device: &D,
        asked: &NoisedEvents<D>,
        orders: u64,
        seed: Seed,
        found: &mut Assessment<'_>,
    ) -> Result<Vec<f64>> {
        let events = asked.events();
        let share = 1.0 / (events as f64 * orders as f64);
        let mut values = vec![0.0; self.size.voxels];
        for event in 0..events {
            let mut silent = asked.signal(event).to_vec();
            for hit in &asked.hits[event] {
                asked.add(&mut silent, *hit, -1.0);
            }
            for order in 0..orders {
                let mut hits = asked.hits[event].clone();
                let place = [ORDER, event as u64, order];
                hits.shuffle(&mut seed.stream_at(Purpose::Sampling, &place));
                let mut row = silent.clone();
                let added = hits.iter().map(|hit| {
                    asked.add(&mut row, *hit, 1.0);
                    row.clone()
                });
                let rows = std::iter::once(silent.clone()).chain(added);
                let errors = self.errors(device, asked, event, rows)?;
                for ((voxel, _), pair) in hits.iter().zip(errors.windows(2)) {
                    values[*voxel] += share * (pair[0] - pair[1]);
                }
            }
            found.progress("shapley", event + 1, events);
        }
        Ok(values)
    }

    /// Mean squared error of the estimated noise of event `event`, for every row of first-layer outputs in `rows`.
    fn errors(
        &self,
        device: &D,
        asked: &NoisedEvents<D>,
        event: usize,
        rows: impl Iterator<Item = Vec<f32>>,
    ) -> Result<Vec<f64>> {
        let (mut errors, mut rows) = (Vec::new(), rows.peekable());
        while rows.peek().is_some() {
            let batch: Vec<f32> = rows.by_ref().take(BATCH).flatten().collect();
            let count = batch.len() / asked.hidden;
            let signal = Var::constant(device, batch, [count, asked.hidden])?;
            let phi = asked.phi[event].repeat(count);
            let phi = Var::constant(device, phi, [count, self.size.phi])?;
            let mut pass = Pass::inference(device);
            let times = vec![asked.time; count];
            let estimate = self
                .model
                .after_first_layer(&mut pass, &signal, &times, &phi)?;
            let estimate = estimate.to_host(device)?;
            let each = estimate.chunks_exact(self.size.voxels);
            errors.extend(each.map(|row| mean_square(row, &asked.noise[event])));
        }
        Ok(errors)
    }
}

fn mean_square(a: &[f32], b: &[f32]) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| {
        let difference = f64::from(a - b);
        difference * difference
    });
    squares.sum::<f64>() / a.len() as f64
}

#[cfg(test)]
mod tests {
    use super::super::tests::{VOXELS, data, task};
    use super::*;
    use crate::losses::DetectorNoiseSpec;
    use crate::ops::testing::{self, TestDevice};

    fn asked(
        task: &Detector<TestDevice>,
        device: &TestDevice,
    ) -> (NoisedEvents<TestDevice>, Events) {
        let data = data(6);
        let events = Events::read(&*data.dataset, &[0, 1, 2, 3]).unwrap();
        (
            task.prepare_noised_events(device, &events, 500, Seed(3))
                .unwrap(),
            events,
        )
    }

    /// Mean squared error of the noise that the whole model estimates for event `event`, whose clean signal is `x`.
    fn error(
        task: &Detector<TestDevice>,
        asked: &NoisedEvents<TestDevice>,
        event: usize,
        x: &[f32],
    ) -> f64 {
        let device = testing::device();
        let mut noised = x.to_vec();
        task.schedule
            .add_noise(&mut noised, &asked.noise[event], 500);
        let noised = Var::constant(&device, noised, [1, VOXELS]).unwrap();
        let phi = Var::constant(&device, asked.phi[event].clone(), [1, 22]).unwrap();
        let mut pass = Pass::inference(&device);
        let estimate = task
            .model
            .forward(&mut pass, &noised, &[500], &phi)
            .unwrap();
        mean_square(&estimate.to_host(&device).unwrap(), &asked.noise[event])
    }

    #[test]
    fn the_ablation_is_that_of_the_whole_model() {
        let (device, task) = (testing::device(), task(&DetectorNoiseSpec::default()));
        let (asked, events) = asked(&task, &device);
        let mut progress = |_: &str, _, _| ();
        let mut found = Assessment::new(&mut progress);
        let scores = task.ablation_scores(&device, &asked, &mut found).unwrap();
        for voxel in 0..VOXELS {
            let rise = events.signals().enumerate().map(|(event, x)| {
                let mut without = x.to_vec();
                without[voxel] = 0.0;
                error(&task, &asked, event, &without) - error(&task, &asked, event, x)
            });
            let expected = rise.sum::<f64>() / 4.0;
            assert!((scores[voxel] - expected).abs() < 1e-6, "voxel {voxel}");
        }
        assert!(scores.iter().any(|score| score.abs() > 1e-4));
    }

    #[test]
    fn shapley_values_sum_to_the_effect_of_all_voxels() {
        let (device, task) = (testing::device(), task(&DetectorNoiseSpec::default()));
        let (asked, events) = asked(&task, &device);
        let mut progress = |_: &str, _, _| ();
        let mut found = Assessment::new(&mut progress);
        let values = task
            .shapley_values(&device, &asked, 3, Seed(5), &mut found)
            .unwrap();
        let whole = events.signals().enumerate().map(|(event, x)| {
            let silent = vec![0.0; VOXELS];
            error(&task, &asked, event, &silent) - error(&task, &asked, event, x)
        });
        let (sum, expected) = (values.iter().sum::<f64>(), whole.sum::<f64>() / 4.0);
        assert!((sum - expected).abs() < 1e-5, "{sum} {expected}");
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let (device, task) = (testing::device(), task(&DetectorNoiseSpec::default()));
        let (asked, _) = asked(&task, &device);
        let scores = task.gradient_scores(&device, &asked).unwrap();
        let noised = asked.noised.to_host(&device).unwrap();
        let phi = Var::constant(&device, asked.phi.concat(), [4, 22]).unwrap();
        let squares = |values: Vec<f32>| -> Vec<f64> {
            let x = Var::constant(&device, values, [4, VOXELS]).unwrap();
            let mut pass = Pass::inference(&device);
            let estimate = task.model.forward(&mut pass, &x, &[500; 4], &phi).unwrap();
            let estimate = estimate.to_host(&device).unwrap();
            let rows = estimate.chunks(VOXELS);
            rows.map(|row| row.iter().map(|e| f64::from(*e).powi(2)).sum())
                .collect()
        };
        for voxel in [0, 7, 39] {
            let shifted = |by: f32| {
                let mut values = noised.clone();
                (0..4).for_each(|event| values[event * VOXELS + voxel] += by);
                squares(values)
            };
            let (up, down) = (shifted(0.01), shifted(-0.01));
            let slopes = up.iter().zip(&down).map(|(u, d)| ((u - d) / 0.02).abs());
            let expected = slopes.sum::<f64>() / 4.0;
            let error = (scores[voxel] - expected).abs();
            assert!(
                error < 1e-2 * expected.max(0.1),
                "{} {expected}",
                scores[voxel]
            );
        }
    }
}
