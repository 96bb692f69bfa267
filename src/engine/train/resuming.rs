//! [`StateSaving`]: when a run saves its training state.

use std::time::{Duration, Instant};

use super::ensemble::Ensemble;
use super::error::TrainError;
use super::learner::Learner;
use super::log::Log;
use super::state::{BegunEpoch, Identity, PastEpoch, Progress, State};
use super::weights::Weights;
use crate::event::{Emit, Event, Metrics};
use crate::ops::Kernels;
use crate::plan::{CellSpec, ResumeFiles};

/// A run saves its state by default if its training is expected to take at least this many seconds.
const LONG_S: f64 = 600.0;
/// Minimum seconds between two writes by default.
const EVERY_S: f64 = 60.0;
/// By default the pause between two writes is at least this multiple of the last write's duration, so that writing
/// takes at most one percent of the time.
const PAUSE: u32 = 100;

/// When a run saves its training state, and the part of that state that is in host memory.
pub(super) struct StateSaving {
    pub(super) order: Option<ResumeFiles>,
    pub(super) progress: Progress,
    /// Whether the run saves its state; `None` while this is undecided.
    pub(super) is_wanted: Option<bool>,
    since: Instant,
    last_cost: Duration,
    has_failed: bool,
}

impl StateSaving {
    pub(super) fn new(order: Option<&ResumeFiles>, identity: Identity) -> Self {
        Self {
            is_wanted: match order {
                None => Some(false),
                Some(order) => order.every_s.map(|_| true),
            },
            order: order.cloned(),
            progress: Progress {
                identity,
                ..Progress::default()
            },
            since: Instant::now(),
            last_cost: Duration::ZERO,
            has_failed: false,
        }
    }

    /// Whether the run saves its state, by its expected time: it took `trained_s` seconds for the fraction `share` of
    /// its steps. The first answer is final, because a run that does not save its state does not record its finished
    /// epochs.
    fn is_wanted(&mut self, trained_s: f64, share: f64) -> bool {
        *self.is_wanted.get_or_insert(trained_s >= LONG_S * share)
    }

    /// Minimum time between two writes; `every_s` is the order's setting.
    fn pause(every_s: Option<f64>, last_cost: Duration) -> Duration {
        match every_s {
            Some(seconds) => Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX),
            None => Duration::from_secs_f64(EVERY_S).max(PAUSE * last_cost),
        }
    }

    fn is_time(&self) -> bool {
        let order = self.order.as_ref();
        order
            .is_some_and(|order| self.since.elapsed() >= Self::pause(order.every_s, self.last_cost))
    }
}

/// What is needed to save the training state within an epoch, and to decide when.
pub(super) struct EpochStateSaver<'a, D: Kernels> {
    pub(super) cell: &'a CellSpec,
    pub(super) resuming: &'a mut StateSaving,
    pub(super) best: &'a mut Option<(Weights<D>, Metrics)>,
    pub(super) ensemble: &'a mut Ensemble<D>,
    pub(super) log: &'a mut Log,
    /// Optimizer steps of the run before the epoch, and in total.
    pub(super) steps: (usize, usize),
}

impl<D: Kernels> EpochStateSaver<'_, D> {
    /// Whether the run saves its state at all; it has done `done` steps of the epoch in `epoch_s` seconds.
    fn is_wanted(&mut self, epoch_s: f64, done: usize) -> bool {
        let (before, all) = self.steps;
        let share = (before + done) as f64 / all.max(1) as f64;
        let trained_s = self.log.train_s() + epoch_s;
        self.resuming.is_wanted(trained_s, share)
    }

    /// Adds a finished epoch to the training state, if the run saves its state.
    pub(super) fn add(&mut self, epoch: &PastEpoch) {
        if self.is_wanted(0.0, 0) {
            self.resuming.progress.epochs.push(epoch.clone());
        }
    }

    /// Whether to write the state now, after `done` steps of the epoch in `epoch_s` seconds.
    pub(super) fn is_due(&mut self, epoch_s: f64, done: usize) -> bool {
        self.resuming.is_time() && self.is_wanted(epoch_s, done)
    }

    /// Writes the state, if the run saves its state; returns the duration. Training continues after a failure; only the
    /// first failure sends a warning.
    pub(super) fn write(
        &mut self,
        learner: &mut Learner<D>,
        begun: Option<BegunEpoch>,
        emit: &mut Emit<'_>,
    ) -> Duration {
        let start = Instant::now();
        let resuming = &mut *self.resuming;
        let (Some(order), Some(true)) = (&resuming.order, resuming.is_wanted) else {
            return Duration::ZERO;
        };
        self.log.memory.end_training();
        self.log.device_memory.end_training();
        let progress = &mut resuming.progress;
        progress.so_far = self.log.so_far();
        progress.begun = begun;
        let (epoch, step) = progress.epochs_and_steps();
        let mut state = State {
            learner,
            best: self.best,
            ensemble: self.ensemble,
        };
        let written = state.write(&order.state, progress);
        self.log.memory.reset_unattributed();
        self.log.device_memory.leave_out();
        match written {
            Ok(()) => drop(emit(Event::Saved { epoch, step })),
            Err(_) if resuming.has_failed => {}
            Err(error) => {
                resuming.has_failed = true;
                let reason = TrainError::from(error).reason(self.cell);
                let message = format!(
                    "the state of the training is not kept: {reason}; the run goes on, but would begin anew after an \
                     interruption"
                );
                emit(Event::Warning { message });
            }
        }
        resuming.since = Instant::now();
        resuming.last_cost = start.elapsed();
        resuming.last_cost
    }
}

/// Where training begins, for a new or a resumed run.
#[derive(Default)]
pub(super) struct Begin {
    /// First epoch to train.
    pub(super) epoch: usize,
    /// Finished steps of this epoch; `None` if it has not begun.
    pub(super) begun: Option<BegunEpoch>,
    /// Whether early stopping has ended the training already.
    pub(super) is_over: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(every_s: Option<f64>) -> ResumeFiles {
        ResumeFiles {
            every_s,
            ..ResumeFiles::default()
        }
    }

    #[test]
    fn a_run_writes_its_state_where_it_is_long_or_asked_to() {
        let of = |order: Option<&ResumeFiles>| StateSaving::new(order, Identity::default());
        let (unasked, asked) = (order(None), order(Some(1.0)));
        assert!(!of(Some(&unasked)).is_wanted(59.0, 0.1));
        assert!(of(Some(&unasked)).is_wanted(60.0, 0.1));
        assert!(of(Some(&asked)).is_wanted(1.0, 0.5));
        assert!(!of(None).is_wanted(60.0, 0.01));
        let mut decided = of(Some(&unasked));
        assert!(!decided.is_wanted(1.0, 0.1));
        assert!(!decided.is_wanted(100.0, 0.1), "its first epochs are gone");
    }

    #[test]
    fn unasked_writing_takes_a_hundredth_of_the_time_at_most() {
        let pause = |every, cost| StateSaving::pause(every, Duration::from_millis(cost));
        assert_eq!(pause(None, 0), Duration::from_mins(1));
        assert_eq!(pause(None, 3000), Duration::from_mins(5));
        assert_eq!(pause(Some(1.0), 3000), Duration::from_secs(1));
    }
}
