//! Ends a run early when the parent process asks for it.

use super::error::TrainError;
use super::session::{Outcome, Session};
use crate::event::{Emit, Event, Reply};
use crate::ops::Kernels;

impl<D: Kernels> Session<'_, D> {
    /// Sends the event of a finished epoch. The time of waiting for the reply is excluded from the run's times.
    pub(super) fn report_epoch(&mut self, epoch: Event, emit: &mut Emit<'_>) -> Reply {
        if self.awaits_verdicts {
            self.log.excluded_from_times(|| emit(epoch))
        } else {
            emit(epoch)
        }
    }

    /// Ends the run after the current epoch. The run's results are those of a run of this many epochs, without the
    /// evaluations after training. The weights are those of the last epoch, even if another epoch was better.
    pub(super) fn end_after_epoch(mut self, emit: &mut Emit<'_>) -> Result<Outcome, TrainError> {
        self.add_cost()?;
        if self.log.facts.diverged.is_none() {
            self.log.facts.eval_loss_after = self.fixed_batch_loss()?;
            self.log.facts.metrics = self.validated.take().unwrap_or_default();
            self.log.facts.metrics.extend(self.accuracies.metrics());
        }
        self.finish(emit, false)
    }
}
