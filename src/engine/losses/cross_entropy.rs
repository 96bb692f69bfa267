//! Mean cross-entropy of predicted classes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Mean cross-entropy of predicted classes: [`crate::ops::cross_entropy()`].
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CrossEntropySpec {}
