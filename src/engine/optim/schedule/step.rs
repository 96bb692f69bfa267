//! The step schedule: the learning rate falls at some epochs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WarmUpSpec;
use crate::optim::RangeError;

/// A learning rate that falls in steps: every `step-size` epochs, or at `milestones`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct StepSpec {
    /// Number of epochs between two steps, as in PyTorch's `StepLR`. Either `step-size` or `milestones` must be set.
    #[schemars(range(min = 1))]
    pub step_size: Option<usize>,
    /// Epochs before each step, as in PyTorch's `MultiStepLR`: with `[30, 80]` the rate falls after the 30th and after the 80th.
    #[schemars(extend("items" = { "type": "integer", "minimum": 1 }))]
    pub milestones: Option<Vec<usize>>,
    /// What the rate is multiplied by in a step.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub gamma: f64,
    /// Linear warm-up before the schedule begins, whose epochs are counted from the end of the warm-up; none by default.
    pub warm_up: Option<WarmUpSpec>,
}

impl Default for StepSpec {
    fn default() -> Self {
        Self {
            step_size: None,
            milestones: None,
            gamma: 0.1,
            warm_up: None,
        }
    }
}

impl StepSpec {
    /// The learning rate of `epoch`, counted from 0 after the warm-up: `lr γⁿ` after n falls.
    pub(super) fn lr(&self, lr: f64, epoch: usize) -> f64 {
        let milestones = self.milestones.iter().flatten();
        let steps = match self.step_size {
            Some(size) => epoch / size.max(1),
            None => milestones.filter(|milestone| **milestone <= epoch).count(),
        };
        lr * self.gamma.powf(steps as f64)
    }

    pub(super) fn check(&self) -> Option<RangeError> {
        let (key, message) = match (self.step_size, &self.milestones) {
            (None, None) => ("step-size", "is missing: set it, or `milestones`"),
            (Some(_), Some(_)) => ("milestones", "cannot be set beside `step-size`"),
            _ => return None,
        };
        Some(RangeError {
            key,
            message: message.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::schedule::tests::assert_rates;
    use crate::testing::spec;

    #[test]
    fn steps_are_those_of_pytorch() {
        // torch.optim.lr_scheduler.StepLR(SGD([p], .1), 3, .5)
        let rates = [(2, 0.1), (3, 0.05), (5, 0.05), (6, 0.025), (9, 0.0125)];
        let every = "kind = 'step', step-size = 3, gamma = 0.5";
        assert_rates(every, 0.1, 10, &rates);
        // MultiStepLR(SGD([p], .1), [2, 5, 5]); the order does not matter
        let rates = [(1, 0.1), (2, 0.01), (4, 0.01), (5, 1e-4), (7, 1e-4)];
        assert_rates("kind = 'step', milestones = [5, 2, 5]", 0.1, 8, &rates);
        // SequentialLR(o, [LinearLR(o, .5, 1., 2), StepLR(o, 2, .1)], [2]), lr .1
        let rates = [(0, 0.05), (1, 0.075), (3, 0.1), (4, 0.01), (6, 0.001)];
        let warm = "kind = 'step', step-size = 2, warm-up = { epochs = 2, from = 0.5 }";
        assert_rates(warm, 0.1, 8, &rates);
    }

    #[test]
    fn one_of_step_size_and_milestones_has_to_be_set() {
        let key = |settings: &str| spec::<StepSpec>(settings).check().map(|error| error.key);
        assert_eq!(key(""), Some("step-size"));
        assert_eq!(key("step-size = 3"), None);
        assert_eq!(key("step-size = 3, milestones = [1]"), Some("milestones"));
    }
}
