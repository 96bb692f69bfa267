//! Optimizers, learning-rate schedules, gradient clipping, weight averages: one file each, with the `Spec`s.
//!
//! Owns [`OptimizerSpec`] and [`ScheduleSpec`]. The kernels are in [`crate::ops`]; when they are called is decided in
//! [`crate::train`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An optimizer as a manifest describes it (`train.optimizer`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum OptimizerSpec {
    /// Adam; weight decay as an L2 term of the gradient.
    Adam(AdamSpec),
    /// Adam with decoupled weight decay.
    #[serde(rename = "adamw")]
    AdamW(AdamSpec),
    /// Stochastic gradient descent with momentum.
    Sgd(SgdSpec),
}

/// Settings of Adam and AdamW.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AdamSpec {
    /// Learning rate.
    pub lr: f64,
    /// Decay of the mean of gradients and of their squares.
    pub betas: [f64; 2],
    /// Added to the root of the mean square.
    pub eps: f64,
    /// Weight decay.
    pub weight_decay: f64,
}

impl Default for AdamSpec {
    fn default() -> Self {
        Self {
            lr: 1e-3,
            betas: [0.9, 0.999],
            eps: 1e-8,
            weight_decay: 0.0,
        }
    }
}

/// Settings of SGD.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SgdSpec {
    /// Learning rate.
    pub lr: f64,
    /// Momentum.
    pub momentum: f64,
    /// Nesterov's momentum.
    pub nesterov: bool,
    /// Weight decay, an L2 term of the gradient.
    pub weight_decay: f64,
}

impl Default for SgdSpec {
    fn default() -> Self {
        Self {
            lr: 1e-2,
            momentum: 0.0,
            nesterov: false,
            weight_decay: 0.0,
        }
    }
}

impl Default for OptimizerSpec {
    fn default() -> Self {
        Self::Adam(AdamSpec::default())
    }
}

impl OptimizerSpec {
    /// Every kind, in the order in which `fieldtrial list optimizers` shows them.
    pub const KINDS: [&'static str; 3] = ["adam", "adamw", "sgd"];

    /// The kind as a manifest writes it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Adam(_) => "adam",
            Self::AdamW(_) => "adamw",
            Self::Sgd(_) => "sgd",
        }
    }
}

/// How the learning rate changes (`train.schedule`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ScheduleSpec {
    /// The same rate throughout, after the warm-up.
    Constant(ConstantSpec),
    /// Down along half a cosine, after the warm-up.
    Cosine(CosineSpec),
}

impl Default for ScheduleSpec {
    fn default() -> Self {
        Self::Constant(ConstantSpec::default())
    }
}

impl ScheduleSpec {
    /// Every kind.
    pub const KINDS: [&'static str; 2] = ["constant", "cosine"];
}

/// A constant learning rate.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ConstantSpec {
    /// Linear warm-up before it.
    pub warm_up: Option<WarmUpSpec>,
}

/// A learning rate along half a cosine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CosineSpec {
    /// The rate at the end.
    pub min_lr: f64,
    /// Epochs from the full rate to `min-lr`; without it, all epochs after the warm-up.
    pub epochs: Option<usize>,
    /// Linear warm-up before it.
    pub warm_up: Option<WarmUpSpec>,
}

/// A linear rise of the learning rate, stepped per epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct WarmUpSpec {
    /// Epochs until the full rate.
    pub epochs: usize,
    /// Share of the full rate in the first epoch.
    pub from: f64,
}

impl Default for WarmUpSpec {
    fn default() -> Self {
        Self {
            epochs: 10,
            from: 0.01,
        }
    }
}

/// Exponential moving average of the weights (`train.ema`), used for validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct EmaSpec {
    /// Decay after each optimizer step.
    pub decay: f64,
    /// Whether the decay after n steps is `min(decay, (1+n)/(10+n))`.
    pub warm_up: bool,
}

impl Default for EmaSpec {
    fn default() -> Self {
        Self {
            decay: 0.9999,
            warm_up: false,
        }
    }
}
