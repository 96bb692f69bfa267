//! Stochastic gradient descent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Decay;
use super::check::RangeError;
use crate::manifest::is_default;
use crate::ops::SgdStep;

/// Settings of SGD.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SgdSpec {
    /// Learning rate.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub lr: f64,
    /// Momentum.
    #[schemars(range(min = 0), extend("exclusiveMaximum" = 1))]
    pub momentum: f64,
    /// Whether the momentum is Nesterov's; needs a `momentum`.
    pub nesterov: bool,
    /// Weight decay, as an L2 term of the gradient.
    #[schemars(range(min = 0))]
    pub weight_decay: f64,
    /// Which parameters have weight decay.
    #[serde(skip_serializing_if = "is_default")]
    #[schemars(extend("default" = "all"))]
    pub decay: Decay,
}

impl Default for SgdSpec {
    fn default() -> Self {
        Self {
            lr: 1e-2,
            momentum: 0.0,
            nesterov: false,
            weight_decay: 0.0,
            decay: Decay::All,
        }
    }
}

impl SgdSpec {
    /// Errors for settings that are not valid together; empty if there are none.
    pub(super) fn check(&self) -> Vec<RangeError> {
        let lacks_momentum = self.nesterov && self.momentum == 0.0;
        let error = lacks_momentum.then(|| RangeError {
            key: "nesterov",
            message: "needs a momentum above 0".to_owned(),
        });
        error.into_iter().collect()
    }

    pub(super) fn has_momentum(&self) -> bool {
        self.momentum > 0.0
    }

    /// Arguments of the update kernel: a step against the gradient, or against a decaying sum of gradients (momentum).
    ///
    /// `g += wd p`, `b = μ b + g`, `p -= lr b`; with Nesterov `p -= lr (g + μ b)`; without momentum `p -= lr g`.
    ///
    /// # Source
    /// Sutskever et al. 2013; PyTorch `SGD` with dampening 0.
    pub(super) fn step(&self, lr: f64) -> SgdStep {
        SgdStep {
            lr,
            momentum: self.momentum,
            nesterov: self.nesterov,
            weight_decay: self.weight_decay,
            only_matrices: self.decay == Decay::Matrices,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::testing::assert_steps;
    use crate::testing::spec;

    #[test]
    fn plain_sgd_steps_like_pytorch() {
        // loss of `adam_steps_like_pytorch`, with torch.optim.SGD([a, b], .1)
        assert_steps(
            "kind = 'sgd', lr = 0.1",
            "       0.8   -1.2         0.2    0.23125   -0.91875
                   0.64  -0.72        0.08 0.21520704 -1.1719805
             0.51199997 -0.432 0.031999994 0.20131283  -1.584042",
        );
    }

    #[test]
    fn momentum_and_weight_decay_step_like_pytorch() {
        // torch.optim.SGD([a, b], .05, momentum=.9, weight_decay=.01)
        assert_steps(
            "kind = 'sgd', lr = 0.05, momentum = 0.9, nesterov = false, weight-decay = 0.01",
            "    0.8995      -1.599     0.34975     0.2405     -0.834
              0.7186503  -0.9175005   0.1094251 0.22315371 -1.0135164
             0.48366115 -0.12019209 -0.13974953 0.19996084 -1.3286568",
        );
    }

    #[test]
    fn nesterov_steps_like_pytorch() {
        // torch.optim.SGD([a, b], .05, momentum=.9, nesterov=True)
        assert_steps(
            "kind = 'sgd', lr = 0.05, momentum = 0.9, nesterov = true, weight-decay = 0.0",
            "      0.81       -1.24        0.215  0.2321875 -0.9103125
                 0.5751 -0.44480002 -0.029049978  0.2092291 -1.2148268
             0.32732102  0.21670397  -0.17408647 0.18336815 -1.7976236",
        );
    }

    #[test]
    fn nesterov_without_momentum_is_a_mistake() {
        let found: SgdSpec = spec("nesterov = true");
        assert_eq!(found.check()[0].key, "nesterov");
    }
}
