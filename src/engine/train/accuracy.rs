//! [`Accuracies`]: the best accuracy over all epochs, and the first epoch with at least 90 % of it.

use crate::event::Metrics;

/// Fraction of the best accuracy: `SPLIT_accuracy_90_epoch` is the first epoch that reaches it.
const NEAR: f64 = 0.9;

/// The accuracies, by epoch, of the split that is evaluated during training.
#[derive(Debug, Default)]
pub(super) struct Accuracies(Vec<Accuracy>);

#[derive(Debug)]
struct Accuracy {
    epoch: usize,
    /// Name of the split, `val` or `test`.
    split: String,
    value: f64,
}

impl Accuracies {
    /// Records the accuracy among the metrics of epoch `epoch` (from 0).
    pub(super) fn note(&mut self, epoch: usize, metrics: &Metrics) {
        for (name, value) in metrics {
            if let (Some((split, "accuracy")), Some(value)) = (name.split_once('_'), *value) {
                let split = split.to_owned();
                self.0.push(Accuracy {
                    epoch,
                    split,
                    value,
                });
            }
        }
    }

    /// `best_SPLIT_accuracy` and `SPLIT_accuracy_90_epoch`, the first epoch with at least 90 % of the best accuracy.
    /// Empty if no accuracy was recorded.
    pub(super) fn metrics(&self) -> Metrics {
        let best = self.0.iter().map(|accuracy| accuracy.value);
        let Some(best) = best.max_by(f64::total_cmp) else {
            return Metrics::new();
        };
        let near = self.0.iter().find(|one| one.value >= NEAR * best);
        let named = near.map(|first| {
            let split = &first.split;
            [
                (format!("best_{split}_accuracy"), Some(best)),
                (
                    format!("{split}_accuracy_90_epoch"),
                    Some(first.epoch as f64),
                ),
            ]
        });
        named.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_accuracy_and_the_first_epoch_near_it_are_told() {
        let mut accuracies = Accuracies::default();
        for (epoch, value) in [0.1, 0.85, 0.88, 0.95, 0.9].into_iter().enumerate() {
            let metrics = [("test_accuracy", value), ("test_balanced_accuracy", 1.0)];
            let metrics = metrics.map(|(name, value)| (name.to_owned(), Some(value)));
            accuracies.note(epoch, &metrics.into());
        }
        // 0.9 · 0.95 = 0.855, so an accuracy of 0.85 does not reach 90 % of the best.
        let expected = [
            ("best_test_accuracy".to_owned(), Some(0.95)),
            ("test_accuracy_90_epoch".to_owned(), Some(2.0)),
        ];
        assert_eq!(accuracies.metrics(), expected.into());
    }

    #[test]
    fn without_an_accuracy_there_is_nothing_to_tell() {
        let mut accuracies = Accuracies::default();
        accuracies.note(0, &[("val_loss".to_owned(), Some(1.0))].into());
        accuracies.note(1, &[("val_accuracy".to_owned(), None)].into());
        assert!(accuracies.metrics().is_empty());
    }
}
