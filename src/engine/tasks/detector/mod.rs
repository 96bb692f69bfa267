//! Diffusion on detector signals: the model estimates the noise from the noised signal, the diffusion time and the
//! numbers that describe the event (`phi`).
//!
//! A sample's features are `phi`, its target values are the signal. Noise is drawn on the host from one random stream
//! per signal, so that several threads can draw; this time counts as the step's residual, `other`.

mod events;
mod scores;
mod selection;
mod spec;
mod verification;
mod voxels;

pub use spec::{SelectionSpec, VerificationSpec};

use rand::Rng;
use rand_distr::StandardNormal;

use super::backprop::{Backprop, DrawKey, Objective};
use super::noise_schedule::NoiseSchedule;
use super::workload::{BuiltTask, ReferenceDataKind, ReferenceFiles, Workload};
use super::{Assessment, AssessmentInputs, OutputKind, ReferenceInputs, TaskError, TaskParts};
use crate::base::{Purpose, Seed};
use crate::datasets::{DatasetFacts, DatasetSpec, Features, Target};
use crate::layers::Init;
use crate::loader::Batch;
use crate::losses::{DetectorNoiseSpec, LossSpec, Signals};
use crate::models::{Denoiser, DenoiserSize, DetectorAltSpec, DetectorNeuSpec};
use crate::ops::parallel::for_each_chunk_pair;
use crate::ops::{Kernels, Module, Pass, Result, Var};
use events::Events;

pub(super) struct Detector<D: Kernels> {
    model: Denoiser<D>,
    loss: DetectorNoiseSpec,
    schedule: NoiseSchedule,
    size: DenoiserSize,
    seed: Seed,
}

/// A batch on the device: noised signals `x` and `noise`, both `(B, voxels)`; B diffusion times; `phi: (B, 22)`.
pub(super) struct Noised<D: Kernels> {
    x: Var<D>,
    noise: Var<D>,
    times: Vec<usize>,
    phi: Var<D>,
    /// The signals without noise, `(B, voxels)`; `None` if the loss has no physics terms.
    clean: Option<Var<D>>,
}

pub(super) struct Drawn {
    noised: Vec<f32>,
    noise: Vec<f32>,
    times: Vec<usize>,
    phi: Vec<f32>,
    clean: Option<Vec<f32>>,
}

impl<D: Kernels> Detector<D> {
    /// The task for signals of `size.voxels` voxels.
    fn new(model: Denoiser<D>, loss: &DetectorNoiseSpec, size: DenoiserSize, seed: Seed) -> Self {
        Self {
            model,
            loss: loss.clone(),
            schedule: NoiseSchedule::linear(loss.timesteps, loss.betas),
            size,
            seed,
        }
    }
}

impl<D: Kernels> Objective<D> for Detector<D> {
    type Drawn = Drawn;
    type Inputs = Noised<D>;

    fn module(&mut self) -> &mut dyn Module<D> {
        &mut self.model
    }

    /// Draws the diffusion times, then the noise of each signal from a stream of its own, and adds the noise to the
    /// signals.
    fn draw(&self, batch: Batch, draw: DrawKey) -> Drawn {
        let mut rng = draw.noise(self.seed, &[]);
        let times: Vec<usize> = (0..batch.size)
            .map(|_| rng.gen_range(0..self.size.timesteps))
            .collect();
        let clean = self.loss.has_physics().then(|| batch.values.clone());
        let (voxels, mut noised) = (self.size.voxels, batch.values);
        let mut noise = vec![0.0; noised.len()];
        // The closure must not capture `self`: the model is not `Sync`.
        let (seed, schedule) = (self.seed, &self.schedule);
        for_each_chunk_pair(&mut noised, &mut noise, voxels, |start, signal, noise| {
            let row = start / voxels;
            let mut rng = draw.noise(seed, &[row as u64]);
            for value in noise.iter_mut() {
                *value = rng.sample(StandardNormal);
            }
            schedule.add_noise(signal, noise, times[row]);
        });
        Drawn {
            noised,
            noise,
            times,
            phi: batch.features,
            clean,
        }
    }

    fn reference(&self, inputs: &mut ReferenceInputs) -> Result<Drawn> {
        let voxels = [self.size.voxels];
        let noised = inputs.floats("x_t", &voxels);
        let noise = inputs.floats("eps", &voxels);
        let physics = self.loss.has_physics();
        let clean = physics.then(|| inputs.floats("x0", &voxels));
        let phi = inputs.floats("phi", &[self.size.phi]);
        let times = inputs.indices("t", &[], self.size.timesteps);
        inputs.finish()?;
        Ok(Drawn {
            noised,
            noise,
            times,
            phi,
            clean,
        })
    }

    fn upload(&self, device: &D, drawn: Drawn) -> Result<Noised<D>> {
        let rows = drawn.times.len();
        let shape = [rows, self.size.voxels];
        let clean = drawn
            .clean
            .map(|clean| Var::constant(device, clean, shape))
            .transpose()?;
        Ok(Noised {
            x: Var::constant(device, drawn.noised, shape)?,
            noise: Var::constant(device, drawn.noise, shape)?,
            times: drawn.times,
            phi: Var::constant(device, drawn.phi, [rows, self.size.phi])?,
            clean,
        })
    }

    fn meaning(&self) -> OutputKind {
        OutputKind::Estimates
    }

    fn forward(&self, pass: &mut Pass<D>, inputs: &Noised<D>) -> Result<Var<D>> {
        self.model
            .forward(pass, &inputs.x, &inputs.times, &inputs.phi)
    }

    fn loss(&self, pass: &mut Pass<D>, output: &Var<D>, inputs: &Noised<D>) -> Result<Var<D>> {
        let times = inputs.times.iter();
        let alpha_bars: Vec<f32> = times.map(|t| self.schedule.alpha_bar(*t) as f32).collect();
        let signals = inputs.clean.as_ref().map(|clean| Signals {
            noised: &inputs.x,
            clean,
            alpha_bars: &alpha_bars,
        });
        self.loss.loss(pass, output, &inputs.noise, signals)
    }

    fn assess(
        &mut self,
        device: &D,
        assess: &AssessmentInputs<'_>,
        found: &mut Assessment<'_>,
    ) -> Result<(), TaskError> {
        let data = assess.data;
        if let Some(spec) = assess.verification {
            let held_out = &data.splits.validation;
            let rows = if held_out.is_empty() {
                &data.splits.train
            } else {
                held_out
            };
            let rows = &rows[..spec.events.min(rows.len())];
            let events = Events::read(&*data.dataset, rows)?;
            self.verify(device, spec, &events, assess.seed, found)?;
        }
        if let Some(spec) = assess.selection {
            self.select(device, spec, data, assess.seed, found)?;
        }
        Ok(())
    }
}

/// Implements [`Workload`] for one kind of denoiser.
macro_rules! denoiser {
    ($spec:ty, $kind:literal, $model:path) => {
        impl Workload for $spec {
            fn misfit(&self, facts: &DatasetFacts, loss: &LossSpec) -> Option<String> {
                misfit($kind, self.check(), facts, loss)
            }

            fn default_loss(&self, _dataset: &DatasetSpec) -> LossSpec {
                LossSpec::DetectorNoise(DetectorNoiseSpec::default())
            }

            fn forward_flops(&self, features: Features, target: Target) -> Option<f64> {
                Some(self.forward_flops(features.len(), target.values_len()))
            }

            fn reference_data_kind(&self, files: &ReferenceFiles<'_>) -> ReferenceDataKind {
                let (phi, x) = (files.inputs.len_of("phi")?, files.inputs.len_of("x_t")?);
                Ok(Some((
                    Features::Vector { len: phi },
                    Target::Values { len: x },
                )))
            }

            fn build<D: Kernels>(&self, device: &D, parts: TaskParts<'_>) -> BuiltTask<D> {
                build(device, parts, |init, size| {
                    Ok($model(Box::new(self.build(init, size)?)))
                })
            }
        }
    };
}
denoiser!(DetectorAltSpec, "detector-alt", Denoiser::Alt);
denoiser!(DetectorNeuSpec, "detector-neu", Denoiser::Neu);

fn misfit(kind: &str, own: Vec<String>, facts: &DatasetFacts, loss: &LossSpec) -> Option<String> {
    if let Some(mistake) = own.into_iter().next() {
        return Some(mistake);
    }
    let (Features::Vector { .. }, Target::Values { .. }) = (facts.features, facts.target) else {
        return Some(format!(
            "`{kind}` needs rows of numbers with numbers as targets; use `detector-events`"
        ));
    };
    match loss {
        LossSpec::DetectorNoise(spec) => spec.check().into_iter().next(),
        other => Some(format!(
            "`{kind}` estimates noise, `{}` does not fit; use `detector-noise`",
            other.kind()
        )),
    }
}

fn build<D: Kernels>(
    device: &D,
    parts: TaskParts<'_>,
    model: impl FnOnce(&mut Init<'_, D>, DenoiserSize) -> Result<Denoiser<D>>,
) -> BuiltTask<D> {
    let (LossSpec::DetectorNoise(loss), Target::Values { len }) = (parts.loss, parts.target) else {
        return Err(TaskError::misfit(parts));
    };
    let size = DenoiserSize {
        phi: parts.features.len(),
        voxels: len,
        timesteps: loss.timesteps,
    };
    let mut init = Init::new(device, parts.seed.stream(Purpose::Weights));
    let objective = Detector::new(model(&mut init, size)?, loss, size, parts.seed);
    Ok(Box::new(Backprop::new(device, objective, parts.seed)))
}

#[cfg(test)]
mod tests;
