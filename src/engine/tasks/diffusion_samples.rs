//! Samples images from the class-conditional U-Net with classifier-free guidance.

use super::diffusion::Diffusion;
use super::sampling::{Denoiser, image_grid, to_image};
use super::{
    Assessment, AssessmentInputs, AssessmentProgress, Image, ImageRequest, SamplerKind,
    SamplingSpec,
};
use crate::base::{Purpose, Seed};
use crate::ops::{Kernels, Pass, Result, Var};

const RANGE: (f32, f32) = (-1.0, 1.0);

/// Class of a sample and its index within the class, the key of its random stream.
type Place = (usize, usize);

impl<D: Kernels> Diffusion<D> {
    /// Draws `wanted.count` images with the first sampler; the name of each image is the index of its class.
    pub(super) fn draw_each(
        &self,
        device: &D,
        wanted: &ImageRequest<'_>,
        told: AssessmentProgress<'_>,
    ) -> Result<Vec<Image>> {
        let ImageRequest { spec, seed, count } = *wanted;
        let sampler = spec.samplers.first().copied().unwrap_or(SamplerKind::Ddim);
        let places = (0..count).map(|index| (index % self.classes, index / self.classes));
        let places: Vec<Place> = places.collect();
        let values = self.draw_all(device, seed, (spec, sampler), &places, told)?;
        let each = values.chunks(self.image.shape(1).len()).zip(&places);
        let image = |(values, (class, _)): (&[f32], &Place)| Image {
            name: class.to_string(),
            ..to_image(values, self.image)
        };
        Ok(each.map(image).collect())
    }

    /// Adds one image per sampler to `found`: a grid with a row of samples for every class.
    pub(super) fn draw_samples(
        &self,
        device: &D,
        assess: &AssessmentInputs<'_>,
        spec: &SamplingSpec,
        found: &mut Assessment<'_>,
    ) -> Result<()> {
        let places = self.places(spec);
        for &sampler in &spec.samplers {
            let told = &mut |done, of| found.progress(sampler.name(), done, of);
            let values = self.draw_all(device, assess.seed, (spec, sampler), &places, told)?;
            let mut image = image_grid(&values, spec.per_class, self.image);
            sampler.name().clone_into(&mut image.name);
            image.caption = self.caption(spec, sampler, assess.data.dataset.class_names());
            found.add_image(image);
        }
        Ok(())
    }

    /// Draws one image per class and index (`places`) in batches, `(places, H, W, C)`. `told` is called with the number
    /// of finished steps, summed over all images, and the number of all steps.
    fn draw_all(
        &self,
        device: &D,
        seed: Seed,
        (spec, sampler): (&SamplingSpec, SamplerKind),
        places: &[Place],
        told: AssessmentProgress<'_>,
    ) -> Result<Vec<f32>> {
        let steps = spec.steps(sampler, self.schedule.timesteps());
        let mut values = Vec::new();
        let mut before = 0;
        for batch in places.chunks(spec.batch_size.max(1)) {
            let told = |done| told(before * steps + batch.len() * done, places.len() * steps);
            values.extend(self.draw_batch(device, seed, spec, sampler, batch, told)?);
            before += batch.len();
        }
        Ok(values)
    }

    /// Draws one batch, an image per place: `(places, H, W, C)`.
    fn draw_batch(
        &self,
        device: &D,
        seed: Seed,
        spec: &SamplingSpec,
        sampler: SamplerKind,
        places: &[Place],
        told: impl FnMut(usize),
    ) -> Result<Vec<f32>> {
        let steps = spec.steps(sampler, self.schedule.timesteps());
        let denoiser = Denoiser::new(&self.schedule, sampler, steps, Some(RANGE));
        let stream = |&(class, index): &Place| {
            seed.stream_at(Purpose::Sampling, &[class as u64, index as u64])
        };
        let mut streams: Vec<_> = places.iter().map(stream).collect();
        let guidance = spec.guidance as f32;
        let estimate = |x: &[f32], time| self.guided_noise(device, x, time, places, guidance);
        denoiser.draw(&mut streams, self.image.shape(1).len(), estimate, told)
    }

    /// Guided noise `u + w (c - u)`: u is estimated without the class, c with the class; w is `guidance`. One forward
    /// pass estimates both.
    fn guided_noise(
        &self,
        device: &D,
        x: &[f32],
        time: usize,
        places: &[Place],
        guidance: f32,
    ) -> Result<Vec<f32>> {
        let both = Var::constant(device, x.repeat(2), self.image.shape(2 * places.len()))?;
        let mut labels: Vec<usize> = places.iter().map(|(class, _)| *class).collect();
        labels.resize(2 * places.len(), self.classes);
        let times = vec![time; labels.len()];
        let mut pass = Pass::inference(device);
        let noise = self.model.forward(&mut pass, &both, &times, &labels)?;
        let mut noise = noise.to_host(device)?;
        let without = noise.split_off(x.len());
        for (noise, without) in noise.iter_mut().zip(&without) {
            *noise = without + guidance * (*noise - without);
        }
        Ok(noise)
    }

    /// All places, sorted by class: `per_class` samples of each.
    fn places(&self, spec: &SamplingSpec) -> Vec<Place> {
        let of_class = |class| (0..spec.per_class).map(move |index| (class, index));
        (0..self.classes).flat_map(of_class).collect()
    }

    fn caption(&self, spec: &SamplingSpec, sampler: SamplerKind, classes: &[String]) -> String {
        let how = match sampler {
            SamplerKind::Ddim => "DDIM (η = 0)",
            SamplerKind::Ancestral => "Ancestral sampling",
        };
        let steps = spec.steps(sampler, self.schedule.timesteps());
        format!(
            "{how}, {steps} steps, guidance {}; from the top: {}",
            spec.guidance,
            classes.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Backend;
    use crate::ops::testing::{self, assert_close};
    use crate::tasks::diffusion::tests::task;

    fn spec() -> SamplingSpec {
        SamplingSpec {
            ddim_steps: 3,
            per_class: 2,
            ..SamplingSpec::default()
        }
    }

    fn drawn(sampler: SamplerKind, places: &[Place], seed: u64) -> Vec<f32> {
        let (device, mut spec) = (testing::device(), spec());
        let task = task(if sampler == SamplerKind::Ddim {
            1000
        } else {
            4
        });
        spec.guidance = 2.0;
        task.draw_batch(&device, Seed(seed), &spec, sampler, places, |_| ())
            .unwrap()
    }

    /// cuDNN chooses an algorithm by the batch size, so a smaller batch is summed in another order on a GPU. The first
    /// steps of DDIM amplify this rounding (2.4e-5 was seen on an H100).
    const TOLERANCE: f32 = if <testing::TestDevice as Backend>::IS_ASYNCHRONOUS {
        2e-4
    } else {
        1e-5
    };

    #[test]
    fn a_sample_depends_on_seed_class_and_index_alone() {
        for sampler in [SamplerKind::Ddim, SamplerKind::Ancestral] {
            let places = [(0, 0), (0, 1), (1, 0)];
            let together = drawn(sampler, &places, 1);
            for (place, own) in places.iter().zip(together.chunks(8 * 8 * 3)) {
                assert_close(&drawn(sampler, &[*place], 1), own, TOLERANCE);
            }
            assert_ne!(drawn(sampler, &[(0, 0)], 1), drawn(sampler, &[(0, 0)], 2));
        }
    }

    #[test]
    fn guidance_leads_away_from_the_estimate_without_class() {
        let (device, task) = (testing::device(), task(1000));
        let x: Vec<f32> = (0..8 * 8 * 3).map(|i| (i as f32 * 0.37).sin()).collect();
        let noise = |places: &[Place], guidance| {
            task.guided_noise(&device, &x, 500, places, guidance)
                .unwrap()
        };
        let (with, without) = (noise(&[(0, 0)], 1.0), noise(&[(0, 0)], 0.0));
        assert_eq!(without, noise(&[(1, 0)], 0.0));
        assert_ne!(with, noise(&[(1, 0)], 1.0));
        let expected: Vec<f32> = with
            .iter()
            .zip(&without)
            .map(|(c, u)| u + 3.0 * (c - u))
            .collect();
        assert_close(&noise(&[(0, 0)], 3.0), &expected, 1e-5);
    }
}
