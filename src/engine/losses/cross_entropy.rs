//! Mean cross-entropy of predicted classes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ops::{Kernels, Pass, Result, Var, cross_entropy};

/// Mean cross-entropy of predicted classes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CrossEntropySpec {}

impl CrossEntropySpec {
    /// The mean over the batch of `log Σ exp(logits) - logits[label]`.
    ///
    /// # Shapes
    /// `(1)` from `logits: (B, classes)` and B labels.
    pub fn loss<D: Kernels>(
        &self,
        pass: &mut Pass<D>,
        logits: &Var<D>,
        labels: &[usize],
    ) -> Result<Var<D>> {
        cross_entropy(pass, logits, labels)
    }
}
