//! Schedules of the learning rate, by epoch or by step.

mod linear;
mod one_cycle;
mod plateau;
mod rate;
mod step;

pub use linear::LinearSpec;
pub use one_cycle::{Anneal, OneCycleSpec};
pub use plateau::{PlateauSpec, ThresholdMode};
pub use rate::Rate;
pub use step::StepSpec;

use std::f64::consts::PI;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::optim::RangeError;

/// How the learning rate changes from epoch to epoch, or from step to step (`train.schedule`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ScheduleSpec {
    /// The same rate in all epochs, after the warm-up where there is one.
    Constant(ConstantSpec),
    /// From the optimizer's `lr` down to `min-lr` along half a cosine, after the warm-up where there is one; as PyTorch's
    /// `CosineAnnealingLR`.
    Cosine(CosineSpec),
    /// From the optimizer's `lr` down in steps, every `step-size` epochs or at `milestones`; as PyTorch's `StepLR` and
    /// `MultiStepLR`.
    Step(StepSpec),
    /// From the optimizer's `lr` down to 0 along a line, or between two shares of it; as PyTorch's `LinearLR`. Its
    /// default, from 1/3 of the rate to all of it in 5 epochs, is a warm-up: `warm-up`.
    Linear(LinearSpec),
    /// From the optimizer's `lr` down by `factor` whenever the loss has not fallen for more than `patience` epochs; as PyTorch's
    /// `ReduceLROnPlateau`. It is the validation loss, in the epochs that `validation.every` validates; without a validation
    /// split, the training loss.
    Plateau(PlateauSpec),
    /// From a small rate up to the optimizer's `lr` and down to a smaller one, from optimizer step to optimizer step, along half
    /// a cosine each; as PyTorch's `OneCycleLR` with `cycle_momentum=False`. It is over all of `train.epochs`.
    OneCycle(OneCycleSpec),
}

/// A constant learning rate.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ConstantSpec {
    /// Linear warm-up before the schedule begins; none by default.
    pub warm_up: Option<WarmUpSpec>,
}

/// A learning rate along half a cosine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CosineSpec {
    /// Learning rate at the end.
    #[schemars(range(min = 0))]
    pub min_lr: f64,
    /// Number of epochs from the full rate to `min-lr`; by default, all epochs after the warm-up.
    #[schemars(range(min = 1))]
    pub epochs: Option<usize>,
    /// Linear warm-up before the schedule begins; none by default.
    pub warm_up: Option<WarmUpSpec>,
}

/// A linear rise of the learning rate, from epoch to epoch (`warm-up` of a schedule).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct WarmUpSpec {
    /// Epochs until the full rate.
    #[schemars(range(min = 1))]
    pub epochs: usize,
    /// Share of the full rate in the first epoch.
    #[schemars(range(min = 0, max = 1))]
    pub from: f64,
}

impl Default for ScheduleSpec {
    fn default() -> Self {
        Self::Constant(ConstantSpec::default())
    }
}

impl Default for WarmUpSpec {
    fn default() -> Self {
        Self {
            epochs: 10,
            from: 0.01,
        }
    }
}

impl ScheduleSpec {
    /// The learning rate of `epoch`, counted from 0, out of `epochs`; `lr` is the optimizer's learning rate. Of a
    /// plateau schedule it is the rate without any reduction; of a one-cycle schedule the largest rate.
    ///
    /// In a warm-up of w epochs that begins with the fraction f, epoch e has the rate `lr (f + (1-f) e/w)`. After it, a
    /// cosine over S epochs has the rate `min + ½ (lr - min) (1 + cos(π s/S))` with `s = e - w` for `s < S`, and `min`
    /// afterwards.
    ///
    /// # Source
    /// Loshchilov & Hutter 2017 (SGDR), §3, without restarts; agrees with PyTorch `CosineAnnealingLR` for `s ≤ S`, and
    /// with `SequentialLR` of `LinearLR` and `CosineAnnealingLR`.
    fn of_epoch(&self, lr: f64, epoch: usize, epochs: usize) -> f64 {
        let warm_up = self.warm_up_epochs();
        let Some(after) = epoch.checked_sub(warm_up) else {
            let from = self.warm_up().map_or(1.0, |warm_up| warm_up.from);
            return lr * (from + (1.0 - from) * epoch as f64 / warm_up as f64);
        };
        let rest = epochs.saturating_sub(warm_up).max(1);
        match self {
            Self::Constant(_) | Self::Plateau(_) | Self::OneCycle(_) => lr,
            Self::Cosine(spec) => {
                let length = spec.epochs.unwrap_or(rest) as f64;
                let progress = (after as f64 / length).min(1.0);
                spec.min_lr + (lr - spec.min_lr) * 0.5 * (1.0 + (PI * progress).cos())
            }
            Self::Step(spec) => spec.lr(lr, after),
            Self::Linear(spec) => spec.lr(lr, after, rest),
        }
    }

    /// Whether the learning rate depends on the number of epochs.
    pub fn needs_epochs(&self) -> bool {
        match self {
            Self::Constant(_) | Self::Step(_) | Self::Plateau(_) => false,
            Self::Cosine(spec) => spec.epochs.is_none(),
            Self::Linear(spec) => spec.epochs.is_none(),
            Self::OneCycle(_) => true,
        }
    }

    /// Errors for settings that do not fit the optimizer's learning rate `lr` or the number of `epochs` (0 if unknown).
    pub fn check(&self, lr: f64, epochs: usize) -> Vec<RangeError> {
        let (min_lr, own) = match self {
            // No check: earlier versions allowed a warm-up that is longer than the training.
            Self::Constant(_) => return Vec::new(),
            Self::Cosine(spec) => (spec.min_lr, Vec::new()),
            Self::Plateau(spec) => (spec.min_lr, spec.check(epochs)),
            Self::Step(spec) => (0.0, spec.check().into_iter().collect()),
            Self::Linear(_) | Self::OneCycle(_) => (0.0, Vec::new()),
        };
        let low = (min_lr > lr).then(|| RangeError {
            key: "min-lr",
            message: format!("must be at most the learning rate {lr}, not {min_lr}"),
        });
        let warm_up = self.warm_up_epochs();
        let long = (epochs > 0 && warm_up >= epochs).then(|| RangeError {
            key: "warm-up.epochs",
            message: format!("must be below `train.epochs` = {epochs}, not {warm_up}"),
        });
        low.into_iter().chain(long).chain(own).collect()
    }

    fn warm_up_epochs(&self) -> usize {
        self.warm_up().map_or(0, |warm_up| warm_up.epochs)
    }

    fn warm_up(&self) -> Option<&WarmUpSpec> {
        match self {
            Self::Constant(spec) => spec.warm_up.as_ref(),
            Self::Cosine(spec) => spec.warm_up.as_ref(),
            Self::Step(spec) => spec.warm_up.as_ref(),
            Self::Linear(spec) => spec.warm_up.as_ref(),
            Self::Plateau(spec) => spec.warm_up.as_ref(),
            // A one-cycle schedule has no separate warm-up.
            Self::OneCycle(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::spec;

    #[track_caller]
    pub(super) fn assert_near(own: f64, expected: f64, lr: f64, place: &str) {
        assert!(
            (own - expected).abs() < 1e-12 * lr.max(1e-3),
            "{place}: {own} instead of {expected}"
        );
    }

    #[track_caller]
    pub(super) fn assert_rates(settings: &str, lr: f64, epochs: usize, expected: &[(usize, f64)]) {
        let own = Rate::new(&spec(settings), lr, epochs, 10);
        for &(epoch, rate) in expected {
            for step in [0, 9] {
                assert_near(own.at(epoch, step), rate, lr, &format!("epoch {epoch}"));
            }
        }
    }

    #[test]
    fn the_cosine_is_that_of_pytorch() {
        // torch.optim.lr_scheduler.CosineAnnealingLR(SGD([p], 1e-3), 200), one step an epoch
        let rates = [
            (0, 1e-3),
            (1, 9.999_383_162_408_303e-4),
            (50, 8.535_533_905_932_731e-4),
            (100, 5e-4),
            (199, 6.168_375_916_970_607e-8),
        ];
        assert_rates("kind = 'cosine'", 1e-3, 200, &rates);
        // SequentialLR(o, [LinearLR(o, .01, 1., 10), CosineAnnealingLR(o, 90, 1e-6)], [10]), lr 5e-5, 100 epochs
        let rates = [
            (0, 5e-7),
            (1, 5.45e-6),
            (9, 4.505e-5),
            (10, 5e-5),
            (11, 4.998_507_526_196_785e-5),
            (55, 2.55e-5),
            (99, 1.014_924_738_032_153_8e-6),
        ];
        let settings = "kind = 'cosine', min-lr = 1e-6, warm-up = {}";
        assert_rates(settings, 5e-5, 100, &rates);
        // After the cosine, the rate stays at its minimum.
        let settings = "kind = 'cosine', min-lr = 1e-6, epochs = 4";
        let rates = [(2, 5.005e-4), (4, 1e-6), (9, 1e-6)];
        assert_rates(settings, 1e-3, 10, &rates);
    }

    #[test]
    fn a_constant_rate_may_warm_up() {
        assert_rates("kind = 'constant'", 0.1, 3, &[(0, 0.1), (2, 0.1)]);
        let warm = "kind = 'constant', warm-up = { epochs = 2, from = 0.5 }";
        assert_rates(warm, 0.1, 4, &[(0, 0.05), (1, 0.075), (2, 0.1)]);
    }

    #[test]
    fn a_warm_up_longer_than_the_training_is_a_mistake() {
        let settings =
            "kind = 'cosine', min-lr = 1.0, epochs = 0, warm-up = { epochs = 10, from = 2.0 }";
        let spec: ScheduleSpec = spec(settings);
        let keys: Vec<&str> = spec.check(0.1, 5).iter().map(|error| error.key).collect();
        assert_eq!(keys, ["min-lr", "warm-up.epochs"]);
        assert!(Rate::new(&spec, 0.1, 5, 1).at(4, 0).is_finite());
    }
}
