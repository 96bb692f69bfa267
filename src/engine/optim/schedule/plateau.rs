//! The plateau schedule: the learning rate falls when the loss has stopped falling.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WarmUpSpec;
use crate::optim::RangeError;

/// A learning rate that falls when the loss has not fallen for some epochs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct PlateauSpec {
    /// What the rate is multiplied by.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    pub factor: f64,
    /// Epochs without improvement that are tolerated; after one more the rate falls.
    pub patience: usize,
    /// By how much a loss must be below the best to be an improvement.
    #[schemars(range(min = 0))]
    pub threshold: f64,
    /// What `threshold` is: a share of the best loss, or a difference.
    pub threshold_mode: ThresholdMode,
    /// Epochs after a fall that do not count as epochs without improvement.
    pub cooldown: usize,
    /// Smallest learning rate.
    #[schemars(range(min = 0))]
    pub min_lr: f64,
    /// Smallest fall of the rate: one by this much or less is not made.
    #[schemars(range(min = 0))]
    pub eps: f64,
    /// Linear warm-up before the schedule begins; its epochs do not count as epochs without improvement. None by default.
    pub warm_up: Option<WarmUpSpec>,
}

/// What the `threshold` of a plateau is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ThresholdMode {
    /// A share: a loss is better below `best (1 - threshold)`.
    #[default]
    Rel,
    /// A difference: a loss is better below `best - threshold`.
    Abs,
}

impl Default for PlateauSpec {
    fn default() -> Self {
        Self {
            factor: 0.1,
            patience: 10,
            threshold: 1e-4,
            threshold_mode: ThresholdMode::Rel,
            cooldown: 0,
            min_lr: 0.0,
            eps: 1e-8,
            warm_up: None,
        }
    }
}

impl PlateauSpec {
    fn warm_up_epochs(&self) -> usize {
        self.warm_up.as_ref().map_or(0, |warm_up| warm_up.epochs)
    }

    /// Errors for settings with which no loss could be an improvement, or the rate could never fall; `epochs` is 0 if
    /// unknown.
    pub(super) fn check(&self, epochs: usize) -> Vec<RangeError> {
        let unreachable = self.threshold_mode == ThresholdMode::Rel && self.threshold >= 1.0;
        let threshold = unreachable.then(|| RangeError {
            key: "threshold",
            message: format!(
                "must be below 1, a share of the best loss, not {}",
                self.threshold
            ),
        });
        threshold.into_iter().chain(self.endless(epochs)).collect()
    }

    /// An error if `patience` is so long that the rate cannot fall within `epochs`. The first epoch is always an
    /// improvement.
    fn endless(&self, epochs: usize) -> Option<RangeError> {
        let counted_from = self.warm_up_epochs().max(1);
        let least = self.patience.saturating_add(counted_from).saturating_add(2);
        (epochs > 0 && epochs < least).then(|| RangeError {
            key: "patience",
            message: format!(
                "of {} needs `train.epochs` of at least {least} for the rate to fall, not {epochs}",
                self.patience
            ),
        })
    }

    fn is_better(&self, loss: f64, best: f64) -> bool {
        match self.threshold_mode {
            ThresholdMode::Rel => loss < best * (1.0 - self.threshold),
            ThresholdMode::Abs => loss < best - self.threshold,
        }
    }
}

/// The state of a plateau schedule: tracks the loss over epochs and lowers the learning rate.
///
/// If every epoch has a loss, the rates are those of PyTorch's `ReduceLROnPlateau`. An epoch without a loss counts as
/// an epoch without improvement.
#[derive(Debug, Clone)]
pub(super) struct Plateau {
    spec: PlateauSpec,
    lr: f64,
    best: f64,
    /// Number of finished epochs when the count of epochs without improvement was last reset.
    counted_from: usize,
    /// Number of finished epochs at which the current cooldown ends.
    cooled_at: usize,
}

impl Plateau {
    pub(super) fn new(spec: &PlateauSpec, lr: f64) -> Self {
        Self {
            spec: spec.clone(),
            lr,
            best: f64::INFINITY,
            counted_from: 0,
            cooled_at: spec.warm_up_epochs(),
        }
    }

    /// The learning rate of the next epoch, if that is after the warm-up.
    pub(super) fn lr(&self) -> f64 {
        self.lr
    }

    /// Takes the loss of `epoch` (from 0): validation loss, or training loss without validation. A loss of `None` or
    /// NaN is never an improvement.
    pub(super) fn record_loss(&mut self, epoch: usize, loss: Option<f64>) {
        let done = epoch + 1;
        let better = loss.filter(|loss| self.spec.is_better(*loss, self.best));
        self.best = better.unwrap_or(self.best);
        if better.is_some() || done <= self.cooled_at {
            self.counted_from = done;
        }
        if done - self.counted_from <= self.spec.patience {
            return;
        }
        let lower = (self.lr * self.spec.factor).max(self.spec.min_lr);
        if self.lr - lower > self.spec.eps {
            self.lr = lower;
        }
        self.counted_from = done;
        self.cooled_at = done + self.spec.cooldown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optim::schedule::tests::assert_near;
    use crate::optim::{Rate, ScheduleSpec};
    use crate::testing::spec;

    const LOSSES: [f64; 15] = [
        1.0, 0.9, 0.9, 0.95, 0.8999, 0.91, 0.92, 0.8, 0.81, 0.82, 0.83, 0.84, 0.85, 0.86, 0.87,
    ];

    /// The learning rates of all epochs with these losses, and of the epoch after them.
    fn rates(spec: &PlateauSpec, losses: &[Option<f64>]) -> Vec<f64> {
        let schedule = ScheduleSpec::Plateau(spec.clone());
        let mut rate = Rate::new(&schedule, 0.1, losses.len(), 1);
        let mut rates = vec![rate.at(0, 0)];
        for (epoch, loss) in losses.iter().enumerate() {
            rate.end_epoch(epoch, *loss);
            rates.push(rate.at(epoch + 1, 0));
        }
        rates
    }

    /// Compares the rates with `expected`, pairs of (first epoch with the rate, rate).
    #[track_caller]
    fn assert_rates(own: &[f64], expected: &[(usize, f64)]) {
        for (epoch, own) in own.iter().enumerate() {
            let of_epoch = expected.iter().rev().find(|(from, _)| *from <= epoch);
            assert_near(*own, of_epoch.unwrap().1, 1e-3, &format!("epoch {epoch}"));
        }
    }

    #[track_caller]
    fn check(settings: &str, expected: &[(usize, f64)]) {
        assert_rates(&rates(&spec(settings), &LOSSES.map(Some)), expected);
    }

    #[test]
    fn the_rate_falls_as_in_pytorch() {
        // s = torch.optim.lr_scheduler.ReduceLROnPlateau(SGD([p], .1), patience=1), s.step(loss) for the losses above
        let tenths = [0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6];
        let expected: Vec<_> = [0, 4, 7, 10, 12, 14].into_iter().zip(tenths).collect();
        check("patience = 1", &expected);
        // patience=1, cooldown=2, factor=.5, min_lr=.03
        check(
            "patience = 1, cooldown = 2, factor = 0.5, min-lr = 0.03",
            &[(0, 0.1), (4, 0.05), (10, 0.03)],
        );
        // patience=0, threshold=.05, threshold_mode="abs", factor=.5
        let halved = |times: i32| 0.1 * 0.5_f64.powi(times);
        let falls = (3..8).chain(9..16).zip(1..);
        let mut expected = vec![(0, 0.1)];
        expected.extend(falls.map(|(epoch, times)| (epoch, halved(times))));
        check(
            "patience = 0, threshold = 0.05, threshold-mode = 'abs', factor = 0.5",
            &expected,
        );
        // patience=0, eps=.02, factor=.5
        check(
            "patience = 0, factor = 0.5, eps = 0.02",
            &[(0, 0.1), (3, 0.05), (4, 0.025)],
        );
    }

    #[test]
    fn a_loss_that_is_no_number_is_no_improvement() {
        // s.step(float("nan")) five times, patience=1, factor=.5
        let expected = [(0, 0.1), (2, 0.05), (4, 0.025)];
        for loss in [None, Some(f64::NAN)] {
            let own = rates(&spec("patience = 1, factor = 0.5"), &[loss; 5]);
            assert_rates(&own, &expected);
        }
    }

    #[test]
    fn epochs_of_the_warm_up_are_not_waited_for() {
        let spec = spec("patience = 1, factor = 0.5, warm-up = { epochs = 4, from = 0.2 }");
        let warm = [0.02, 0.04, 0.06, 0.08, 0.1].into_iter().enumerate();
        let expected: Vec<_> = warm.chain([(6, 0.05)]).collect();
        assert_rates(&rates(&spec, &[Some(1.0); 7]), &expected);
    }

    #[test]
    fn a_patience_that_outlasts_the_training_is_a_mistake() {
        let spec = |settings| spec::<PlateauSpec>(settings);
        for settings in [
            "patience = 0",
            "patience = 2",
            "patience = 2, warm-up = { epochs = 3, from = 0.5 }",
        ] {
            let spec = spec(settings);
            let mut epochs = 1..99;
            let least = epochs.find(|epochs| spec.check(*epochs).is_empty());
            let least = least.unwrap();
            let of_last = |epochs: usize| rates(&spec, &vec![Some(1.0); epochs - 1])[epochs - 1];
            assert!(of_last(least) < 0.1, "{settings}: {least}");
            assert!(of_last(least - 1) >= 0.1 - 1e-12, "{settings}: {least}");
        }
        let spec = spec("patience = 10");
        assert_eq!(
            spec.check(5)[0].message,
            "of 10 needs `train.epochs` of at least 13 for the rate to fall, not 5"
        );
        assert_eq!(spec.check(0), []);
    }
}
