//! Mean squared error of the noise that a diffusion model estimates.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Mean squared error of the estimated noise, with the cosine schedule of Nichol & Dhariwal (2021).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct NoiseMseSpec {
    /// Diffusion steps T.
    #[schemars(range(min = 1))]
    pub timesteps: usize,
    /// Probability that a sample is trained without its class, for classifier-free guidance.
    #[schemars(range(min = 0, max = 1))]
    pub label_dropout: f64,
}

impl Default for NoiseMseSpec {
    fn default() -> Self {
        Self {
            timesteps: 1000,
            label_dropout: 0.3,
        }
    }
}
