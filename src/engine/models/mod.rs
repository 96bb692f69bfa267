//! The models, one file each, with the `Spec` that is read from a manifest.
//!
//! Owns [`ModelSpec`], the list of all kinds. A model consists of layers and operations, independent of the device.

mod canned_net;
mod command;
mod declared;
mod detector;
mod equilibrium;
mod mlp;
mod neural_sde;
mod unet;

pub use canned_net::{CannedNet, CannedNetSpec};
pub use command::{
    Better, CommandSpec, DECIDING_LOSSES, MetricSpec, Parameter, ParameterKind, ParameterPassing,
    RUN_PLACEHOLDERS, Template,
};
pub(crate) use command::{escaped, text as argument_text};
pub use declared::{
    BlockSpec, ConvLayer, Form, Input, Join, Layer, LayerKind, LayersSpec, Mistake, Network,
    StatisticsUpdate, TensorShape,
};
pub use detector::{Alt, Denoiser, DenoiserSize, DetectorAltSpec, DetectorNeuSpec, Neu};
pub use equilibrium::{Equilibrium, EquilibriumAttention, EquilibriumSpec, KeysValues, Solved};
pub use mlp::{Mlp, MlpActivation, MlpSpec};
pub use neural_sde::{NeuralSde, NeuralSdeSpec};
pub use unet::{DdpmUnetSpec, Unet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// A model of your own, layer by layer, with the words of PyTorch: see `docs/models.md`.
    Layers(LayersSpec),
    /// Any program: a PyTorch script, a trainer in C++, a benchmark; see `docs/commands.md`.
    Command(CommandSpec),
}

impl ModelSpec {
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
            Self::Layers(_) => "layers",
            Self::Command(_) => "command",
        }
    }

    /// The settings of a model of `kind = "command"`, which is trained by a program of the user; `None` for others.
    pub fn command(&self) -> Option<&CommandSpec> {
        match self {
            Self::Command(spec) => Some(spec),
            _ => None,
        }
    }
}

/// One message for each (key, value, minimum) whose value is below its minimum.
fn too_small(values: &[(&str, usize, usize)]) -> Vec<String> {
    let wrong = values.iter().filter(|(_, value, least)| value < least);
    wrong
        .map(|(key, _, least)| format!("`{key}` must be at least {least}"))
        .collect()
}

/// Evaluates `$then` with `$spec` bound to the `Spec` inside of the [`ModelSpec`] `$model`.
macro_rules! each_model {
    ($model:expr, $spec:ident => $then:expr) => {
        match $model {
            $crate::models::ModelSpec::Mlp($spec) => $then,
            $crate::models::ModelSpec::DdpmUnet($spec) => $then,
            $crate::models::ModelSpec::CannedNet($spec) => $then,
            $crate::models::ModelSpec::NeuralSde($spec) => $then,
            $crate::models::ModelSpec::Equilibrium($spec) => $then,
            $crate::models::ModelSpec::DetectorAlt($spec) => $then,
            $crate::models::ModelSpec::DetectorNeu($spec) => $then,
            $crate::models::ModelSpec::Layers($spec) => $then,
            $crate::models::ModelSpec::Command($spec) => $then,
        }
    };
}
pub(crate) use each_model;

#[cfg(test)]
mod contract;
#[cfg(test)]
mod testing;
