//! Unbiased maximum mean discrepancy of the signature kernel.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Unbiased squared MMD of the signature kernel: off-diagonal means of `K_GG` and `K_RR`, minus `2 mean K_GR`, with the
/// first real paths, as many as generated ones.
///
/// k is the signature kernel (Goursat PDE, double precision) over `κ(x, y) = exp(−‖x − y‖²/σ)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct KernelMmdSpec {
    /// σ of the kernel `exp(−‖x − y‖²/σ)` of two points.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub sigma: f64,
    /// Dyadic order n of the solver: every pair of increments is cut into `2ⁿ × 2ⁿ` cells.
    #[schemars(range(min = 0, max = 8))]
    pub order: u32,
    /// Points of each path that are compared, from the first; without it, all.
    #[schemars(range(min = 2))]
    pub cut: Option<usize>,
    /// Generated and real paths of a batch that are compared; without it, all.
    #[schemars(range(min = 1))]
    pub paths: Option<usize>,
}

impl Default for KernelMmdSpec {
    fn default() -> Self {
        Self {
            sigma: 1.0,
            order: 0,
            cut: None,
            paths: None,
        }
    }
}
