//! [`Algorithm`]: how gradients are computed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How gradients are computed (`train.algorithm`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Backpropagation; of the model `equilibrium`, through its unrolled iterations.
    #[default]
    Backprop,
    /// Equilibrium propagation (Scellier & Bengio 2017): from the difference between a free equilibrium and one that is
    /// nudged towards the target (`train.beta`). Trains the model `equilibrium` only.
    EquilibriumPropagation,
}
