//! The losses that a manifest can name, one file each, with their `Spec`.
//!
//! Owns [`LossSpec`], the list of all kinds. The differentiable operations are in [`crate::ops`]; what a batch means
//! to a loss is in [`crate::tasks`].

mod cross_entropy;
mod detector_noise;
mod kernel_mmd;
mod kernel_scoring;
mod mse;
mod noise_mse;
mod path_loss;
mod signature_scoring;
mod simplified_scoring;
mod t_statistic;
mod truncated_mmd;

pub use cross_entropy::CrossEntropySpec;
pub use detector_noise::{DetectorNoiseSpec, Signals};
pub use kernel_mmd::KernelMmdSpec;
pub use kernel_scoring::KernelScoringSpec;
pub use mse::MseSpec;
pub use noise_mse::NoiseMseSpec;
pub use path_loss::PathLoss;
pub use signature_scoring::SignatureScoringSpec;
pub use simplified_scoring::SimplifiedScoringSpec;
pub use t_statistic::TStatisticSpec;
pub use truncated_mmd::TruncatedMmdSpec;

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
    /// T-statistic of normalised signatures.
    TStatistic(TStatisticSpec),
    /// Scoring rule on signatures.
    SignatureScoring(SignatureScoringSpec),
    /// Square root of the biased MMD of signatures.
    TruncatedMmd(TruncatedMmdSpec),
    /// Minus the logarithm of the mean similarity of signatures.
    SimplifiedScoring(SimplifiedScoringSpec),
    /// Scoring rule on the signature kernel.
    KernelScoring(KernelScoringSpec),
    /// Unbiased MMD of the signature kernel.
    KernelMmd(KernelMmdSpec),
    /// Mean squared error of the noise in detector signals.
    DetectorNoise(DetectorNoiseSpec),
}

impl LossSpec {
    /// Every kind, in the order in which `fieldtrial list losses` shows them.
    pub const KINDS: [&'static str; 10] = [
        "mse",
        "cross-entropy",
        "noise-mse",
        "t-statistic",
        "signature-scoring",
        "truncated-mmd",
        "simplified-scoring",
        "kernel-scoring",
        "kernel-mmd",
        "detector-noise",
    ];

    /// Whether it compares predictions with the targets of a dataset, and not what a model generates or denoises.
    pub fn is_supervised(&self) -> bool {
        matches!(self, Self::Mse(_) | Self::CrossEntropy(_))
    }

    /// The kind as a manifest writes it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Mse(_) => "mse",
            Self::CrossEntropy(_) => "cross-entropy",
            Self::NoiseMse(_) => "noise-mse",
            Self::TStatistic(_) => "t-statistic",
            Self::SignatureScoring(_) => "signature-scoring",
            Self::TruncatedMmd(_) => "truncated-mmd",
            Self::SimplifiedScoring(_) => "simplified-scoring",
            Self::KernelScoring(_) => "kernel-scoring",
            Self::KernelMmd(_) => "kernel-mmd",
            Self::DetectorNoise(_) => "detector-noise",
        }
    }
}
