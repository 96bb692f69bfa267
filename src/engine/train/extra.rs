//! Extra training steps at the end of a run, for timing only: the weights after them are not used.

use super::error::TrainError;
use super::learner::{Learner, divergence};
use super::steps::Steps;
use crate::event::{Event, Profile};
use crate::loader::Loader;
use crate::measure::{StepTimeLog, StepTimeSummary, StepTimes, Stopwatch};
use crate::ops::Kernels;

/// Number and settings of the extra steps, which use the batches of the epochs after the last trained one.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExtraSteps {
    /// Number of steps to time; one warm-up step comes before them.
    pub(super) wanted: usize,
    /// Index of the epoch with which the extra steps begin, the first after training.
    pub(super) epoch: usize,
    pub(super) lr: f64,
    pub(super) steps: Steps,
}

impl ExtraSteps {
    /// Number of samples of a timed step.
    pub(super) fn samples(&self) -> usize {
        self.steps.iter().next().map_or(0, |step| step.samples)
    }

    /// Takes the extra steps. `begin` starts the stopwatch of a timed step, `note` receives its times. The weights
    /// change.
    ///
    /// The first step is a warm-up; steps with fewer samples than the first one are not timed either. Returns `false`
    /// if a loss diverges.
    ///
    /// # Errors
    /// Errors of a training step.
    pub(super) fn take<'w, D: Kernels>(
        &self,
        learner: &mut Learner<D>,
        loader: &Loader,
        begin: &dyn Fn() -> Stopwatch<'w>,
        note: &mut dyn FnMut(StepTimes),
    ) -> Result<bool, TrainError> {
        let (mut epoch, mut is_warm, mut counted) = (self.epoch, false, 0);
        while counted < self.wanted {
            let mut batches = loader.epoch(epoch as u64);
            for step in self.steps.iter() {
                let is_counted = is_warm && step.samples == self.samples();
                let mut watch = if is_counted {
                    begin()
                } else {
                    Stopwatch::start()
                };
                let loss = learner.step(step, epoch, self.lr, &mut batches, &mut watch)?;
                let times = watch.stop();
                if divergence(loss.read(&learner.device)?, learner.max_loss).is_some() {
                    return Ok(false);
                }
                if is_counted {
                    note(times);
                    counted += 1;
                }
                is_warm = true;
                if counted == self.wanted {
                    break;
                }
            }
            epoch += 1;
        }
        Ok(true)
    }

    /// Takes the extra steps and waits for the device after every phase. Returns a summary of their times, `None` if a
    /// loss diverges.
    ///
    /// # Errors
    /// Errors of a training step.
    pub(super) fn time_phases<D: Kernels>(
        &self,
        learner: &mut Learner<D>,
        loader: &Loader,
    ) -> Result<Option<StepTimeSummary>, TrainError> {
        let device = learner.device.clone();
        // The error is ignored here, because the next operation fails with it again and reports it.
        let wait = || drop(device.try_synchronize());
        let (mut pace, samples) = (StepTimeLog::new(0), self.samples());
        let begin = || Stopwatch::start_synchronised(&wait);
        let went_well = self.take(learner, loader, &begin, &mut |times| {
            pace.add(times, samples);
        })?;
        Ok(went_well.then(|| pace.summary()))
    }
}

pub(super) const DIVERGED: &str = "the loss diverged in its extra steps";

/// Event that warns of missing phase times; the run's results are complete all the same.
pub(super) fn missing_phases_warning(reason: &str) -> Event {
    let message = format!("no times of phases: {reason}");
    Event::Warning { message }
}

/// Event with the profile, or a warning that there is none; the run's results are complete in both cases.
pub(super) fn profile_event(profile: Result<Option<Profile>, TrainError>) -> Event {
    let reason = match profile {
        Ok(Some(profile)) => return Event::Profile(Box::new(profile)),
        Ok(None) => DIVERGED.to_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!("no profile of operations: {reason}");
    Event::Warning { message }
}
