//! The losses that a manifest can name, one file each, with their `Spec`.
//!
//! Owns [`LossSpec`], the list of all kinds. The differentiable operations are in [`crate::ops`]; what a batch means
//! to a loss is in [`crate::tasks`].

mod cross_entropy;
mod detector_noise;
mod mse;
mod noise_mse;

pub use cross_entropy::CrossEntropySpec;
pub use detector_noise::{DetectorNoiseSpec, Signals};
pub use mse::MseSpec;
pub use noise_mse::NoiseMseSpec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A loss as a manifest describes it (`[losses.NAME]`). Where a manifest names none, the model and the dataset decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LossSpec {
    /// Mean squared error of predicted values.
    Mse(MseSpec),
    /// Mean cross-entropy of predicted classes.
    CrossEntropy(CrossEntropySpec),
    /// Mean squared error of the noise that a diffusion model estimates.
    NoiseMse(NoiseMseSpec),
    /// Mean squared error of the noise in detector signals.
    DetectorNoise(DetectorNoiseSpec),
}

impl LossSpec {
    /// Every kind, in the order in which `fieldtrial list losses` shows them.
    pub const KINDS: [&'static str; 4] = ["mse", "cross-entropy", "noise-mse", "detector-noise"];

    /// The kind as a manifest writes it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Mse(_) => "mse",
            Self::CrossEntropy(_) => "cross-entropy",
            Self::NoiseMse(_) => "noise-mse",
            Self::DetectorNoise(_) => "detector-noise",
        }
    }
}
