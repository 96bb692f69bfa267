//! Settings of losses with a Gaussian kernel of signatures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A rule on `k(u, w) = exp(−‖s(u) − s(w)‖²/(2σ²))` with s the depth-4 signature; [`crate::ops::RbfStatistic`] has the rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SignatureSpec {
    /// σ of the kernel `exp(−‖s − t‖²/(2σ²))` of two signatures.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub sigma: f64,
}

impl Default for SignatureSpec {
    fn default() -> Self {
        Self { sigma: 1.0 }
    }
}
