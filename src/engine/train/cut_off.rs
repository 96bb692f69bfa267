//! A run that its parent ends after an epoch: the asking, and the end.

use super::Emit;
use super::error::TrainError;
use super::session::{Outcome, Session};
use crate::event::{Event, Reply};
use crate::ops::Kernels;

impl<D: Kernels> Session<'_, D> {
    /// Tells of an epoch. Waiting for the answer is no part of the run.
    pub(super) fn tell(&mut self, epoch: Event, emit: &mut Emit<'_>) -> Reply {
        if self.awaits_verdicts {
            self.log.leave_out(|| emit(epoch))
        } else {
            emit(epoch)
        }
    }

    /// Ends the run after this epoch: the facts are those of a run of so many, without what follows training there. The
    /// weights stay as they are, whichever epoch was the best.
    pub(super) fn end_here(mut self, emit: &mut Emit<'_>) -> Result<Outcome, TrainError> {
        self.add_cost()?;
        if self.log.facts.diverged.is_none() {
            self.log.facts.eval_loss_after = self.evaluate_fixed()?;
            self.log.facts.metrics = self.validated.take().unwrap_or_default();
            self.log.facts.metrics.extend(self.accuracies.metrics());
        }
        self.finish(emit, false)
    }
}
