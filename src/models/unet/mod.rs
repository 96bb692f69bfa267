//! DDPM U-Net.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The class-conditional U-Net of the DDPM workload: three levels, attention at the lowest resolution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct DdpmUnetSpec {
    /// Channels at the highest resolution; the levels have 1, 2 and 4 times as many.
    pub base_channels: usize,
    /// Width of the time and class embeddings.
    pub embed: usize,
    /// Attention heads.
    pub heads: usize,
    /// Groups of each group norm.
    pub groups: usize,
    /// Probability of dropout inside residual blocks.
    pub dropout: f64,
}

impl Default for DdpmUnetSpec {
    fn default() -> Self {
        Self {
            base_channels: 64,
            embed: 256,
            heads: 4,
            groups: 8,
            dropout: 0.1,
        }
    }
}
