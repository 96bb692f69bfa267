//! [`Log`]: collects the results (facts) and times of a run.

use std::time::Instant;

use super::learner::Cost;
use super::state::{EpochOutcome, TotalsSoFar};
use super::stopping::Best;
use crate::base::statistics::median;
use crate::event::{
    DeviceMemoryUsage, FIRST_STEPS, GpuUsage, LoaderTimes, MemoryParts, Metrics, OpWork,
    PhaseTimes, RunFacts, RunTimes, SAMPLES_ROW,
};
use crate::loader;
use crate::measure::gpu::GpuMeter;
use crate::measure::{
    DeviceMemory, MemoryGrowth, PeakMemory, Peaks, Phase, StepTimeLog, StepTimeSummary, StepTimes,
};

pub(super) struct Log {
    start: Instant,
    pub(super) facts: RunFacts,
    pub(super) pace: StepTimeLog,
    pub(super) memory: PeakMemory,
    pub(super) growth: MemoryGrowth,
    pub(super) device_memory: DeviceMemory,
    pub(super) gpu: GpuMeter,
    gpu_usage: GpuUsage,
    parts: MemoryParts,
    startup_s: f64,
    train_s: f64,
    validation_s: f64,
    pub(super) checkpoint_bytes: Option<u64>,
    /// Seconds of the costly evaluation; `None` if there was none.
    assessment_s: Option<f64>,
    /// Seconds that are excluded from all times of the run ([`Self::excluded_from_times`]).
    left_out_s: f64,
    /// Seconds of earlier, interrupted processes of this run; `None` if the run was not resumed.
    earlier_s: Option<f64>,
    first_losses: Vec<Option<f64>>,
    /// Number of samples of the first epoch.
    first_samples: u64,
    full_epochs_s: Vec<f64>,
    /// For each epoch: seconds of training up to its end.
    ends_s: Vec<f64>,
}

impl Log {
    /// A log of a run that began at `start`; its first `warmup` steps are left out of step times.
    pub(super) fn new(start: Instant, warmup: usize) -> Self {
        Self {
            start,
            facts: RunFacts::default(),
            pace: StepTimeLog::new(warmup),
            memory: PeakMemory::start(),
            growth: MemoryGrowth::new(warmup),
            device_memory: DeviceMemory::default(),
            gpu: GpuMeter::absent(),
            gpu_usage: GpuUsage::default(),
            parts: MemoryParts::default(),
            startup_s: 0.0,
            train_s: 0.0,
            validation_s: 0.0,
            checkpoint_bytes: None,
            assessment_s: None,
            left_out_s: 0.0,
            earlier_s: None,
            first_losses: Vec::new(),
            first_samples: 0,
            full_epochs_s: Vec::new(),
            ends_s: Vec::new(),
        }
    }

    /// Records that data and model are ready, and the bytes of parameters, gradients and optimizer state.
    pub(super) fn ready(&mut self, parts: MemoryParts) {
        self.parts = parts;
        self.startup_s = self.start.elapsed().as_secs_f64();
    }

    /// Records that training begins; peak memory is measured from here on.
    pub(super) fn begin_training(&mut self) {
        self.memory = PeakMemory::start();
        self.device_memory.leave_out();
    }

    /// The values that the training state keeps for a resumed run.
    pub(super) fn so_far(&self) -> TotalsSoFar {
        TotalsSoFar {
            eval_loss_before: self.facts.eval_loss_before,
            validation_s: self.validation_s,
            total_s: self.total_s(),
        }
    }

    /// Takes over the values of an interrupted run.
    pub(super) fn go_on(&mut self, from: TotalsSoFar) {
        self.facts.eval_loss_before = from.eval_loss_before;
        self.validation_s = from.validation_s;
        self.earlier_s = Some(from.total_s);
    }

    fn total_s(&self) -> f64 {
        let left_out_s = self.assessment_s.unwrap_or(0.0) + self.left_out_s;
        self.earlier_s.unwrap_or(0.0) + self.start.elapsed().as_secs_f64() - left_out_s
    }

    /// Seconds of training in the finished epochs.
    pub(super) fn train_s(&self) -> f64 {
        self.train_s
    }

    /// Records a trained epoch, before its validation. `is_full`: the epoch was not cut short by `steps-per-epoch`.
    pub(super) fn add_epoch(&mut self, outcome: &EpochOutcome, is_full: bool) {
        let facts = &mut self.facts;
        facts.epochs += 1;
        facts.samples += outcome.samples;
        facts.first_loss = match outcome.steps.first() {
            Some(step) if facts.epochs == 1 => step.loss,
            _ => facts.first_loss,
        };
        if facts.epochs == 1 {
            self.first_samples = outcome.samples;
        }
        facts.final_loss = outcome.train_loss;
        let wanted = FIRST_STEPS as usize - self.first_losses.len();
        let first = outcome.steps.iter().take(wanted).map(|step| step.loss);
        self.first_losses.extend(first);
        self.train_s += outcome.seconds;
        self.ends_s.push(self.train_s);
        if is_full && outcome.diverged.is_none() {
            self.full_epochs_s.push(outcome.seconds);
        }
    }

    /// Runs `evaluate`; its time and peak memory count as validation.
    pub(super) fn validation<T>(&mut self, evaluate: impl FnOnce() -> T) -> T {
        self.memory.end_training();
        self.device_memory.end_training();
        let start = Instant::now();
        let result = evaluate();
        self.validation_s += start.elapsed().as_secs_f64();
        self.memory.end_validation();
        self.device_memory.end_validation();
        result
    }

    /// Runs work whose time is excluded from all times of the run.
    pub(super) fn excluded_from_times<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.left_out_s += start.elapsed().as_secs_f64();
        result
    }

    /// Runs the costly evaluation, whose time counts separately; returns its metrics, empty if there was nothing to
    /// evaluate.
    pub(super) fn assessment<E>(
        &mut self,
        assess: impl FnOnce() -> Result<Option<Metrics>, E>,
    ) -> Result<Metrics, E> {
        self.memory.end_training();
        self.device_memory.end_training();
        let start = Instant::now();
        let found = assess()?;
        self.assessment_s = found.as_ref().map(|_| start.elapsed().as_secs_f64());
        self.memory.reset_unattributed();
        self.device_memory.leave_out();
        Ok(found.unwrap_or_default())
    }

    /// Sets per-sample FLOPs and activation memory from the cost of the first micro-step.
    pub(super) fn add_cost(&mut self, cost: Cost) {
        let per_sample = |work: u64| work as f64 / cost.samples.max(1) as f64;
        self.facts.flops_forward_per_sample = per_sample(cost.work.forward);
        self.facts.flops_backward_per_sample = per_sample(cost.work.backward);
        self.parts.activation_bytes = cost.activation_bytes;
    }

    /// Sets the operations of the one step that `work.csv` describes. Does nothing if `step` is empty: the run ended
    /// before that step.
    pub(super) fn add_work(&mut self, mut step: Vec<OpWork>) {
        if !step.is_empty() {
            let samples = OpWork {
                op: SAMPLES_ROW.to_owned(),
                calls: self.first_samples,
                ..OpWork::default()
            };
            step.insert(0, samples);
            self.facts.work = step.into();
        }
    }

    /// Ends the measurement of the GPU and keeps its results.
    ///
    /// # Errors
    /// A message if the GPU's counters could not be read.
    pub(super) fn end_gpu_sampling(&mut self) -> Result<(), String> {
        let meter = std::mem::replace(&mut self.gpu, GpuMeter::absent());
        if !meter.has_counters() {
            return Ok(());
        }
        self.gpu_usage = meter.finish()?;
        let epochs = self.full_epochs_s.len();
        let are_whole = epochs > 0 && epochs == self.facts.epochs;
        let energy = self.gpu_usage.energy_j.filter(|_| are_whole);
        self.gpu_usage.energy_j_per_epoch = energy.map(|energy| energy / epochs as f64);
        Ok(())
    }

    /// Completes the results and times at the end of the run. `device_memory` is the device's free and total memory in
    /// bytes.
    pub(super) fn finish(
        mut self,
        best: Option<Best>,
        loader: loader::LoaderTimes,
        numeric_class: String,
        device_memory: Option<(u64, u64)>,
    ) -> (RunFacts, RunTimes) {
        self.facts.best_epoch = best.map(|best| best.epoch);
        self.facts.best_loss = best.map(|best| best.loss);
        self.facts.first_steps_loss = mean(&self.first_losses);
        self.memory.end_training();
        self.device_memory.end_training();
        let peaks = self.memory.peaks();
        let pace = self.pace.summary();
        let best_epoch_s = best.and_then(|best| self.ends_s.get(best.epoch).copied());
        let times = RunTimes {
            is_observed: false,
            ranks: None,
            warmup_steps: pace.warmup_steps as u64,
            measured_steps: Some(pace.measured_steps as u64),
            step_ms: 1e3 * pace.median_s,
            phases: phases(&pace.mean),
            step_mean_ms: 1e3 * pace.mean.total_s,
            samples_per_s: pace.samples_per_s,
            observer_ratio: None,
            epoch_s: median(&self.full_epochs_s),
            train_s: self.train_s,
            validation_s: self.validation_s,
            best_epoch_s,
            startup_s: self.startup_s,
            total_s: self.total_s(),
            resumed_after_s: self.earlier_s,
            loader: loader_times(loader),
            peak_train_bytes: peaks.train_bytes,
            peak_validation_bytes: peaks.validation_bytes,
            memory_source: self.memory.source().to_owned(),
            memory: self.parts,
            threads: rayon::current_num_threads(),
            numeric_class,
            assessment_s: self.assessment_s,
            improvement_per_s: improvement_per_s(&self.facts, best_epoch_s),
            checkpoint_bytes: self.checkpoint_bytes,
            log_bytes: None,
            memory_growth_bytes: self.growth.bytes(),
            device_memory: device_memory_times(self.device_memory.peaks(), device_memory).into(),
            gpu: self.gpu_usage.into(),
            convolutions: String::new(),
            own: std::collections::BTreeMap::new(),
        };
        (self.facts, times)
    }
}

/// The mean; `None` if there are no values or a value is `None`.
fn mean(values: &[Option<f64>]) -> Option<f64> {
    let sum: Option<f64> = values.iter().copied().sum();
    sum.filter(|_| !values.is_empty())
        .map(|sum| sum / values.len() as f64)
}

fn improvement_per_s(facts: &RunFacts, best_epoch_s: Option<f64>) -> Option<f64> {
    let rate = (facts.first_loss? - facts.best_loss?) / best_epoch_s?;
    rate.is_finite().then_some(rate)
}

/// Sets the phase times to those of the extra steps, which wait for the device after each phase. Also sets how many
/// times longer such a step takes than an ordinary one (`observer_ratio`).
pub(super) fn add_phases(times: &mut RunTimes, extra: &StepTimeSummary) {
    times.phases = phases(&extra.mean);
    let ratio = 1e3 * extra.mean.total_s / times.step_mean_ms;
    times.observer_ratio = ratio.is_finite().then_some(ratio);
}

/// Mean time of each phase of a step.
pub(super) fn phases(mean: &StepTimes) -> PhaseTimes {
    let ms = |phase| 1e3 * mean.phase_s(phase);
    PhaseTimes {
        data_wait_ms: ms(Phase::DataWait),
        transfer_ms: ms(Phase::Transfer),
        forward_ms: ms(Phase::Forward),
        loss_ms: ms(Phase::Loss),
        backward_ms: ms(Phase::Backward),
        optimizer_ms: ms(Phase::Optimizer),
        other_ms: 1e3 * mean.other_s(),
    }
}

/// Peak memory by the allocator's counters, and the memory in use: the driver's total minus free memory.
fn device_memory_times(peaks: Peaks, memory: Option<(u64, u64)>) -> DeviceMemoryUsage {
    let used_bytes = memory.map(|(free, total)| total.saturating_sub(free));
    let source = "CU_MEMPOOL_ATTR_USED_MEM_HIGH; in use: cuMemGetInfo";
    DeviceMemoryUsage {
        peak_train_bytes: peaks.train_bytes,
        peak_validation_bytes: peaks.validation_bytes,
        used_bytes,
        source: used_bytes.map_or_else(String::new, |_| source.to_owned()),
    }
}

fn loader_times(times: loader::LoaderTimes) -> LoaderTimes {
    LoaderTimes {
        wait_s: 1e-3 * times.wait_ms,
        work_s: 1e-3 * times.work_ms,
        start_ms: times.start_ms / times.starts.max(1) as f64,
        stop_ms: times.stop_ms / times.stops.max(1) as f64,
    }
}
