//! [`TimeMlp`]: the time embedding of the U-Net.

use crate::device::Backend;
use crate::layers::{Init, Linear};
use crate::ops::{Activation, Kernels, Module, Parameter, Pass, Path, Result, Var};

/// The time embedding: sinusoids of the time, then two linear layers with SiLU between.
#[derive(Debug)]
pub(super) struct TimeMlp<D: Backend> {
    first: Linear<D>,
    second: Linear<D>,
    embed: usize,
}

impl<D: Kernels> TimeMlp<D> {
    pub(super) fn new(init: &mut Init<'_, D>, embed: usize) -> Result<Self> {
        Ok(Self {
            first: Linear::new(init, embed, 4 * embed)?,
            second: Linear::new(init, 4 * embed, embed)?,
            embed,
        })
    }

    /// The embeddings of B times: `(B, embed)`.
    pub(super) fn forward(&self, pass: &mut Pass<D>, times: &[usize]) -> Result<Var<D>> {
        let features = time_features(times, self.embed);
        let features = Var::constant(pass.device(), features, [times.len(), self.embed])?;
        let h = self.first.forward(pass, &features, Activation::Silu)?;
        self.second.forward(pass, &h, Activation::Identity)
    }
}

impl<D: Backend> Module<D> for TimeMlp<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        self.first.visit(&path.join(0), visit);
        self.second.visit(&path.join(2), visit);
    }
}

/// `sin(t ω)` and then `cos(t ω)` with `ω_i = exp(-i ln(10000) / (n - 1))`, `n = width / 2`, for every time.
///
/// Frequencies and angles are rounded to `f32`, as in PyTorch; at `t = 999` that moves an angle by up to 3e-5.
fn time_features(times: &[usize], width: usize) -> Vec<f32> {
    let half = width / 2;
    let step = (-libm::log(10_000.0) / (half - 1) as f64) as f32;
    let frequency = |index: usize| libm::exp(f64::from(index as f32 * step)) as f32;
    let frequencies: Vec<f32> = (0..half).map(frequency).collect();
    let mut features = Vec::with_capacity(times.len() * width);
    for &time in times {
        let angles = || frequencies.iter().map(move |f| f64::from(time as f32 * f));
        features.extend(angles().map(|angle| libm::sin(angle) as f32));
        features.extend(angles().map(|angle| libm::cos(angle) as f32));
    }
    features
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{assert_close, parse_numbers};

    #[test]
    fn time_features_are_those_of_pytorch() {
        // Expected: time_features(torch.tensor([0, 7, 999]), 6) of benches/peers/unet.py
        let expected = parse_numbers(
            "         0.0        0.0        0.0       1.0        1.0        1.0
                0.6569866 0.06994285     0.0007 0.75390226   0.997551 0.99999976
             -0.026460752 -0.5356032 0.09973391  0.9996498 -0.8444698 0.99501413",
        );
        assert_close(&time_features(&[0, 7, 999], 6), &expected, 1e-6);
    }
}
