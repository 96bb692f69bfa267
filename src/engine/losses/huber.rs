//! Mean of Huber's error of predicted values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::in_f32;

/// Mean over predicted values of Huber's error: [`crate::ops::ErrorTerm::Huber`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct HuberSpec {
    /// The difference up to which the error is half its square; beyond, the error is linear. In units of the target as the model
    /// sees it, normalised or not.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub delta: f64,
}

impl Default for HuberSpec {
    fn default() -> Self {
        Self { delta: 1.0 }
    }
}

impl HuberSpec {
    /// Why the loss cannot be computed; `None` if it can.
    pub fn incompatibility(&self) -> Option<String> {
        in_f32("delta", self.delta)
    }
}
