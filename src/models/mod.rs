//! The models, one file each, with the `Spec` that a manifest writes.
//!
//! Owns [`ModelSpec`], the list of all kinds. A model is layers and operations; it never asks which device it is on.

mod detector;
mod mlp;
mod unet;

pub use detector::{Alt, Denoiser, DenoiserSize, DetectorAltSpec, DetectorNeuSpec, Neu};
pub use mlp::{Mlp, MlpActivation, MlpSpec};
pub use unet::{DdpmUnetSpec, Unet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::datasets::{Features, Target};

/// A model as a manifest describes it (`[models.NAME]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ModelSpec {
    /// Multi-layer perceptron.
    Mlp(MlpSpec),
    /// Class-conditional U-Net that estimates noise (DDPM).
    DdpmUnet(DdpmUnetSpec),
    /// Denoiser of detector signals, the model before.
    DetectorAlt(DetectorAltSpec),
    /// Denoiser of detector signals, the model after.
    DetectorNeu(DetectorNeuSpec),
}

impl ModelSpec {
    /// Every kind, in the order in which `fieldtrial list models` shows them.
    pub const KINDS: [&'static str; 4] = ["mlp", "ddpm-unet", "detector-alt", "detector-neu"];

    /// The kind as a manifest writes it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Mlp(_) => "mlp",
            Self::DdpmUnet(_) => "ddpm-unet",
            Self::DetectorAlt(_) => "detector-alt",
            Self::DetectorNeu(_) => "detector-neu",
        }
    }

    /// Values that types cannot rule out, as sentences about their keys; empty when all is well.
    pub fn check(&self) -> Vec<String> {
        match self {
            Self::Mlp(spec) => spec.check(),
            Self::DdpmUnet(spec) => spec.check(),
            Self::DetectorAlt(spec) => spec.check(),
            Self::DetectorNeu(spec) => spec.check(),
        }
    }

    /// Floating-point operations of a forward pass of one sample, by formula; `None` where the data do not fit.
    pub fn forward_flops(&self, features: Features, target: Target) -> Option<f64> {
        match (self, features) {
            (Self::Mlp(spec), features) => {
                let outputs = match target {
                    Target::Values { len } => len,
                    Target::Class { classes } => classes,
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
            (Self::DdpmUnet(_), Features::Vector { .. }) => None,
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
