//! [`Stopping`]: decides which epoch is the best and when to stop, from losses alone.

use crate::plan::EarlyStoppingSpec;

/// Early stopping: tracks the best loss over epochs.
#[derive(Debug)]
pub(super) struct Stopping {
    spec: Option<EarlyStoppingSpec>,
    best: Option<Best>,
}

/// The best epoch so far.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Best {
    /// Epoch, from 0.
    pub(super) epoch: usize,
    pub(super) loss: f64,
}

/// What to do after an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The epoch is the best so far: keep its weights and continue.
    Best,
    /// The epoch is not better, but training continues.
    Continue,
    /// No improvement for `patience` epochs: training stops.
    Stop,
}

impl Stopping {
    /// Early stopping with the settings `spec`; with `None` only the best epoch is found, and training never stops.
    pub(super) fn new(spec: Option<EarlyStoppingSpec>) -> Self {
        Self { spec, best: None }
    }

    /// Decides about `epoch` by its loss: the validation loss, or the training loss without validation.
    ///
    /// An epoch is better if its loss is below `best loss - min-delta`; a loss of `None` (not finite) is never better.
    pub(super) fn judge(&mut self, epoch: usize, loss: Option<f64>) -> Verdict {
        let min_delta = self.spec.as_ref().map_or(0.0, |spec| spec.min_delta);
        let bound = self
            .best
            .map_or(f64::INFINITY, |best| best.loss - min_delta);
        if let Some(loss) = loss.filter(|loss| *loss < bound) {
            self.best = Some(Best { epoch, loss });
            return Verdict::Best;
        }
        let waited = self.best.map_or(epoch + 1, |best| epoch - best.epoch);
        match &self.spec {
            Some(spec) if waited >= spec.patience => Verdict::Stop,
            _ => Verdict::Continue,
        }
    }

    pub(super) fn best(&self) -> Option<Best> {
        self.best
    }

    /// Whether the weights of the best epoch are kept, and restored after training.
    pub(super) fn restores_best(&self) -> bool {
        self.spec.as_ref().is_some_and(|spec| spec.restore_best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stopping(patience: usize, min_delta: f64) -> Stopping {
        Stopping::new(Some(EarlyStoppingSpec {
            patience,
            min_delta,
            restore_best: true,
        }))
    }

    fn verdicts(stopping: &mut Stopping, losses: &[f64]) -> Vec<Verdict> {
        let judged = losses.iter().enumerate();
        judged
            .map(|(epoch, loss)| stopping.judge(epoch, Some(*loss)))
            .collect()
    }

    #[test]
    fn training_stops_after_patience_epochs_without_improvement() {
        let mut stopping = stopping(2, 0.0);
        assert_eq!(
            verdicts(&mut stopping, &[3.0, 2.0, 2.0, 2.5]),
            [
                Verdict::Best,
                Verdict::Best,
                Verdict::Continue,
                Verdict::Stop
            ]
        );
        assert_eq!(
            stopping.best(),
            Some(Best {
                epoch: 1,
                loss: 2.0
            })
        );
    }

    #[test]
    fn a_gain_below_min_delta_is_no_improvement() {
        let mut stopping = stopping(1, 0.1);
        assert_eq!(
            verdicts(&mut stopping, &[1.0, 0.95]),
            [Verdict::Best, Verdict::Stop]
        );
    }

    #[test]
    fn patience_counts_epochs_also_when_validation_is_rarer() {
        let mut stopping = stopping(4, 0.0);
        assert_eq!(stopping.judge(1, Some(1.0)), Verdict::Best);
        assert_eq!(stopping.judge(3, Some(1.0)), Verdict::Continue);
        assert_eq!(stopping.judge(5, Some(1.0)), Verdict::Stop);
    }

    #[test]
    fn a_loss_that_is_no_number_is_never_better() {
        let mut stopping = stopping(2, 0.0);
        assert_eq!(stopping.judge(0, None), Verdict::Continue);
        assert_eq!(stopping.judge(1, None), Verdict::Stop);
        assert_eq!(stopping.best(), None);
    }

    #[test]
    fn without_early_stopping_the_best_epoch_is_still_known() {
        let mut stopping = Stopping::new(None);
        verdicts(&mut stopping, &[1.0, 0.5, 2.0, 3.0, 4.0]);
        assert_eq!(stopping.best().map(|best| best.epoch), Some(1));
        assert!(!stopping.restores_best());
    }
}
