//! Evaluations after training.

use super::error::TrainError;
use super::session::{Session, with_average};
use super::weights::Weights;
use crate::ops::{Kernels, Path};

impl<D: Kernels> Session<'_, D> {
    /// Evaluates the final weights, and records FLOPs and activation memory (from an extra pass if the run took no
    /// step).
    pub(super) fn evaluate_at_end(&mut self) -> Result<(), TrainError> {
        self.add_cost()?;
        if self.log.facts.diverged.is_some() {
            return Ok(());
        }
        self.log.facts.eval_loss_after = self.fixed_batch_loss()?;
        if self.validated.is_none() {
            self.validate_now()?;
        }
        let (learner, evaluation) = (&mut self.learner, &self.evaluation);
        let tested = self
            .log
            .validation(|| with_average(learner, |learner| evaluation.test(&mut *learner.task)))?;
        self.log.facts.metrics = self.validated.take().unwrap_or_default();
        tested.note(&mut self.log.facts);
        self.log.facts.metrics.extend(self.accuracies.metrics());
        self.evaluate_ensemble()
    }

    /// Adds the validation metrics, named `ensemble_…`, of the mean of the best epochs' weights; the model's own
    /// weights do not change.
    fn evaluate_ensemble(&mut self) -> Result<(), TrainError> {
        let (learner, evaluation) = (&mut self.learner, &self.evaluation);
        let Some(mean) = self.ensemble.take_mean(&learner.device)? else {
            return Ok(());
        };
        let own = Weights::copy(learner.task.module(), None)?;
        mean.restore(learner.task.module())?;
        let mut has_statistics = false;
        learner
            .task
            .module()
            .visit_buffers(&Path::root(), &mut |_, _| has_statistics = true);
        if has_statistics {
            // The mean weights were not trained on batches themselves, so their running statistics are recomputed by a
            // pass over the training split.
            let mut failure = None;
            let mut batches = self
                .loader
                .epoch(0)
                .map_while(|batch| batch.map_err(|error| failure = Some(error)).ok());
            learner.task.recompute_statistics(&mut batches)?;
            drop(batches);
            if let Some(error) = failure {
                return Err(error.into());
            }
        }
        let (_, metrics) = self
            .log
            .validation(|| evaluation.validate(&mut *learner.task))?;
        own.restore(learner.task.module())?;
        let metrics = metrics.into_iter().map(|(name, value)| {
            let bare = name.strip_prefix("val_").unwrap_or(&name);
            (format!("ensemble_{bare}"), value)
        });
        self.log.facts.metrics.extend(metrics);
        Ok(())
    }
}
