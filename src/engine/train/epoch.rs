//! One pass over the training split.

use std::time::{Duration, Instant};

use super::Emit;
use super::error::TrainError;
use super::learner::{Learner, StepLoss, divergence};
use super::steps::Steps;
use crate::event::{Event, StepRow};
use crate::loader::Loader;
use crate::measure::{MemoryGrowth, Pace, StepTimes, Stopwatch};
use crate::ops::Kernels;
use crate::optim::Rate;

/// Time between two progress events.
const PROGRESS: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
pub(super) struct EpochOutcome {
    /// Its steps in order.
    pub(super) steps: Vec<StepRow>,
    /// Samples trained on.
    pub(super) samples: u64,
    /// Mean loss over the samples; `None` when it is not finite.
    pub(super) train_loss: Option<f64>,
    /// Seconds, from the start of the loader to the end of its threads.
    pub(super) seconds: f64,
    /// Why training cannot go on.
    pub(super) diverged: Option<String>,
}

/// Settings of an epoch.
pub(super) struct EpochPlan<'a> {
    /// Epoch, from 0.
    pub(super) epoch: usize,
    pub(super) rate: &'a Rate,
    pub(super) steps: Steps,
}

/// Trains one epoch: for each step its batches, gradients and update; ends early when the loss diverges.
pub(super) fn train_epoch<D: Kernels>(
    learner: &mut Learner<D>,
    loader: &Loader,
    plan: &EpochPlan<'_>,
    (pace, growth): (&mut Pace, &mut MemoryGrowth),
    emit: &mut Emit<'_>,
) -> Result<EpochOutcome, TrainError> {
    growth.begin();
    let start = Instant::now();
    let before = learner.steps;
    let mut told = start;
    let mut losses = Losses::new(plan.steps.count());
    let mut batches = loader.epoch(plan.epoch as u64);
    let mut marks = Marks::begin(&learner.device)?;
    for (index, step) in plan.steps.iter().enumerate() {
        let samples = step.samples;
        let mut watch = Stopwatch::start();
        let lr = plan.rate.at(plan.epoch, index);
        let loss = learner.step(step, plan.epoch, lr, &mut batches, &mut watch)?;
        let loss = losses.add(learner, loss, samples)?;
        let times = watch.stop();
        marks.step(&learner.device)?;
        if !D::IS_ASYNCHRONOUS {
            losses.add_time(pace, times);
        }
        growth.step();
        if losses.has_diverged(learner.max_loss) {
            break;
        }
        if told.elapsed() >= PROGRESS {
            told = Instant::now();
            emit(Event::Progress {
                epoch: plan.epoch,
                step: losses.samples.len(),
                loss,
            });
        }
    }
    drop(batches);
    // This waits for the device, so that the clock includes its work.
    losses.read_pending(learner)?;
    learner.steps = before + losses.good_steps(learner.max_loss);
    let seconds = start.elapsed().as_secs_f64();
    for times in marks.times(&learner.device)? {
        losses.add_time(pace, times);
    }
    growth.end();
    Ok(losses.outcome(learner.max_loss, before, seconds))
}

/// The losses of an epoch's steps. On a device that runs asynchronously they are read at the end of the epoch.
struct Losses<D: Kernels> {
    pending: Vec<StepLoss<D>>,
    read: Vec<f64>,
    samples: Vec<usize>,
    times_ms: Vec<f64>,
}

impl<D: Kernels> Losses<D> {
    fn new(steps: usize) -> Self {
        Self {
            pending: Vec::new(),
            read: Vec::with_capacity(steps),
            samples: Vec::with_capacity(steps),
            times_ms: Vec::with_capacity(steps),
        }
    }

    /// Adds the loss of a step; returns its value where reading it does not wait.
    fn add(
        &mut self,
        learner: &Learner<D>,
        loss: StepLoss<D>,
        samples: usize,
    ) -> Result<Option<f64>, TrainError> {
        self.samples.push(samples);
        if D::IS_ASYNCHRONOUS {
            self.pending.push(loss);
            return Ok(None);
        }
        let loss = loss.read(&learner.device)?;
        self.read.push(loss);
        Ok(finite(loss))
    }

    /// Adds the time of the first step that has none.
    fn add_time(&mut self, pace: &mut Pace, times: StepTimes) {
        if let Some(samples) = self.samples.get(self.times_ms.len()) {
            pace.add(times, *samples);
            self.times_ms.push(1e3 * times.total_s);
        }
    }

    fn has_diverged(&self, max_loss: Option<f64>) -> bool {
        let last = self.read.last();
        last.is_some_and(|loss| divergence(*loss, max_loss).is_some())
    }

    /// Reads the losses up to a divergence: later steps changed no weights.
    fn read_pending(&mut self, learner: &Learner<D>) -> Result<(), TrainError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let pending = std::mem::take(&mut self.pending);
        for loss in StepLoss::read_all(&pending, &learner.device)? {
            self.read.push(loss);
            if divergence(loss, learner.max_loss).is_some() {
                break;
            }
        }
        self.samples.truncate(self.read.len());
        Ok(())
    }

    /// Steps that were taken: all but one whose loss diverged.
    fn good_steps(&self, max_loss: Option<f64>) -> u64 {
        self.read.len() as u64 - u64::from(self.has_diverged(max_loss))
    }

    fn outcome(self, max_loss: Option<f64>, before: u64, seconds: f64) -> EpochOutcome {
        let weighted = self.read.iter().zip(&self.samples);
        let sum: f64 = weighted.map(|(loss, n)| loss * *n as f64).sum();
        let samples: usize = self.samples.iter().sum();
        let diverged = self.read.iter().enumerate().find_map(|(index, loss)| {
            let what = divergence(*loss, max_loss)?;
            Some(format!("loss {what} at step {}", before + index as u64 + 1))
        });
        let steps = self.read.iter().zip(&self.times_ms);
        EpochOutcome {
            steps: steps
                .map(|(loss, step_ms)| StepRow {
                    loss: finite(*loss),
                    step_ms: *step_ms,
                })
                .collect(),
            samples: samples as u64,
            train_loss: finite(sum / samples as f64),
            seconds,
            diverged,
        }
    }
}

/// Marks at which the device ended each step, where it runs asynchronously: a clock of the host would measure queueing.
/// A step lasts from the end of the previous one, so that it includes waiting for its batch. Its phases cannot be
/// separated without waiting for the device, so it has none.
struct Marks<D: Kernels>(Vec<D::Mark>);

impl<D: Kernels> Marks<D> {
    fn begin(device: &D) -> Result<Self, TrainError> {
        let mut marks = Self(Vec::new());
        marks.step(device)?;
        Ok(marks)
    }

    fn step(&mut self, device: &D) -> Result<(), TrainError> {
        if D::IS_ASYNCHRONOUS {
            self.0.push(device.mark()?);
        }
        Ok(())
    }

    /// The times of the steps, which the device must have finished.
    fn times(&self, device: &D) -> Result<Vec<StepTimes>, TrainError> {
        let ends = self.0.windows(2);
        ends.map(|pair| {
            Ok(StepTimes {
                total_s: device.seconds_between(&pair[0], &pair[1])?,
                ..StepTimes::default()
            })
        })
        .collect()
    }
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
