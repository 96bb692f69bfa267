//! Extra steps at the end of a run: real steps on real batches, after which the weights are not used.

use super::error::TrainError;
use super::learner::{Learner, divergence};
use super::steps::Steps;
use crate::event::{Event, Profile};
use crate::loader::Loader;
use crate::measure::{Pace, PaceSummary, StepTimes, Stopwatch};
use crate::ops::Kernels;

/// Number and settings of the extra steps, which continue where training ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExtraSteps {
    /// Number of steps to time, after one warm-up step.
    pub(super) wanted: usize,
    /// The first epoch after training.
    pub(super) epoch: usize,
    pub(super) lr: f64,
    pub(super) steps: Steps,
}

impl ExtraSteps {
    /// Number of samples of a timed step.
    pub(super) fn samples(&self) -> usize {
        self.steps.iter().next().map_or(0, |step| step.samples)
    }

    /// Takes the steps: `begin` starts the stopwatch of a counted step, `note` receives its times. This changes the
    /// weights.
    ///
    /// The first step is a warm-up; steps with fewer samples than the first are not counted either. Returns `false` if
    /// a loss diverges.
    ///
    /// # Errors
    /// Errors of a step.
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

    /// Takes the steps, waiting for the device at the end of every phase; returns their summary, or `None` if a loss
    /// diverges.
    ///
    /// # Errors
    /// Errors of a step.
    pub(super) fn by_phase<D: Kernels>(
        &self,
        learner: &mut Learner<D>,
        loader: &Loader,
    ) -> Result<Option<PaceSummary>, TrainError> {
        let device = learner.device.clone();
        // An error here occurs again at the next operation, which reports it.
        let wait = || drop(device.try_synchronize());
        let (mut pace, samples) = (Pace::new(0), self.samples());
        let begin = || Stopwatch::start_synchronised(&wait);
        let went_well = self.take(learner, loader, &begin, &mut |times| {
            pace.add(times, samples);
        })?;
        Ok(went_well.then(|| pace.summary()))
    }
}

pub(super) const DIVERGED: &str = "the loss diverged in its extra steps";

/// The warning that phases were not timed; the run itself is complete.
pub(super) fn no_phases(reason: &str) -> Event {
    let message = format!("no times of phases: {reason}");
    Event::Warning { message }
}

/// The event with the profile, or a warning that there is none; the run itself is complete.
pub(super) fn profile_event(profile: Result<Option<Profile>, TrainError>) -> Event {
    let reason = match profile {
        Ok(Some(profile)) => return Event::Profile(Box::new(profile)),
        Ok(None) => DIVERGED.to_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!("no profile of operations: {reason}");
    Event::Warning { message }
}
