//! Unbiased maximum mean discrepancy of the signature kernel.

use std::rc::Rc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PathLoss;
use crate::ops::{KernelLoss, KernelOptions, KernelStatistic, PathBatch};

/// Unbiased squared MMD of the signature kernel: off-diagonal means of `K_GG` and `K_RR`, minus `2 mean K_GR`, with as
/// many of the first real paths as generated ones.
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

impl KernelMmdSpec {
    /// The loss against `real`.
    pub fn against(&self, real: &PathBatch) -> PathLoss {
        let options = KernelOptions {
            sigma: self.sigma,
            order: self.order,
            points: self.cut.unwrap_or(usize::MAX),
            paths: self.paths.unwrap_or(usize::MAX),
        };
        let loss = KernelLoss::new(KernelStatistic::Mmd, options, real);
        PathLoss::Kernel(Rc::new(loss))
    }
}
