//! [`Algorithm`]: how gradients come about.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How gradients come about (`train.algorithm`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// Backpropagation; through the unrolled iterations of an equilibrium model.
    #[default]
    Backprop,
    /// Equilibrium propagation: from the difference between a free and a nudged equilibrium (`train.beta`). Trains the
    /// model `equilibrium`.
    EquilibriumPropagation,
}
