//! Verification of a detector denoiser: generates signals for known events and compares them with the true signals.

use super::Detector;
use super::events::Events;
use super::scores::{self, Mean};
use super::spec::VerificationSpec;
use crate::base::{Purpose, Seed};
use crate::ops::{Kernels, Pass, Result, Var};
use crate::tasks::sampling::Denoiser;
use crate::tasks::{Assessment, SamplerKind};

const BATCH: usize = 128;
/// First number of the keys of random streams: the kind of draw.
const BY_EVENT: u64 = 1;
const BY_PAIR: u64 = 2;

/// A signal to generate: the numbers of its event (`phi`) and the key of its random stream (`place`).
struct Wanted<'a> {
    phi: Vec<f32>,
    place: &'a [u64],
}

impl<D: Kernels> Detector<D> {
    pub(super) fn verify(
        &self,
        device: &D,
        spec: &VerificationSpec,
        events: &Events,
        seed: Seed,
        found: &mut Assessment<'_>,
    ) -> Result<()> {
        let generated = self.one_of_each(device, spec, events, seed, found)?;
        let voxels = self.size.voxels;
        let mut fidelity = Mean::default();
        for (generated, truth) in generated.chunks_exact(voxels).zip(events.signals()) {
            fidelity.add(scores::fidelity(generated, truth));
        }
        let consistency = self.consistency(device, spec, events, seed, found)?;
        let smoothness = self.smoothness(device, spec, events, seed, found)?;
        let physics = scores::physics(&generated, events.values(), voxels);
        let fidelity = fidelity.value();
        let overall = 0.3 * fidelity + 0.2 * consistency + 0.1 * smoothness + 0.4 * physics.score;
        for (name, value) in [
            ("fidelity", fidelity),
            ("consistency", consistency),
            ("smoothness", smoothness),
            ("physics", physics.score),
            ("energy_violation", physics.violation),
            ("multiplicity", physics.multiplicity),
            ("overall", overall),
        ] {
            found.add_metric(format!("verification_{name}"), value);
        }
        Ok(())
    }

    /// Generates one signal for each event, `(events, voxels)`.
    fn one_of_each(
        &self,
        device: &D,
        spec: &VerificationSpec,
        events: &Events,
        seed: Seed,
        found: &mut Assessment<'_>,
    ) -> Result<Vec<f32>> {
        let places: Vec<[u64; 3]> = (0..events.len() as u64)
            .map(|event| [BY_EVENT, event, 0])
            .collect();
        let wanted = events.numbers().zip(&places);
        let wanted = wanted.map(|(phi, place)| Wanted {
            phi: phi.to_vec(),
            place,
        });
        self.generate(device, spec, &wanted.collect::<Vec<_>>(), seed, found)
    }

    fn consistency(
        &self,
        device: &D,
        spec: &VerificationSpec,
        events: &Events,
        seed: Seed,
        found: &mut Assessment<'_>,
    ) -> Result<f64> {
        let mut consistency = Mean::default();
        let chosen = events.numbers().zip(events.signals());
        for (event, (phi, truth)) in chosen.take(spec.consistency_events).enumerate() {
            let places: Vec<[u64; 3]> = (0..spec.draws as u64)
                .map(|draw| [BY_EVENT, event as u64, draw])
                .collect();
            let wanted = places.iter().map(|place| Wanted {
                phi: phi.to_vec(),
                place,
            });
            let draws = self.generate(device, spec, &wanted.collect::<Vec<_>>(), seed, found)?;
            consistency.add(scores::consistency(&draws, truth));
        }
        Ok(consistency.value())
    }

    /// Mean smoothness of the signals along a line between the numbers of two events; all points of a line have equal
    /// noise.
    fn smoothness(
        &self,
        device: &D,
        spec: &VerificationSpec,
        events: &Events,
        seed: Seed,
        found: &mut Assessment<'_>,
    ) -> Result<f64> {
        let mut smoothness = Mean::default();
        let numbers: Vec<&[f32]> = events.numbers().collect();
        let steps = spec.interpolation_steps.max(1);
        for (pair, ends) in numbers.windows(2).take(spec.pairs).enumerate() {
            let place = [BY_PAIR, pair as u64];
            let at = |step: usize| {
                let share = step as f32 / steps as f32;
                let between = ends[0].iter().zip(ends[1]);
                between.map(|(a, b)| a + share * (b - a)).collect()
            };
            let wanted = (0..=steps).map(|step| Wanted {
                phi: at(step),
                place: &place,
            });
            let points = self.generate(device, spec, &wanted.collect::<Vec<_>>(), seed, found)?;
            smoothness.add(scores::smoothness(&points, self.size.voxels));
        }
        Ok(smoothness.value())
    }

    /// Generates the `wanted` signals by DDIM: `(wanted, voxels)`.
    fn generate(
        &self,
        device: &D,
        spec: &VerificationSpec,
        wanted: &[Wanted<'_>],
        seed: Seed,
        found: &mut Assessment<'_>,
    ) -> Result<Vec<f32>> {
        let steps = spec.ddim_steps.clamp(1, self.size.timesteps);
        let clip = spec.clip.map(|[least, most]| (least, most));
        let denoiser = Denoiser::new(&self.schedule, SamplerKind::Ddim, steps, clip);
        let mut signals = Vec::with_capacity(wanted.len() * self.size.voxels);
        for batch in wanted.chunks(BATCH) {
            let shape = [batch.len(), self.size.phi];
            let phi = batch
                .iter()
                .flat_map(|one| one.phi.iter().copied())
                .collect();
            let phi = Var::constant(device, phi, shape)?;
            let mut streams: Vec<_> = batch
                .iter()
                .map(|one| seed.stream_at(Purpose::Sampling, one.place))
                .collect();
            let estimate = |x: &[f32], time: usize| {
                let mut pass = Pass::inference(device);
                let x = Var::constant(device, x.to_vec(), [batch.len(), self.size.voxels])?;
                let times = vec![time; batch.len()];
                let noise = self.model.forward(&mut pass, &x, &times, &phi)?;
                Ok(noise.to_host(device)?)
            };
            let told = |done| found.progress("verification", done, steps);
            signals.extend(denoiser.draw(&mut streams, self.size.voxels, estimate, told)?);
        }
        Ok(signals)
    }
}
