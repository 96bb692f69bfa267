//! [`Denoiser`]: draws samples from noise by the reverse process of a diffusion.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use super::SamplerKind;
use crate::ops::Result;
use crate::tasks::noise_schedule::NoiseSchedule;

/// The reverse process of a diffusion, over all diffusion steps or some of them.
///
/// One step goes from x at time t to x' at the next time. With ε the noise estimated in x, ᾱ at t and ᾱ' at the next
/// time (1 after the last step): `x₀ = clip((x - √(1-ᾱ) ε)/√ᾱ)`, `ε' = (x - √ᾱ x₀)/√(1-ᾱ)`,
/// `σ = η √((1-ᾱ')/(1-ᾱ) (1 - ᾱ/ᾱ'))` and `x' = √ᾱ' x₀ + √(1-ᾱ'-σ²) ε' + σ z` with z ~ N(0, 1). DDIM has η = 0.
/// Ancestral sampling has η = 1 over all steps: mean and variance are then those of `q(x' | x, x₀)`.
///
/// # Source
/// Song et al. 2021 (DDIM), equations 12 and 16; Ho et al. 2020 (DDPM), equations 6 and 7. The times are evenly spaced
/// and include the noisiest one (Lin et al. 2024, "trailing").
#[derive(Debug, Clone)]
pub(in crate::tasks) struct Denoiser<'a> {
    schedule: &'a NoiseSchedule,
    /// Diffusion times of the steps, noisiest first.
    times: Vec<usize>,
    eta: f64,
    /// Range that the estimated `x₀` is clipped to; `None` for no clipping.
    clip: Option<(f32, f32)>,
}

/// Coefficients of one step of [`Denoiser`]: `x' = from_x0 x₀ + from_noise ε' + sigma z`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    alpha_bar: f64,
    from_x0: f64,
    from_noise: f64,
    sigma: f64,
}

impl<'a> Denoiser<'a> {
    /// A reverse process of `steps` steps of `sampler`; each estimate of `x₀` is clipped to the range `clip`.
    pub(in crate::tasks) fn new(
        schedule: &'a NoiseSchedule,
        sampler: SamplerKind,
        steps: usize,
        clip: Option<(f32, f32)>,
    ) -> Self {
        let all = schedule.timesteps();
        let time = |step: usize| (2 * step * all + steps) / (2 * steps) - 1;
        Self {
            schedule,
            times: (1..=steps).rev().map(time).collect(),
            eta: match sampler {
                SamplerKind::Ddim => 0.0,
                SamplerKind::Ancestral => 1.0,
            },
            clip,
        }
    }

    /// Draws one sample of `len` values per stream: `(streams, len)`. The random numbers of a sample come from its own
    /// stream.
    ///
    /// `estimate` returns the noise in all samples `x: (samples, len)` at a diffusion time. `told` gets the number of
    /// finished steps.
    ///
    /// # Errors
    /// Those of `estimate`.
    pub(in crate::tasks) fn draw(
        &self,
        streams: &mut [ChaCha8Rng],
        len: usize,
        estimate: impl FnMut(&[f32], usize) -> Result<Vec<f32>>,
        told: impl FnMut(usize),
    ) -> Result<Vec<f32>> {
        let mut x = vec![0.0; streams.len() * len];
        for (sample, stream) in x.chunks_mut(len).zip(streams.iter_mut()) {
            sample.fill_with(|| stream.sample(StandardNormal));
        }
        self.denoise(x, streams, estimate, told)
    }

    fn denoise(
        &self,
        mut x: Vec<f32>,
        streams: &mut [ChaCha8Rng],
        mut estimate: impl FnMut(&[f32], usize) -> Result<Vec<f32>>,
        mut told: impl FnMut(usize),
    ) -> Result<Vec<f32>> {
        let len = (x.len() / streams.len().max(1)).max(1);
        for (index, &time) in self.times.iter().enumerate() {
            let noise = estimate(&x, time)?;
            let step = self.step(index);
            let samples = x.chunks_mut(len).zip(noise.chunks(len));
            for ((sample, noise), stream) in samples.zip(streams.iter_mut()) {
                self.advance(sample, noise, step, stream);
            }
            told(index + 1);
        }
        Ok(x)
    }

    fn step(&self, index: usize) -> Step {
        let alpha_bar = self.schedule.alpha_bar(self.times[index]);
        let next = self.times.get(index + 1);
        let next = next.map_or(1.0, |time| self.schedule.alpha_bar(*time));
        let variance =
            self.eta.powi(2) * (1.0 - next) / (1.0 - alpha_bar) * (1.0 - alpha_bar / next);
        Step {
            alpha_bar,
            from_x0: next.sqrt(),
            from_noise: (1.0 - next - variance).max(0.0).sqrt(),
            sigma: variance.max(0.0).sqrt(),
        }
    }

    fn advance(&self, sample: &mut [f32], noise: &[f32], step: Step, stream: &mut ChaCha8Rng) {
        let (kept, lost) = (step.alpha_bar.sqrt(), (1.0 - step.alpha_bar).sqrt());
        for (x, noise) in sample.iter_mut().zip(noise) {
            let noised = f64::from(*x);
            let mut x0 = (noised - lost * f64::from(*noise)) / kept;
            if let Some((least, most)) = self.clip {
                x0 = x0.clamp(f64::from(least), f64::from(most));
            }
            let noise = (noised - kept * x0) / lost;
            let mut next = step.from_x0 * x0 + step.from_noise * noise;
            if step.sigma > 0.0 {
                next += step.sigma * stream.sample::<f64, _>(StandardNormal);
            }
            *x = next as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Purpose, Seed};
    use crate::ops::testing::assert_close;

    const CLIP: Option<(f32, f32)> = Some((-1.0, 1.0));

    fn streams(samples: std::ops::Range<u64>) -> Vec<ChaCha8Rng> {
        let stream = |index| Seed(1).stream_at(Purpose::Sampling, &[0, index]);
        samples.map(stream).collect()
    }

    /// An exact estimate of the noise in x for data that consist of the single value `x0`.
    fn true_noise(schedule: &NoiseSchedule, x0: f64) -> impl Fn(&[f32], usize) -> Vec<f32> {
        move |x, time| {
            let alpha_bar = schedule.alpha_bar(time);
            let noise =
                |x: &f32| (f64::from(*x) - alpha_bar.sqrt() * x0) / (1.0 - alpha_bar).sqrt();
            x.iter().map(|x| noise(x) as f32).collect()
        }
    }

    #[test]
    fn the_true_noise_gives_the_image() {
        let schedule = NoiseSchedule::cosine(1000);
        for (sampler, steps) in [(SamplerKind::Ddim, 50), (SamplerKind::Ancestral, 1000)] {
            let denoiser = Denoiser::new(&schedule, sampler, steps, CLIP);
            let noise = true_noise(&schedule, 0.25);
            let drawn = denoiser.draw(&mut streams(0..2), 3, |x, t| Ok(noise(x, t)), |_| ());
            assert_close(&drawn.unwrap(), &[0.25; 6], 1e-4);
        }
    }

    #[test]
    fn times_end_at_the_noisiest_and_are_spread_evenly() {
        let schedule = NoiseSchedule::cosine(1000);
        let times = |steps| Denoiser::new(&schedule, SamplerKind::Ddim, steps, CLIP).times;
        assert_eq!(times(4), [999, 749, 499, 249]);
        assert_eq!(times(3), [999, 666, 332]);
        assert_eq!(times(1000), (0..1000).rev().collect::<Vec<_>>());
    }

    #[test]
    fn ddim_of_a_linear_model_is_that_of_pytorch() {
        // i = torch.arange(21, dtype=torch.float64); f = torch.cos((i/20 + .008)/1.008*math.pi/2)**2
        // abar = torch.cumprod(1 - (1 - f[1:]/f[:-1]).clamp(1e-4, .9999), 0); times = [19, 14, 9, 4]
        // for k, t in enumerate(times):
        //     a, p = abar[t], abar[times[k+1]] if k < 3 else torch.ones(())
        //     e = .8*x - .1*t/20; x0 = ((x - (1-a).sqrt()*e)/a.sqrt()).clamp(-1, 1)  # clamp and next line: clip only
        //     e = (x - a.sqrt()*x0)/(1-a).sqrt(); x = p.sqrt()*x0 + (1-p).sqrt()*e
        let schedule = NoiseSchedule::cosine(20);
        let drawn = |steps, clip| {
            let estimate = |x: &[f32], time: usize| {
                let noise = |x: &f32| 0.8 * x - 0.005 * time as f32;
                Ok(x.iter().map(noise).collect())
            };
            let denoiser = Denoiser::new(&schedule, SamplerKind::Ddim, steps, clip);
            let start = vec![-1.5, -0.2, 0.3, 1.1];
            denoiser
                .denoise(start, &mut streams(0..1), estimate, |_| ())
                .unwrap()
        };
        assert_close(
            &drawn(4, CLIP),
            &[-1.0, 0.205_980_24, 0.524_047_4, 0.998_977_57],
            1e-5,
        );
        assert_close(
            &drawn(20, CLIP),
            &[-1.0, 0.068_094_92, 0.488_879_8, 1.0],
            1e-5,
        );
        let expected = [-69.537_78, 18.365_139, 52.173_95, 106.268_06];
        assert_close(&drawn(4, None), &expected, 1e-5);
        let expected = [-21.878_71, 5.505_062, 16.037_28, 32.888_834];
        assert_close(&drawn(20, None), &expected, 1e-5);
    }

    #[test]
    fn ancestral_steps_have_the_mean_and_the_variance_of_the_posterior() {
        // As in equation 7 of Ho et al. 2020, with beta, alpha and abar at the times t and t - 1.
        let schedule = NoiseSchedule::cosine(1000);
        let denoiser = Denoiser::new(&schedule, SamplerKind::Ancestral, 1000, None);
        for time in [1, 2, 400, 900, 999] {
            let step = denoiser.step(999 - time);
            let (a, before) = (schedule.alpha_bar(time), schedule.alpha_bar(time - 1));
            let (alpha, beta) = (a / before, 1.0 - a / before);
            let (x, x0) = (0.7, -0.3);
            let mean = before.sqrt() * beta / (1.0 - a) * x0
                + alpha.sqrt() * (1.0 - before) / (1.0 - a) * x;
            let noise = (x - a.sqrt() * x0) / (1.0 - a).sqrt();
            let own = step.from_x0 * x0 + step.from_noise * noise;
            assert!(
                (own - mean).abs() < 1e-9,
                "time {time}: {own} instead of {mean}"
            );
            let variance = beta * (1.0 - before) / (1.0 - a);
            assert!((step.sigma.powi(2) - variance).abs() < 1e-12, "time {time}");
        }
        assert!(denoiser.step(999).sigma.abs() < 1e-12);
    }

    #[test]
    fn a_sample_depends_on_its_own_stream_alone() {
        let schedule = NoiseSchedule::cosine(20);
        let denoiser = Denoiser::new(&schedule, SamplerKind::Ancestral, 20, CLIP);
        let draw = |samples| {
            let estimate = |x: &[f32], _| Ok(x.iter().map(|x| 0.3 * x).collect());
            denoiser.draw(&mut streams(samples), 5, estimate, |_| ())
        };
        let together = draw(0..3).unwrap();
        for index in 0..3 {
            let alone = draw(index..index + 1).unwrap();
            assert_eq!(alone, together[5 * index as usize..][..5]);
        }
        assert_ne!(together[..5], together[5..10]);
    }

    #[test]
    fn values_stay_in_their_range() {
        let schedule = NoiseSchedule::cosine(1000);
        let denoiser = Denoiser::new(&schedule, SamplerKind::Ddim, 10, CLIP);
        let drawn = denoiser.draw(&mut streams(0..4), 8, |x, _| Ok(vec![0.0; x.len()]), |_| ());
        assert!(drawn.unwrap().iter().all(|x| (-1.0..=1.0).contains(x)));
    }
}
