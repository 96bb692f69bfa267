//! [`Session`]: a run after its setup, with the training loop.

use super::accuracy::Accuracies;
use super::assessment::CostlyEvaluation;
use super::ensemble::Ensemble;
use super::epoch::{EpochPlan, train_epoch};
use super::error::TrainError;
use super::evaluation::Evaluation;
use super::extra::{DIVERGED, ExtraSteps, missing_phases_warning, profile_event};
use super::learner::{Cost, Learner};
use super::log::{Log, add_phases};
use super::profile::profile;
use super::resuming::{Begin, EpochStateSaver, StateSaving};
use super::saving::Saving;
use super::state::{BegunEpoch, EpochOutcome, EpochValidation, PastEpoch};
use super::steps::Steps;
use super::stopping::{Stopping, Verdict};
use super::weights::Weights;
use super::work::counted_step;
use crate::event::{Emit, Event, Metrics, Reply, RunFacts, RunTimes, numeric_class_of};
use crate::layers::checkpoint;
use crate::loader::Loader;
use crate::measure::Stopwatch;
use crate::ops::{Kernels, Result};
use crate::optim::Rate;
use crate::plan::CellSpec;
use crate::tasks::TrainingPosition;

/// State of a run after its setup.
pub(super) struct Session<'a, D: Kernels> {
    pub(super) cell: &'a CellSpec,
    /// Number of compute threads; `None`: the run's share of the cores.
    pub(super) threads: Option<usize>,
    pub(super) learner: Learner<D>,
    pub(super) loader: Loader,
    pub(super) steps: Steps,
    pub(super) rate: Rate,
    pub(super) evaluation: Evaluation,
    /// The costly evaluation; `None` if the order does not ask for it.
    pub(super) costly: Option<CostlyEvaluation>,
    pub(super) saving: Saving,
    pub(super) resuming: StateSaving,
    /// Whether the run takes extra steps at the end in which every operation is timed.
    pub(super) profiles: bool,
    /// Whether the run waits for its parent's reply after every epoch.
    pub(super) awaits_verdicts: bool,
    pub(super) stopping: Stopping,
    pub(super) accuracies: Accuracies,
    /// Weights and validation metrics of the best epoch; `None` unless early stopping restores the best weights.
    pub(super) best: Option<(Weights<D>, Metrics)>,
    /// Weights of the best epochs, whose mean is evaluated (`validation.ensemble`).
    pub(super) ensemble: Ensemble<D>,
    /// Metrics of the last validation; `None` if the weights have changed since.
    pub(super) validated: Option<Metrics>,
    pub(super) log: Log,
}

pub(super) struct Outcome {
    pub(super) facts: RunFacts,
    pub(super) times: RunTimes,
}

impl<D: Kernels> Session<'_, D> {
    /// Trains, evaluates and saves: the whole run.
    pub(super) fn train(mut self, emit: &mut Emit<'_>) -> Result<Outcome, TrainError> {
        let epochs = self.cell.train.epochs;
        emit(Event::Started {
            parameters: self.log.facts.parameters,
            epochs,
            steps_per_epoch: self.steps.count(),
        });
        let Begin {
            epoch,
            mut begun,
            is_over,
        } = self.resume_training(emit)?;
        if (epoch, &begun) == (0, &None) {
            self.log.facts.eval_loss_before = self.fixed_batch_loss()?;
        }
        self.log.begin_training();
        let left = if is_over { 0..0 } else { epoch..epochs };
        for epoch in left {
            let lr = self.rate.at(epoch, 0);
            let outcome = self.train_epoch(epoch, begun.take().unwrap_or_default(), emit)?;
            let judgement = self.validate(epoch, outcome.diverged.is_some())?;
            let verdict = self.judge(epoch, outcome.train_loss, &judgement)?;
            let past = PastEpoch {
                lr,
                outcome,
                judgement,
            };
            let has_diverged = self.log.facts.diverged.is_some();
            let is_last = verdict == Verdict::Stop || epoch + 1 == epochs;
            if !has_diverged {
                self.end_epoch(epoch, &past, is_last, emit);
            }
            match self.report_epoch(past.into_event(epoch), emit) {
                Reply::Stop => return self.end_after_epoch(emit),
                Reply::End if !has_diverged => {
                    let (mut pauses, learner, ..) = self.pauses(epoch + 1);
                    pauses.write(learner, None, emit);
                    return Err(TrainError::Ended);
                }
                Reply::End | Reply::Continue => {}
            }
            if is_last || has_diverged {
                break;
            }
        }
        self.restore_best()?;
        self.evaluate_at_end()?;
        self.save(emit)?;
        self.assess(emit)?;
        self.finish(emit, true)
    }

    fn train_epoch(
        &mut self,
        epoch: usize,
        begun: BegunEpoch,
        emit: &mut Emit<'_>,
    ) -> Result<EpochOutcome, TrainError> {
        self.log.gpu.begin();
        let (steps, epochs) = (self.steps, self.cell.train.epochs);
        let (mut pauses, learner, loader, rate) = self.pauses(epoch);
        let (counted_epoch, counted) = counted_step(steps, epochs);
        let plan = EpochPlan {
            epoch,
            rate,
            steps,
            counted: (epoch == counted_epoch).then_some(counted),
            begun,
        };
        let outcome = train_epoch(learner, loader, plan, &mut pauses, emit)?;
        self.log.gpu.end();
        self.validated = None;
        self.log.add_epoch(&outcome, !self.steps.is_capped());
        self.log.facts.diverged.clone_from(&outcome.diverged);
        Ok(outcome)
    }

    /// What is needed to save the state in an epoch, and the learner, loader and learning rate, which are borrowed
    /// together.
    fn pauses(
        &mut self,
        epoch: usize,
    ) -> (EpochStateSaver<'_, D>, &mut Learner<D>, &Loader, &Rate) {
        let count = self.steps.count();
        let pauses = EpochStateSaver {
            cell: self.cell,
            resuming: &mut self.resuming,
            best: &mut self.best,
            ensemble: &mut self.ensemble,
            log: &mut self.log,
            steps: (epoch * count, self.cell.train.epochs * count),
        };
        (pauses, &mut self.learner, &self.loader, &self.rate)
    }

    /// Adds a finished epoch to the training state. Writes the state if it is time to, or if the epoch is the last one.
    fn end_epoch(&mut self, epoch: usize, past: &PastEpoch, is_last: bool, emit: &mut Emit<'_>) {
        let (mut pauses, learner, ..) = self.pauses(epoch + 1);
        pauses.add(past);
        if is_last || pauses.is_due(0.0, 0) {
            pauses.write(learner, None, emit);
        }
    }

    /// Validates if the epoch is due (every `validation.every` epochs and the last one), with the averaged weights if
    /// there are any. Without a validation the result is empty.
    fn validate(
        &mut self,
        epoch: usize,
        has_diverged: bool,
    ) -> Result<EpochValidation, TrainError> {
        let every = self.cell.validation.every.max(1);
        let is_last = epoch + 1 == self.cell.train.epochs;
        let is_due = (epoch + 1).is_multiple_of(every) || is_last;
        if !self.evaluation.validates() || !is_due || has_diverged {
            return Ok(EpochValidation::default());
        }
        let (loss, validation) = self.validate_now()?;
        self.accuracies.note(epoch, &validation);
        if loss.is_none() {
            let reason = format!("validation loss was no finite number after epoch {epoch}");
            self.log.facts.diverged = Some(reason);
        }
        Ok(EpochValidation {
            validation,
            loss,
            is_due,
        })
    }

    pub(super) fn validate_now(&mut self) -> Result<(Option<f64>, Metrics), TrainError> {
        let (learner, evaluation) = (&mut self.learner, &self.evaluation);
        let (loss, metrics) = self.log.validation(|| {
            with_average(learner, |learner| evaluation.validate(&mut *learner.task))
        })?;
        self.validated = Some(metrics.clone());
        Ok((loss, metrics))
    }

    /// Gives the epoch's loss to early stopping, schedule and ensemble; copies the weights if the epoch is the best so
    /// far and the best weights are restored at the end.
    pub(super) fn judge(
        &mut self,
        epoch: usize,
        train_loss: Option<f64>,
        judgement: &EpochValidation,
    ) -> Result<Verdict, TrainError> {
        let loss = if self.evaluation.validates() {
            if !judgement.is_due {
                return Ok(Verdict::Continue);
            }
            judgement.loss
        } else {
            train_loss
        };
        self.rate.end_epoch(epoch, loss);
        let learner = &mut self.learner;
        self.ensemble.offer(loss, || {
            with_average(learner, |learner| {
                Ok(Weights::copy(learner.task.module(), None)?)
            })
        })?;
        let verdict = self.stopping.judge(epoch, loss);
        if verdict == Verdict::Best && self.stopping.restores_best() {
            let learner = &mut self.learner;
            let weights = Weights::copy(learner.task.module(), learner.ema.as_ref())?;
            self.best = Some((weights, judgement.validation.clone()));
        }
        Ok(verdict)
    }

    fn restore_best(&mut self) -> Result<()> {
        if let Some((weights, validation)) = self.best.take() {
            self.learner.ema = weights.restore(self.learner.task.module())?;
            self.validated = Some(validation);
        }
        Ok(())
    }

    /// The loss of the fixed batch with the current weights, not the averaged ones; `None` if it is not finite.
    pub(super) fn fixed_batch_loss(&mut self) -> Result<Option<f64>, TrainError> {
        let (task, evaluation) = (&mut self.learner.task, &self.evaluation);
        let score = self.log.validation(|| evaluation.fixed(&mut **task))?;
        Ok(score.loss())
    }

    pub(super) fn add_cost(&mut self) -> Result<(), TrainError> {
        let cost = match self.learner.cost {
            Some(cost) => cost,
            None => self.probe_cost()?,
        };
        self.log.add_cost(cost);
        Ok(())
    }

    /// FLOPs and activation memory of one sample, from a forward and backward pass that does not change the weights.
    fn probe_cost(&mut self) -> Result<Cost, TrainError> {
        let (batch, place) = (
            self.evaluation.one_sample()?,
            TrainingPosition { epoch: 0, step: 0 },
        );
        let mut watch = Stopwatch::start();
        let one = self.learner.device.full_buffer(1, 1.0)?;
        let task = &mut self.learner.task;
        let micro = task.gradients(batch, place, one, None, &mut watch)?;
        Ok(Cost {
            samples: 1,
            work: micro.work,
            activation_bytes: micro.activation_bytes,
        })
    }

    /// Writes the checkpoint files. If `train.save-to` does not ask for them, a failure is only a warning.
    fn save(&mut self, emit: &mut Emit<'_>) -> Result<(), TrainError> {
        match self.write_files() {
            Err(error) if !self.saving.is_asked() => {
                let reason = error.reason(self.cell);
                let message = format!("the trained weights are not kept: {reason}");
                emit(Event::Warning { message });
                Ok(())
            }
            written => written,
        }
    }

    fn write_files(&mut self) -> Result<(), TrainError> {
        let (saving, learner) = (&self.saving, &mut self.learner);
        let [raw, averaged @ ..] = saving.files() else {
            return Ok(());
        };
        let mut bytes = saving.write(raw, learner)?;
        for file in averaged {
            bytes += with_average(learner, |learner| saving.write(file, learner))?;
        }
        self.log.checkpoint_bytes = saving.is_asked().then_some(bytes);
        Ok(())
    }

    /// Runs the costly evaluation (samples, verification, selection), with the averaged weights if there are any.
    fn assess(&mut self, emit: &mut Emit<'_>) -> Result<(), TrainError> {
        let Some(costly) = &self.costly else {
            return Ok(());
        };
        if self.log.facts.diverged.is_some() {
            return Ok(());
        }
        let learner = &mut self.learner;
        let metrics = self.log.assessment(|| {
            with_average(learner, |learner| costly.assess(&mut *learner.task, emit))
        })?;
        self.log.facts.metrics.extend(metrics);
        Ok(())
    }

    /// Completes the results and times, and then takes the extra steps, timed by phase or by operation, if the run has
    /// any.
    pub(super) fn finish(
        mut self,
        emit: &mut Emit<'_>,
        takes_extra: bool,
    ) -> Result<Outcome, TrainError> {
        let learner = &mut self.learner;
        let weights = checkpoint::snapshot(&learner.device, learner.task.module())?;
        self.log.facts.weight_checksum = checkpoint::checksum(&weights);
        self.log.facts.steps = learner.steps;
        self.log.add_work(std::mem::take(&mut learner.work));
        if let Some(skipped) = learner.skipped_steps()? {
            let metrics = &mut self.log.facts.metrics;
            metrics.insert("skipped_steps".into(), Some(skipped as f64));
        }
        let class = numeric_class_of(&learner.device.facts()?, self.cell.train.precision);
        let best = self.stopping.best();
        if let Err(reason) = self.log.end_gpu_sampling() {
            let message = format!("nothing was measured of the GPU: {reason}");
            emit(Event::Warning { message });
        }
        let memory = learner.device.memory()?;
        let extra = self.extra_steps();
        let (facts, mut times) = self.log.finish(best, self.loader.times(), class, memory);
        times.convolutions = self.learner.device.convolutions();
        let (learner, loader) = (&mut self.learner, &self.loader);
        let goes_on = takes_extra && facts.diverged.is_none();
        if goes_on && D::IS_ASYNCHRONOUS && extra.wanted > 0 {
            match extra.time_phases(learner, loader) {
                Ok(Some(pace)) => add_phases(&mut times, &pace),
                Ok(None) => {
                    emit(missing_phases_warning(DIVERGED));
                }
                Err(error) => {
                    emit(missing_phases_warning(&error.to_string()));
                }
            }
        }
        if goes_on && self.profiles {
            emit(profile_event(profile(learner, loader, &extra)));
        }
        Ok(Outcome { facts, times })
    }

    fn extra_steps(&self) -> ExtraSteps {
        let epochs = self.cell.train.epochs;
        let last = epochs.saturating_sub(1);
        ExtraSteps {
            wanted: self.cell.measure.phase_steps,
            epoch: epochs,
            lr: self.rate.at(last, self.steps.count().saturating_sub(1)),
            steps: self.steps,
        }
    }
}

/// Calls `work` while the model has the averaged weights (`train.ema`), or its own weights if there is no average.
pub(super) fn with_average<D: Kernels, T>(
    learner: &mut Learner<D>,
    work: impl FnOnce(&mut Learner<D>) -> Result<T, TrainError>,
) -> Result<T, TrainError> {
    let Some(mut ema) = learner.ema.take() else {
        return work(learner);
    };
    ema.swap(learner.task.module())?;
    let result = work(learner);
    ema.swap(learner.task.module())?;
    learner.ema = Some(ema);
    result
}
