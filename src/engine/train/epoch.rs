//! Trains one epoch, a pass over the training split.

use std::time::{Duration, Instant};

use super::error::TrainError;
use super::learner::{Learner, StepLoss, divergence};
use super::log::Log;
use super::resuming::EpochStateSaver;
use super::state::{BegunEpoch, EpochOutcome};
use super::steps::Steps;
use super::work::work;
use crate::event::{Emit, Event, Reply, StepRow};
use crate::loader::Loader;
use crate::measure::{StepTimeLog, StepTimes, Stopwatch};
use crate::ops::Kernels;
use crate::optim::Rate;

/// Minimum time between two progress events.
const PROGRESS: Duration = Duration::from_millis(100);

/// Settings of one epoch of training: steps, learning rates, and where an interrupted epoch continues.
pub(super) struct EpochPlan<'a> {
    /// Epoch, from 0.
    pub(super) epoch: usize,
    pub(super) rate: &'a Rate,
    pub(super) steps: Steps,
    /// Index of the step whose operations are counted (`work.csv`); `None` if that step is in another epoch.
    pub(super) counted: Option<usize>,
    /// Finished steps of the epoch, if the run was interrupted within it.
    pub(super) begun: BegunEpoch,
}

/// Trains one epoch from step `plan.begun` on; ends early when the loss diverges or the parent ends the run.
pub(super) fn train_epoch<D: Kernels>(
    learner: &mut Learner<D>,
    loader: &Loader,
    plan: EpochPlan<'_>,
    pauses: &mut EpochStateSaver<'_, D>,
    emit: &mut Emit<'_>,
) -> Result<EpochOutcome, TrainError> {
    let EpochPlan { epoch, steps, .. } = plan;
    let (first, start) = (plan.begun.steps(), Instant::now());
    let mut told = start;
    let mut batches = loader.epoch_from(epoch as u64, steps.batches_before(first));
    let mut running = Running::begin(learner, plan.begun, steps.count(), start, pauses.log)?;
    for (index, step) in steps.iter().enumerate().skip(first) {
        let samples = step.samples;
        let counter = (plan.counted == Some(index)).then(|| learner.op_counter());
        let start = Stopwatch::start_profiled;
        let mut watch = counter.as_ref().map_or_else(Stopwatch::start, start);
        let lr = plan.rate.at(epoch, index);
        let loss = learner.step(step, epoch, lr, &mut batches, &mut watch)?;
        let loss = running.end_step(learner, (loss, samples), watch, pauses.log)?;
        if let Some(counter) = counter {
            learner.work = work::<D>(&counter.profile());
        }
        let done = index + 1;
        if done < steps.count() && pauses.is_due(running.seconds(), done) {
            running.pause(learner, pauses, emit)?;
        }
        if running.losses.has_diverged(learner.max_loss) {
            break;
        }
        if told.elapsed() >= PROGRESS {
            told = Instant::now();
            let progress = Event::Progress {
                epoch,
                step: done,
                loss,
            };
            if emit(progress) == Reply::End {
                running.pause(learner, pauses, emit)?;
                return Err(TrainError::Ended);
            }
        }
    }
    drop(batches);
    running.end(learner, pauses.log)
}

/// State of the current epoch: losses and times of its steps.
struct Running<D: Kernels> {
    losses: Losses<D>,
    marks: Marks<D>,
    start: Instant,
    /// Seconds that an interrupted process of this run spent in the epoch.
    earlier_s: f64,
    paused: Duration,
    /// Optimizer steps of the run before this epoch.
    before: u64,
}

impl<D: Kernels> Running<D> {
    fn begin(
        learner: &Learner<D>,
        begun: BegunEpoch,
        steps: usize,
        start: Instant,
        log: &mut Log,
    ) -> Result<Self, TrainError> {
        log.growth.begin();
        Ok(Self {
            before: learner.steps - begun.steps() as u64,
            earlier_s: begun.seconds,
            losses: Losses::after(begun, steps),
            marks: Marks::begin(&learner.device)?,
            start,
            paused: Duration::ZERO,
        })
    }

    /// Seconds of training in the epoch so far, without the time of writing the training state.
    fn seconds(&self) -> f64 {
        self.earlier_s
            + self
                .start
                .elapsed()
                .saturating_sub(self.paused)
                .as_secs_f64()
    }

    /// Records the loss and the time of a finished step. Returns the loss; `None` if reading it would wait for the
    /// device.
    fn end_step(
        &mut self,
        learner: &Learner<D>,
        (loss, samples): (StepLoss<D>, usize),
        watch: Stopwatch<'_>,
        log: &mut Log,
    ) -> Result<Option<f64>, TrainError> {
        let loss = self.losses.add(learner, loss, samples)?;
        let times = watch.stop();
        self.marks.step(&learner.device)?;
        if !D::IS_ASYNCHRONOUS {
            self.losses.add_time(&mut log.pace, times);
        }
        log.growth.step();
        Ok(loss)
    }

    /// Waits for the device, then reads the losses and times of the steps since the last call.
    fn read(&mut self, learner: &mut Learner<D>, log: &mut Log) -> Result<(), TrainError> {
        self.losses.read_pending(learner)?;
        learner.steps = self.before + self.losses.good_steps(learner.max_loss);
        for times in self.marks.times(&learner.device)? {
            self.losses.add_time(&mut log.pace, times);
        }
        Ok(())
    }

    /// Writes the training state, unless the run has diverged. The time of writing counts in no time of the epoch or
    /// its steps.
    fn pause(
        &mut self,
        learner: &mut Learner<D>,
        pauses: &mut EpochStateSaver<'_, D>,
        emit: &mut Emit<'_>,
    ) -> Result<(), TrainError> {
        pauses.log.growth.end();
        self.read(learner, pauses.log)?;
        if !self.losses.has_diverged(learner.max_loss) {
            let seconds = self.seconds();
            let begun = self.losses.begun(seconds);
            self.paused += pauses.write(learner, Some(begun), emit);
        }
        self.marks = Marks::begin(&learner.device)?;
        pauses.log.growth.begin();
        Ok(())
    }

    fn end(mut self, learner: &mut Learner<D>, log: &mut Log) -> Result<EpochOutcome, TrainError> {
        // Reading the losses waits for the device, so that `seconds` includes the device's work.
        self.losses.read_pending(learner)?;
        let seconds = self.seconds();
        self.read(learner, log)?;
        log.growth.end();
        Ok(self.losses.outcome(learner.max_loss, self.before, seconds))
    }
}

/// The losses of an epoch's steps. On an asynchronous device they are read at the end of the epoch and when the
/// training state is written.
struct Losses<D: Kernels> {
    pending: Vec<StepLoss<D>>,
    read: Vec<f64>,
    samples: Vec<usize>,
    times_ms: Vec<f64>,
}

impl<D: Kernels> Losses<D> {
    /// Continues an epoch after its finished steps. Reserves memory for all `steps` steps at once; allocating it later
    /// would be measured as memory growth of the run.
    fn after(mut begun: BegunEpoch, steps: usize) -> Self {
        let more = steps.saturating_sub(begun.steps());
        begun.losses.reserve(more);
        begun.samples.reserve(more);
        begun.times_ms.reserve(more);
        Self {
            pending: Vec::new(),
            read: begun.losses,
            samples: begun.samples,
            times_ms: begun.times_ms,
        }
    }

    fn begun(&self, seconds: f64) -> BegunEpoch {
        BegunEpoch {
            losses: self.read.clone(),
            samples: self.samples.clone(),
            times_ms: self.times_ms.clone(),
            seconds,
        }
    }

    /// Records the loss of a step. Returns the loss; `None` if reading it would wait for the device.
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

    /// Adds `times` as the times of the earliest step that has none yet.
    fn add_time(&mut self, pace: &mut StepTimeLog, times: StepTimes) {
        if let Some(samples) = self.samples.get(self.times_ms.len()) {
            pace.add(times, *samples);
            self.times_ms.push(1e3 * times.total_s);
        }
    }

    fn has_diverged(&self, max_loss: Option<f64>) -> bool {
        let last = self.read.last();
        last.is_some_and(|loss| divergence(*loss, max_loss).is_some())
    }

    /// Reads the pending losses, up to the first divergent one: no later step changed the weights.
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

    /// Number of steps that changed the weights: all read ones, except a last one whose loss diverged.
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

/// Timestamps of the device at the end of each step (CUDA events), empty on synchronous devices. The host's clock would
/// only measure how long queueing takes. A step lasts from the end of the previous step, so it includes the wait for
/// its batch. Phases have no times: separating them would need waiting for the device.
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

    /// The time of each step; the device must have finished all of them.
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
