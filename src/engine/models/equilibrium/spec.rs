//! [`EquilibriumSpec`]: the settings of the model, and its FLOPs by formula.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ops::{Activation, AttentionKind, Damping};

/// A classifier at the fixed point of one weight-tied attention block, found by damped iteration.
///
/// Between an embedding and a linear head, `h ← (1 - gamma) h + gamma f(h, x)` from zeros. Heads: the largest of 8, 4, 2, 1
/// that divides `hidden`; the feed-forward part has 4 × `hidden` units; a sample is a sequence of one vector.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct EquilibriumSpec {
    /// Width d of the state.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub hidden: usize,
    /// Attention of the state to the input.
    pub attention: EquilibriumAttention,
    /// Whether the block uses every weight in both directions and has no norms; with `attention = "linear"` only.
    pub symmetric: bool,
    /// Most iterations until the fixed point.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub iterations: usize,
    /// Damping: the share of the block's result in the next state.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub gamma: f64,
    /// The iteration ends when the L2 norm of the state's change, over the batch, is below this.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub tolerance: f64,
    /// Whether training starts from the fixed point that the sample had in the epoch before, instead of from zeros.
    pub warm_start: bool,
}

/// Attention of the equilibrium model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EquilibriumAttention {
    /// `φ(q) (φ(k)ᵀ v)` over its sum of weights, `φ = elu + 1`.
    #[default]
    Linear,
    /// `softmax(q kᵀ / √d) v`.
    Softmax,
}

impl From<EquilibriumAttention> for AttentionKind {
    fn from(attention: EquilibriumAttention) -> Self {
        match attention {
            EquilibriumAttention::Linear => Self::Linear,
            EquilibriumAttention::Softmax => Self::Softmax,
        }
    }
}

impl Default for EquilibriumSpec {
    fn default() -> Self {
        Self {
            hidden: 64,
            attention: EquilibriumAttention::default(),
            symmetric: false,
            iterations: 20,
            gamma: 0.9,
            tolerance: 1e-4,
            warm_start: false,
        }
    }
}

impl EquilibriumSpec {
    /// One sentence, with the setting's key, for each invalid value; empty if all values are valid.
    pub fn check(&self) -> Vec<String> {
        let rules = [
            (self.hidden > 0, "`hidden` must be at least 1"),
            (self.iterations > 0, "`iterations` must be at least 1"),
            (
                self.gamma > 0.0 && self.gamma <= 1.0,
                "`gamma` must be above 0 and at most 1",
            ),
            (self.tolerance > 0.0, "`tolerance` must be above 0"),
            (
                !self.symmetric || self.attention == EquilibriumAttention::Linear,
                "`symmetric = true` has linear attention only, not `attention = \"softmax\"`",
            ),
        ];
        let broken = rules.into_iter().filter(|(holds, _)| !holds);
        broken.map(|(_, mistake)| mistake.to_owned()).collect()
    }

    /// The settings of the damped fixed-point iteration.
    pub fn damping(&self) -> Damping {
        Damping {
            iterations: self.iterations,
            gamma: self.gamma as f32,
            tolerance: self.tolerance,
        }
    }

    /// Number of attention heads: the largest of 8, 4, 2, 1 that divides `hidden`.
    pub fn heads(&self) -> usize {
        let divides = |heads: &usize| self.hidden.is_multiple_of(*heads);
        [8, 4, 2].into_iter().find(divides).unwrap_or(1)
    }

    /// Floating-point operations of a forward pass of one sample with all iterations, by a formula that equals the
    /// operations' own counts.
    pub fn forward_flops(&self, inputs: usize, classes: usize) -> f64 {
        let d = self.hidden as f64;
        let linear = |inputs: f64, outputs: f64| (2.0 * inputs + 1.0) * outputs;
        let attention = match self.attention {
            EquilibriumAttention::Linear => 9.0 * d,
            EquilibriumAttention::Softmax => 4.0 * d + 5.0 * self.heads() as f64,
        };
        let activation = |kind: Activation| kind.forward_backward_flop().0 as f64 * 4.0 * d;
        let (read, block) = if self.symmetric {
            let back = 2.0 * d * d + d + 8.0 * d * d + 6.0 * d;
            let inner = linear(d, d) + linear(d, 4.0 * d) + activation(Activation::Tanh);
            (linear(d, d), inner + attention + back)
        } else {
            let norms = 3.0 * 8.0 * d;
            let outward = linear(d, d) + d + linear(4.0 * d, d) + d;
            let inner = linear(d, d) + linear(d, 4.0 * d) + activation(Activation::Gelu);
            (2.0 * linear(d, d), norms + inner + attention + outward)
        };
        let damping = 6.0 * d;
        let ends = linear(inputs as f64, d) + linear(d, classes as f64);
        ends + read + self.iterations as f64 * (block + damping)
    }
}
