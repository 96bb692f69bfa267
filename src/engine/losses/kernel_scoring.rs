//! Signature-kernel scoring rule.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Signature-kernel scoring rule: `Σ_{i≠j} k(gᵢ, gⱼ)/(b(b−1)) − 2 mean k(gᵢ, y)` with y the first real path.
///
/// k is the signature kernel (Goursat PDE, double precision) over `κ(x, y) = exp(−‖x − y‖²/σ)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct KernelScoringSpec {
    /// σ of the kernel `exp(−‖x − y‖²/σ)` of two points.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub sigma: f64,
    /// Dyadic order n of the solver: every pair of increments is cut into `2ⁿ × 2ⁿ` cells.
    #[schemars(range(min = 0, max = 8))]
    pub order: u32,
    /// Points of each path that are compared, from the first; without it, all.
    #[schemars(range(min = 2))]
    pub cut: Option<usize>,
    /// Generated paths of a batch that are compared; without it, all.
    #[schemars(range(min = 1))]
    pub paths: Option<usize>,
}

impl Default for KernelScoringSpec {
    fn default() -> Self {
        Self {
            sigma: 1.0,
            order: 4,
            cut: Some(50),
            paths: None,
        }
    }
}
