//! The models, one file each, with the `Spec` that is read from a manifest.
//!
//! Owns [`ModelSpec`], the list of all kinds. A model consists of layers and operations, independent of the device.

mod canned_net;
mod detector;
mod equilibrium;
mod mlp;
mod neural_sde;
mod unet;

pub use canned_net::{CannedNet, CannedNetSpec};
pub use detector::{Alt, Denoiser, DenoiserSize, DetectorAltSpec, DetectorNeuSpec, Neu};
pub use equilibrium::{Equilibrium, EquilibriumAttention, EquilibriumSpec, Solved, Solver, Source};
pub use mlp::{Mlp, MlpActivation, MlpSpec};
pub use neural_sde::{NeuralSde, NeuralSdeSpec};
pub use unet::{DdpmUnetSpec, Unet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::datasets::{Features, Target};

/// A model as a manifest describes it (`[models.NAME]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ModelSpec {
    /// Multi-layer perceptron: predicts numbers or classes from numbers, or from an image as one row of numbers.
    Mlp(MlpSpec),
    /// Class-conditional U-Net that estimates the noise in an image (DDPM): a diffusion model, which generates images.
    DdpmUnet(DdpmUnetSpec),
    /// Generates paths from noise paths: a small network adds channels, and the signature of every prefix is projected to the
    /// next value.
    CannedNet(CannedNetSpec),
    /// Generates paths by a stochastic differential equation with learned drift and diffusion.
    NeuralSde(NeuralSdeSpec),
    /// Predicts classes at the fixed point of an attention block with tied weights, `h ← (1 - gamma) h + gamma f(h, x)` (a deep
    /// equilibrium model).
    Equilibrium(EquilibriumSpec),
    /// Estimates the noise in a detector's signals: dense layers without norms and residual connections.
    DetectorAlt(DetectorAltSpec),
    /// Estimates the noise in a detector's signals: residual blocks with layer norms and dropout.
    DetectorNeu(DetectorNeuSpec),
}

impl ModelSpec {
    /// Every kind, in the order in which `fieldtrial list models` shows them.
    pub const KINDS: [&'static str; 7] = [
        "mlp",
        "ddpm-unet",
        "canned-net",
        "neural-sde",
        "equilibrium",
        "detector-alt",
        "detector-neu",
    ];

    /// The kind, as written in a manifest.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Mlp(_) => "mlp",
            Self::DdpmUnet(_) => "ddpm-unet",
            Self::Equilibrium(_) => "equilibrium",
            Self::CannedNet(_) => "canned-net",
            Self::NeuralSde(_) => "neural-sde",
            Self::DetectorAlt(_) => "detector-alt",
            Self::DetectorNeu(_) => "detector-neu",
        }
    }

    /// Invalid combinations of values, as sentences about their keys; empty if all are valid.
    pub fn check(&self) -> Vec<String> {
        match self {
            Self::Mlp(_) => Vec::new(),
            Self::DdpmUnet(spec) => spec.check(),
            Self::Equilibrium(spec) => spec.check(),
            Self::CannedNet(spec) => spec.check(),
            Self::NeuralSde(spec) => spec.check(),
            Self::DetectorAlt(spec) => spec.check(),
            Self::DetectorNeu(spec) => spec.check(),
        }
    }

    /// Floating-point operations of a forward pass of one sample, by formula; `None` if the data do not fit the model.
    pub fn forward_flops(&self, features: Features, target: Target) -> Option<f64> {
        match (self, features) {
            (Self::Mlp(spec), features) => {
                let outputs = match target {
                    Target::Values { len } => len,
                    Target::Class { classes } => classes,
                    Target::None => return None,
                };
                Some(spec.forward_flops(features.len(), outputs))
            }
            (
                Self::DdpmUnet(spec),
                Features::Image {
                    height,
                    width,
                    channels,
                },
            ) => Some(spec.forward_flops(height, width, channels)),
            (Self::Equilibrium(spec), features) => match target {
                Target::Class { classes } => Some(spec.forward_flops(features.len(), classes)),
                _ => None,
            },
            (Self::CannedNet(spec), Features::Path { points }) => Some(spec.forward_flops(points)),
            (Self::NeuralSde(spec), Features::Path { points }) => Some(spec.forward_flops(points)),
            (Self::DdpmUnet(_) | Self::CannedNet(_) | Self::NeuralSde(_), _) => None,
            (Self::DetectorAlt(spec), features) => {
                Some(spec.forward_flops(features.len(), target.values_len()))
            }
            (Self::DetectorNeu(spec), features) => {
                Some(spec.forward_flops(features.len(), target.values_len()))
            }
        }
    }
}

#[cfg(test)]
mod contract;
#[cfg(test)]
mod reference;
