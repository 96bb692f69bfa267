//! The embedded digits.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The 1,797 embedded 8×8 digits, 10 classes, split 80/20 by class.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DigitsSpec {}
