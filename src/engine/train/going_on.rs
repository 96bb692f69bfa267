//! Resumes an interrupted run from its training state.

use std::path::Path;

use super::error::TrainError;
use super::resuming::Begin;
use super::session::Session;
use super::state::{Saved, State};
use super::stopping::Verdict;
use crate::event::{Emit, Event};
use crate::ops::{Kernels, StepControl};

impl<D: Kernels> Session<'_, D> {
    /// Restores the training state of an interrupted run and sends the events of its finished epochs again. Begins anew
    /// if there is no state, if it belongs to another run or has more epochs than the cell, or, with a warning, if it
    /// cannot be read.
    pub(super) fn resume_training(&mut self, emit: &mut Emit<'_>) -> Result<Begin, TrainError> {
        let order = self.resuming.order.as_ref();
        let Some(path) = order.and_then(|order| order.from.clone()) else {
            return Ok(Begin::default());
        };
        let saved = match Saved::read(&path, &self.resuming.progress.identity) {
            Ok(Some(saved)) if saved.progress.epochs.len() <= self.cell.train.epochs => saved,
            Ok(_) => return Ok(Begin::default()),
            Err(error) => {
                let reason = TrainError::from(error).reason(self.cell);
                let message = format!("training begins anew: {reason}");
                emit(Event::Warning { message });
                return Ok(Begin::default());
            }
        };
        self.restore(&path, saved, emit)
    }

    fn restore(
        &mut self,
        path: &Path,
        mut saved: Saved,
        emit: &mut Emit<'_>,
    ) -> Result<Begin, TrainError> {
        let mut progress = std::mem::take(&mut saved.progress);
        self.log.go_on(progress.so_far);
        let (epoch, step) = progress.epochs_and_steps();
        emit(Event::Resumed { epoch, step });
        let mut is_over = false;
        for (epoch, past) in progress.epochs.iter().enumerate() {
            self.log.add_epoch(&past.outcome, !self.steps.is_capped());
            if past.judgement.is_due {
                self.accuracies.note(epoch, &past.judgement.validation);
            }
            // Copies the current weights, only to allocate buffers for the best weights; their values are read from the
            // file below.
            let verdict = self.judge(epoch, past.outcome.train_loss, &past.judgement)?;
            is_over = verdict == Verdict::Stop;
            emit(past.clone().into_event(epoch));
        }
        let learner = &mut self.learner;
        (learner.steps, learner.cost) = (progress.steps, progress.cost);
        learner.work.clone_from(&progress.work);
        let (device, module) = (learner.device.clone(), learner.task.module());
        learner
            .optimizer
            .resume_at_step(progress.steps, &device, module)?;
        if let Some(ema) = &mut learner.ema {
            ema.resume_at_step(progress.steps);
        }
        if let Some(control) = &mut learner.control {
            control.set_state(&progress.control)?;
        }
        let mut state = State {
            learner,
            best: &mut self.best,
            ensemble: &mut self.ensemble,
        };
        state.restore(path, saved)?;
        let begun = progress.begun.take();
        self.resuming.is_wanted = Some(true);
        self.resuming.progress = progress;
        Ok(Begin {
            epoch,
            begun,
            is_over,
        })
    }
}
