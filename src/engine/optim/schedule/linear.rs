//! The linear schedule of the learning rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WarmUpSpec;

/// A learning rate along a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LinearSpec {
    /// Share of the optimizer's `lr` in the first epoch.
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub start_factor: f64,
    /// Share of the optimizer's `lr` at the end of the line.
    #[schemars(range(min = 0, max = 1))]
    pub end_factor: f64,
    /// Number of epochs from the first rate to the last; by default, all epochs after the warm-up.
    #[schemars(range(min = 1))]
    pub epochs: Option<usize>,
    /// Linear warm-up before the schedule begins; none by default.
    pub warm_up: Option<WarmUpSpec>,
}

impl Default for LinearSpec {
    fn default() -> Self {
        Self {
            start_factor: 1.0,
            end_factor: 0.0,
            epochs: None,
            warm_up: None,
        }
    }
}

impl LinearSpec {
    /// The learning rate of `epoch`, counted from 0 after the warm-up; `rest` is the number of epochs after the
    /// warm-up.
    pub(super) fn lr(&self, lr: f64, epoch: usize, rest: usize) -> f64 {
        let length = self.epochs.unwrap_or(rest).max(1) as f64;
        let progress = (epoch as f64 / length).min(1.0);
        lr * (self.start_factor + (self.end_factor - self.start_factor) * progress)
    }
}

#[cfg(test)]
mod tests {
    use crate::optim::schedule::tests::assert_rates;

    #[test]
    fn the_line_is_that_of_pytorch() {
        // torch.optim.lr_scheduler.LinearLR(SGD([p], .1), 1., .1, 4)
        let rates = [(0, 0.1), (1, 0.0775), (3, 0.0325), (4, 0.01), (6, 0.01)];
        let falls = "kind = 'linear', end-factor = 0.1, epochs = 4";
        assert_rates(falls, 0.1, 7, &rates);
        // LinearLR(SGD([p], .1))
        let rates = [(0, 0.1 / 3.0), (2, 0.06), (5, 0.1), (6, 0.1)];
        let rises =
            "kind = 'linear', start-factor = 0.3333333333333333, end-factor = 1.0, epochs = 5";
        assert_rates(rises, 0.1, 7, &rates);
        // Without settings the rate falls to 0 over the epochs after the warm-up:
        // SequentialLR(o, [LinearLR(o, .5, 1., 2), LinearLR(o, 1., 0., 4)], [2]), lr .1, of 6 epochs
        let rates = [(0, 0.05), (1, 0.075), (2, 0.1), (3, 0.075), (5, 0.025)];
        let warm = "kind = 'linear', warm-up = { epochs = 2, from = 0.5 }";
        assert_rates(warm, 0.1, 6, &rates);
    }
}
