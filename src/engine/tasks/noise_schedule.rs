//! [`NoiseSchedule`]: the fraction of the signal that remains at each diffusion step.

use std::f64::consts::FRAC_PI_2;

/// Offset s of the cosine schedule.
const OFFSET: f64 = 0.008;
/// Range to which each β of the cosine schedule is clipped.
const BETAS: (f64, f64) = (1e-4, 0.9999);

/// The noise schedule of a diffusion: `ᾱ` at each time. [`Self::cosine`] computes it as follows.
///
/// `ᾱ(i) = cos²(((i/T + s)/(1 + s)) π/2)`, `β_i = clip(1 - ᾱ(i)/ᾱ(i-1), 1e-4, 0.9999)`; then ᾱ is recomputed as the
/// cumulative product of `1 - β`. Time `t = 0 … T-1` stands for `i = t + 1`. Computed in f64.
///
/// # Source
/// Nichol & Dhariwal 2021 (Improved DDPM), §3.2.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NoiseSchedule {
    alpha_bars: Vec<f64>,
}

impl NoiseSchedule {
    /// The cosine schedule of `timesteps` steps.
    pub(super) fn cosine(timesteps: usize) -> Self {
        let raw = |i: usize| {
            let share = (i as f64 / timesteps as f64 + OFFSET) / (1.0 + OFFSET);
            libm::cos(share * FRAC_PI_2).powi(2)
        };
        let mut product = 1.0;
        let alpha_bars = (1..=timesteps).map(|i| {
            let beta = (1.0 - raw(i) / raw(i - 1)).clamp(BETAS.0, BETAS.1);
            product *= 1.0 - beta;
            product
        });
        Self {
            alpha_bars: alpha_bars.collect(),
        }
    }

    /// The linear schedule: `β` rises from `betas[0]` to `betas[1]` in `timesteps` equally spaced values.
    ///
    /// # Source
    /// Ho et al. 2020 (DDPM), §4.
    pub(super) fn linear(timesteps: usize, betas: [f64; 2]) -> Self {
        let [first, last] = betas;
        let step = (last - first) / timesteps.saturating_sub(1).max(1) as f64;
        let mut product = 1.0;
        let alpha_bars = (0..timesteps).map(|t| {
            product *= 1.0 - (first + step * t as f64);
            product
        });
        Self {
            alpha_bars: alpha_bars.collect(),
        }
    }

    /// Number of diffusion steps T.
    pub(super) fn timesteps(&self) -> usize {
        self.alpha_bars.len()
    }

    /// Share `ᾱ_t` of the original signal's variance that remains at time t.
    pub(super) fn alpha_bar(&self, t: usize) -> f64 {
        self.alpha_bars[t]
    }

    /// Replaces `x` by `√ᾱ_t x + √(1-ᾱ_t) noise`.
    pub(super) fn add_noise(&self, x: &mut [f32], noise: &[f32], t: usize) {
        let alpha_bar = self.alpha_bars[t] as f32;
        let (image, rest) = (alpha_bar.sqrt(), (1.0 - alpha_bar).sqrt());
        for (x, noise) in x.iter_mut().zip(noise) {
            *x = image * *x + rest * noise;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::assert_close;
    use crate::ops::testing::parse_numbers;

    #[test]
    fn the_schedule_is_that_of_pytorch() {
        // i = torch.arange(1001, dtype=torch.float64); f = torch.cos((i/1000 + .008)/1.008 * math.pi/2)**2
        // abar = torch.cumprod(1 - (1 - f[1:]/f[:-1]).clamp(1e-4, .9999), 0); abar[[0, 1, 250, 500, 998, 999]]
        let schedule = NoiseSchedule::cosine(1000);
        let picked = [0, 1, 250, 500, 998, 999].map(|t| schedule.alpha_bars[t]);
        let expected: Vec<f64> =
            parse_numbers("0.9999 0.9998 0.8455629 0.492096 2.4278335e-6 2.4278335e-10");
        for (own, expected) in picked.iter().zip(expected) {
            assert!(
                (own / expected - 1.0).abs() < 1e-5,
                "{own} instead of {expected}"
            );
        }
    }

    #[test]
    fn the_linear_schedule_is_that_of_pytorch() {
        // abar = torch.cumprod(1 - torch.linspace(1e-4, .02, 1000, dtype=torch.float64), 0); abar[[0, 1, 250, 500, 999]]
        let schedule = NoiseSchedule::linear(1000, [1e-4, 0.02]);
        let picked = [0, 1, 250, 500, 999].map(|t| schedule.alpha_bar(t));
        let expected: Vec<f64> = parse_numbers(
            "0.9999 0.9997800920720721 0.5214230306185275 0.07779665836502389
             4.0358297653756754e-5",
        );
        for (own, expected) in picked.iter().zip(expected) {
            assert!(
                (own / expected - 1.0).abs() < 1e-9,
                "{own} instead of {expected}"
            );
        }
    }

    #[test]
    fn the_first_step_is_almost_the_image_and_the_last_almost_noise() {
        let schedule = NoiseSchedule::cosine(1000);
        let noised = |t| {
            let mut x = [0.5, -0.5];
            schedule.add_noise(&mut x, &[1.0, 2.0], t);
            x
        };
        assert_close(&noised(0), &[0.51, -0.48], 0.01);
        assert_close(&noised(999), &[1.0, 2.0], 1e-3);
    }
}
