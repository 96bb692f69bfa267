//! Mean squared error of predicted values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ops::{Kernels, Pass, Result, Var, mse};

/// Mean squared error of predicted values.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct MseSpec {}

impl MseSpec {
    /// The mean over all values of `(output - target)²`.
    ///
    /// # Shapes
    /// `(1)` from `output` and `target` of one shape.
    pub fn loss<D: Kernels>(
        &self,
        pass: &mut Pass<D>,
        output: &Var<D>,
        target: &Var<D>,
    ) -> Result<Var<D>> {
        mse(pass, output, target)
    }
}
