//! Generated five-dimensional regression.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Generated five-dimensional regression: linear with noise, or non-linear; split 70/15/15.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct RegressionSpec {
    /// Number of rows.
    pub samples: usize,
    /// The function to learn.
    pub target: RegressionTarget,
    /// Seed of the generator (the split follows the run's seed).
    pub seed: u64,
}

impl Default for RegressionSpec {
    fn default() -> Self {
        Self {
            samples: 1000,
            target: RegressionTarget::Linear,
            seed: 0,
        }
    }
}

/// The function of the regression dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RegressionTarget {
    /// `y = 2 x0 + 0.5 x1 - 1.5 x2 + 0.8 x3 - 0.3 x4 + 0.1 e`, `x ~ N(0, 1)`.
    Linear,
    /// `y = sin(2π x0) + 0.5 x1² - 0.3 x2 + cos(π x3 x4)`, `x ~ U(-1, 1)`.
    Nonlinear,
}
