//! T-statistic of normalised signatures.

use std::rc::Rc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PathLoss;
use crate::ops::{PathBatch, SignatureLoss};

/// T-statistic: `log(T1 − 2 T2 + T3)` of normalised depth-4 signatures of generated and of all real paths.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct TStatisticSpec {}

impl TStatisticSpec {
    /// The loss against `real`, whose terms are precomputed here.
    pub fn against(&self, real: &PathBatch) -> PathLoss {
        PathLoss::Signature(Rc::new(SignatureLoss::t_statistic(real)))
    }
}
