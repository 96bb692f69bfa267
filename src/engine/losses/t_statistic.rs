//! T-statistic of normalised signatures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// T-statistic: `log(T1 − 2 T2 + T3)` of normalised depth-4 signatures of generated and of all real paths.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct TStatisticSpec {}
