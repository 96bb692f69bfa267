//! A learning rate along a line.

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
    /// Epochs from one to the other; without it, all epochs after the warm-up.
    #[schemars(range(min = 1))]
    pub epochs: Option<usize>,
    /// Linear warm-up before it; without it, none.
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
    /// The learning rate of `epoch`, counted from 0 after the warm-up, where `rest` epochs are left.
    pub(super) fn lr(&self, lr: f64, epoch: usize, rest: usize) -> f64 {
        let length = self.epochs.unwrap_or(rest).max(1) as f64;
        let progress = (epoch as f64 / length).min(1.0);
        lr * (self.start_factor + (self.end_factor - self.start_factor) * progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::ScheduleSpec;
    use crate::optim::schedule::tests::assert_rates;

    #[test]
    fn the_line_is_that_of_pytorch() {
        // torch.optim.lr_scheduler.LinearLR(SGD([p], .1), 1., .1, 4)
        let falls = LinearSpec {
            end_factor: 0.1,
            epochs: Some(4),
            ..LinearSpec::default()
        };
        let rates = [(0, 0.1), (1, 0.0775), (3, 0.0325), (4, 0.01), (6, 0.01)];
        assert_rates(&ScheduleSpec::Linear(falls), 0.1, 7, &rates);
        // LinearLR(SGD([p], .1))
        let rises = LinearSpec {
            start_factor: 1.0 / 3.0,
            end_factor: 1.0,
            epochs: Some(5),
            warm_up: None,
        };
        let rates = [(0, 0.1 / 3.0), (2, 0.06), (5, 0.1), (6, 0.1)];
        assert_rates(&ScheduleSpec::Linear(rises), 0.1, 7, &rates);
    }

    #[test]
    fn without_settings_it_falls_to_0_over_the_epochs_after_the_warm_up() {
        // SequentialLR(o, [LinearLR(o, .5, 1., 2), LinearLR(o, 1., 0., 4)], [2]), lr .1, of 6 epochs
        let spec = LinearSpec {
            warm_up: Some(WarmUpSpec {
                epochs: 2,
                from: 0.5,
            }),
            ..LinearSpec::default()
        };
        let rates = [(0, 0.05), (1, 0.075), (2, 0.1), (3, 0.075), (5, 0.025)];
        assert_rates(&ScheduleSpec::Linear(spec), 0.1, 6, &rates);
    }
}
