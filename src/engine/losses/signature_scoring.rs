//! Signature scoring rule.

use std::rc::Rc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PathLoss;
use crate::ops::{PathBatch, RbfStatistic, SignatureLoss};

/// Signature scoring rule: `Σ_{i≠j} k(gᵢ, gⱼ)/(b(b−1)) − 2 mean k(gᵢ, rⱼ)` over all real paths.
///
/// `k(u, w) = exp(−‖s(u) − s(w)‖²/(2σ²))` with s the depth-4 signature.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SignatureScoringSpec {
    /// σ of the kernel `exp(−‖s − t‖²/(2σ²))` of two signatures.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub sigma: f64,
}

impl Default for SignatureScoringSpec {
    fn default() -> Self {
        Self { sigma: 1.0 }
    }
}

impl SignatureScoringSpec {
    /// The loss against `real`, whose signatures are precomputed here.
    pub fn against(&self, real: &PathBatch) -> PathLoss {
        let loss = SignatureLoss::rbf(RbfStatistic::Scoring, self.sigma, real);
        PathLoss::Signature(Rc::new(loss))
    }
}
