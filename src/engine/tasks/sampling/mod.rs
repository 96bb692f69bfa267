//! Draws samples from diffusion models by the reverse process, and arranges images in a grid.
//!
//! Owns [`SamplingSpec`] (`validation.sampling`), `Denoiser` (the steps of the reverse process, on the host, for values
//! of any shape) and `sheet` (images in a grid). The task passes a function that estimates the noise.

mod denoiser;
mod sheet;

pub(super) use denoiser::Denoiser;
pub(super) use sheet::{image_grid, to_image};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Samples that a diffusion model draws at the end of a run, with the averaged weights if there are any
/// (`validation.sampling`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SamplingSpec {
    /// How samples are drawn; every sampler draws from the same noise and gives one image.
    pub samplers: Vec<SamplerKind>,
    /// Steps of `ddim`, spread evenly over the diffusion steps.
    #[schemars(range(min = 1))]
    pub ddim_steps: usize,
    /// Strength w of the classifier-free guidance: the noise is `u + w (c - u)`, u estimated without and c with the
    /// class.
    #[schemars(range(min = 0))]
    pub guidance: f64,
    /// Samples of every class.
    #[schemars(range(min = 1))]
    pub per_class: usize,
    /// Samples that go through the model at one time, each with and without its class.
    #[schemars(range(min = 1))]
    pub batch_size: usize,
}

/// Method that draws samples from a diffusion model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SamplerKind {
    /// Fewer steps, no noise between steps (Song et al. 2021, η = 0).
    Ddim,
    /// All diffusion steps, each with fresh noise (Ho et al. 2020).
    Ancestral,
}

impl SamplerKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ddim => "ddim",
            Self::Ancestral => "ancestral",
        }
    }
}

impl Default for SamplingSpec {
    fn default() -> Self {
        Self {
            samplers: vec![SamplerKind::Ddim],
            ddim_steps: 50,
            guidance: 3.0,
            per_class: 8,
            batch_size: 16,
        }
    }
}

impl SamplingSpec {
    /// Message about the first setting that does not fit a diffusion of `timesteps` steps; `None` if all fit.
    pub fn check(&self, timesteps: usize) -> Option<String> {
        if self.samplers.is_empty() {
            return Some("`validation.sampling.samplers` names no sampler".to_owned());
        }
        let has_ddim = self.samplers.contains(&SamplerKind::Ddim);
        (has_ddim && self.ddim_steps > timesteps).then(|| {
            format!(
                "`validation.sampling.ddim-steps` is {}, the loss has {timesteps} timesteps",
                self.ddim_steps
            )
        })
    }

    /// Number of steps of `sampler` for a diffusion of `timesteps` steps.
    pub(super) fn steps(&self, sampler: SamplerKind, timesteps: usize) -> usize {
        match sampler {
            SamplerKind::Ddim => self.ddim_steps.clamp(1, timesteps),
            SamplerKind::Ancestral => timesteps,
        }
    }
}
