//! Mean absolute error of predicted values.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Mean absolute error of predicted values: [`crate::ops::ErrorTerm::Absolute`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct L1Spec {}
