//! Rules on a Gaussian kernel of signatures.

use std::rc::Rc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PathLoss;
use crate::ops::{PathBatch, RbfStatistic, SignatureLoss};

/// A rule on `k(u, w) = exp(−‖s(u) − s(w)‖²/(2σ²))` with s the depth-4 signature; [`RbfStatistic`] has the rules.
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

impl SignatureSpec {
    /// The loss against `real`, whose signatures are precomputed here.
    pub fn against(&self, statistic: RbfStatistic, real: &PathBatch) -> PathLoss {
        let loss = SignatureLoss::rbf(statistic, self.sigma, real);
        PathLoss::Signature(Rc::new(loss))
    }
}
