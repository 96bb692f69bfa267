//! The losses that a manifest can name, one file each, with their `Spec`.
//!
//! Owns [`LossSpec`], the list of all kinds. The differentiable operations are in [`crate::ops`], the inputs of a loss
//! are computed in [`crate::tasks`].

mod binary_cross_entropy;
mod cross_entropy;
mod detector_noise;
mod huber;
mod kernel_mmd;
mod kernel_scoring;
mod l1;
mod mse;
mod noise_mse;
mod path_loss;
mod signature;
mod t_statistic;

pub use binary_cross_entropy::BinaryCrossEntropySpec;
pub use cross_entropy::{ClassWeights, CrossEntropySpec};
pub use detector_noise::{DetectorNoiseSpec, Signals};
pub use huber::HuberSpec;
pub use kernel_mmd::KernelMmdSpec;
pub use kernel_scoring::KernelScoringSpec;
pub use l1::L1Spec;
pub use mse::MseSpec;
pub use noise_mse::NoiseMseSpec;
pub use path_loss::PathLoss;
pub use signature::SignatureSpec;
pub use t_statistic::TStatisticSpec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ops::ErrorTerm;

/// A loss as a manifest describes it (`[losses.NAME]`). Where a manifest names none, the model and the dataset decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum LossSpec {
    /// Mean squared error of predicted numbers, as PyTorch's `MSELoss`.
    Mse(MseSpec),
    /// Mean absolute error of predicted numbers, as PyTorch's `L1Loss`.
    L1(L1Spec),
    /// Mean over predicted numbers of an error that is half the square of a small difference and grows linearly with a large one, as
    /// PyTorch's `HuberLoss`.
    Huber(HuberSpec),
    /// Mean cross-entropy of logits and classes, or of logits and next tokens, as PyTorch's `CrossEntropyLoss` with `weight` and
    /// `label_smoothing`. The loss of validation and test is computed with the same settings, as the mean over batches by their
    /// numbers of samples; `accuracy` and `bits_per_byte` do not depend on them.
    CrossEntropy(CrossEntropySpec),
    /// Mean over all labels of all rows of the binary cross-entropy of a logit and a label that is there or not, as PyTorch's
    /// `BCEWithLogitsLoss` with `pos_weight`. The loss of validation and test is computed with the same weights; metrics do not depend
    /// on them.
    BinaryCrossEntropy(BinaryCrossEntropySpec),
    /// Mean squared error of the noise that `ddpm-unet` estimates, with the cosine schedule of Nichol & Dhariwal (2021).
    NoiseMse(NoiseMseSpec),
    /// T-statistic `log(T1 − 2 T2 + T3)` of the normalised depth-4 signatures of generated and real paths.
    TStatistic(TStatisticSpec),
    /// Scoring rule `Σ_{i≠j} k(gᵢ, gⱼ)/(b(b−1)) − 2 mean k(gᵢ, rⱼ)` of generated paths g and real paths r, with a
    /// Gaussian kernel k of depth-4 signatures.
    SignatureScoring(SignatureSpec),
    /// Square root of the biased squared MMD of generated and real paths, with a Gaussian kernel of depth-4 signatures.
    TruncatedMmd(SignatureSpec),
    /// Scoring rule `−ln(mean k(gᵢ, rⱼ) + 1e-8)` of generated paths g and real paths r, with a Gaussian kernel k of
    /// depth-4 signatures.
    SimplifiedScoring(SignatureSpec),
    /// Scoring rule `Σ_{i≠j} k(gᵢ, gⱼ)/(b(b−1)) − 2 mean k(gᵢ, y)` of generated paths g and one real path y, with the
    /// signature kernel k.
    KernelScoring(KernelScoringSpec),
    /// Unbiased squared MMD of generated and real paths, with the signature kernel.
    KernelMmd(KernelMmdSpec),
    /// Mean squared error of the noise that `detector-alt` or `detector-neu` estimates in a detector's signals.
    DetectorNoise(DetectorNoiseSpec),
    /// The loss of a command, which its program computes.
    #[serde(rename = "own", skip_deserializing)]
    #[schemars(skip)]
    Own,
}

impl LossSpec {
    /// Whether the loss compares predictions with the targets of a dataset (not generated paths or estimated noise).
    pub fn is_supervised(&self) -> bool {
        matches!(self, Self::CrossEntropy(_) | Self::BinaryCrossEntropy(_))
            || self.error_term().is_some()
    }

    /// The error whose mean over predicted numbers is the loss; `None` for other losses.
    pub fn error_term(&self) -> Option<ErrorTerm> {
        match self {
            Self::Mse(_) => Some(ErrorTerm::Squared),
            Self::L1(_) => Some(ErrorTerm::Absolute),
            Self::Huber(spec) => Some(ErrorTerm::Huber {
                delta: spec.delta as f32,
            }),
            _ => None,
        }
    }

    /// The kind, as written in a manifest.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Mse(_) => "mse",
            Self::L1(_) => "l1",
            Self::Huber(_) => "huber",
            Self::CrossEntropy(_) => "cross-entropy",
            Self::BinaryCrossEntropy(_) => "binary-cross-entropy",
            Self::NoiseMse(_) => "noise-mse",
            Self::TStatistic(_) => "t-statistic",
            Self::SignatureScoring(_) => "signature-scoring",
            Self::TruncatedMmd(_) => "truncated-mmd",
            Self::SimplifiedScoring(_) => "simplified-scoring",
            Self::KernelScoring(_) => "kernel-scoring",
            Self::KernelMmd(_) => "kernel-mmd",
            Self::DetectorNoise(_) => "detector-noise",
            Self::Own => "own",
        }
    }
}

/// Why the setting `key` is too small or too large for f32; `None` if it is from 1e-30 to 1e30.
fn in_f32(key: &str, value: f64) -> Option<String> {
    let is_in = (1e-30..=1e30).contains(&value);
    (!is_in).then(|| format!("`{key}` must be from 1e-30 to 1e30, not {value:e}"))
}
