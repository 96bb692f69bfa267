//! Multi-layer perceptron.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A multi-layer perceptron: `depth` hidden layers of `hidden` units, then a linear layer to the outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct MlpSpec {
    /// Units of each hidden layer.
    pub hidden: usize,
    /// Number of hidden layers.
    pub depth: usize,
}

impl Default for MlpSpec {
    fn default() -> Self {
        Self {
            hidden: 64,
            depth: 3,
        }
    }
}
