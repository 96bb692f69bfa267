//! Events of a program about its steps (`steps`, `phases`, `operations`, `memory`), sent by the program itself or by
//! the observer of PyTorch, and the files of that observer.

use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;
use serde_json::json;

use crate::base::statistics::{mean, median};
use crate::event::{DeviceMemoryUsage, OpRow, PhaseTimes, Profile, RunFacts, RunTimes, Span};

/// The observer of PyTorch: Python modules that come first on an observed program's module path.
const OBSERVER: [(&str, &str); 4] = [
    ("sitecustomize.py", include_str!("observe/sitecustomize.py")),
    (
        "fieldtrial_observe.py",
        include_str!("observe/fieldtrial_observe.py"),
    ),
    (
        "fieldtrial_operations.py",
        include_str!("observe/fieldtrial_operations.py"),
    ),
    (
        "fieldtrial_steps.py",
        include_str!("observe/fieldtrial_steps.py"),
    ),
];

/// Writes the observer into `folder`. On a GPU it measures phases in `phase_steps` steps; `operations` is the number of
/// steps in which operations are counted, 0 for none.
pub(super) fn write_observer(
    folder: &Path,
    phase_steps: usize,
    operations: usize,
) -> io::Result<()> {
    fs::create_dir(folder)?;
    for (name, text) in OBSERVER {
        fs::write(folder.join(name), text)?;
    }
    let settings = json!({ "phase_steps": phase_steps, "operations": operations });
    fs::write(folder.join("settings.json"), settings.to_string())
}

/// Milliseconds by phase, as events give them.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Phases {
    data_wait: f64,
    transfer: f64,
    forward: f64,
    loss: f64,
    backward: f64,
    optimizer: f64,
}

impl Phases {
    fn values(&self) -> [f64; 6] {
        [
            self.data_wait,
            self.transfer,
            self.forward,
            self.loss,
            self.backward,
            self.optimizer,
        ]
    }

    fn sum(&self) -> f64 {
        self.values().iter().sum()
    }
}

/// The phase times of a step of `step_ms` milliseconds, from `values` as in [`Phases::values`]; the remaining time is
/// `other`.
fn of_step(values: [f64; 6], step_ms: f64) -> PhaseTimes {
    let [
        data_wait_ms,
        transfer_ms,
        forward_ms,
        loss_ms,
        backward_ms,
        optimizer_ms,
    ] = values;
    PhaseTimes {
        data_wait_ms,
        transfer_ms,
        forward_ms,
        loss_ms,
        backward_ms,
        optimizer_ms,
        other_ms: step_ms - values.iter().sum::<f64>(),
    }
}

/// `steps`: times of steps that have ended, in order.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StepsEvent {
    /// Milliseconds of each step; `null` for a step that was not timed.
    ms: Vec<Option<f64>>,
    /// Number of samples of each step; empty if unknown.
    #[serde(default)]
    samples: Vec<u64>,
    /// Number of steps, from the first, that are start-up (compilation): they are counted as steps, but excluded from
    /// the times.
    #[serde(default)]
    startup: usize,
    /// Number of micro-batches per step with gradient accumulation.
    #[serde(default, rename = "micro_batches")]
    _micro_batches: usize,
    /// Number of processes that train together; `samples` counts those of the sending process only.
    #[serde(default)]
    ranks: u64,
}

/// `phases`: mean times of phases over some steps, and times of the whole run.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PhasesEvent {
    /// Number of steps in the means `step_ms` and `ms`.
    steps: u64,
    /// Mean milliseconds of a step.
    step_ms: f64,
    /// Mean milliseconds of a step by phase.
    ms: Phases,
    /// Whether the device was synchronised at the end of every phase; then these steps are not those of the event
    /// `steps`.
    synchronised: bool,
    /// Seconds from the start of the program to its first step.
    startup_s: Option<f64>,
    /// Seconds of training, without evaluation.
    train_s: Option<f64>,
    /// Seconds of evaluation.
    evaluation_s: Option<f64>,
    /// Milliseconds to start the workers of a data loader, median over epochs.
    loader_start_ms: Option<f64>,
    /// Seconds of a whole epoch of training, the start of its loader included, median over epochs.
    epoch_s: Option<f64>,
}

/// `operations`: the operations of some steps, by layer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OperationsEvent {
    /// Number of steps.
    steps: usize,
    /// Samples per step.
    #[serde(default)]
    samples: f64,
    /// Mean milliseconds per step by phase.
    #[serde(default)]
    ms: Phases,
    /// Mean milliseconds per step.
    #[serde(default)]
    step_ms: f64,
    rows: Vec<OpRow>,
    /// Spans of the trace: row (`steps`, `phases`, `ops`), name, detail, start and duration in microseconds.
    #[serde(default)]
    spans: Vec<Span>,
}

/// What a program has reported about its steps so far.
#[derive(Debug, Default)]
pub(super) struct Observed {
    steps: u64,
    samples: u64,
    startup: u64,
    ranks: u64,
    /// Milliseconds and number of samples of each timed step.
    timed: Vec<(f64, u64)>,
    /// Milliseconds by phase, summed over the steps counted in `phase_steps`.
    phases: [f64; 6],
    phase_steps: u64,
    phase_step_ms: f64,
    is_synchronised: bool,
    of_run: PhasesEvent,
    operations: Option<OperationsEvent>,
    memory: Option<DeviceMemoryUsage>,
    /// Whether an event of the observer was wrong; nothing that the observer reports counts then.
    pub(super) is_wrong: bool,
}

impl Observed {
    pub(super) fn wrong() -> Self {
        Self {
            is_wrong: true,
            ..Self::default()
        }
    }

    pub(super) fn steps(&mut self, told: &StepsEvent) -> Result<(), String> {
        if !told.samples.is_empty() && told.samples.len() != told.ms.len() {
            let (samples, steps) = (told.samples.len(), told.ms.len());
            return Err(format!("`steps` has {steps} `ms` and {samples} `samples`"));
        }
        if let Some(wrong) = told.ms.iter().flatten().find(|ms| !is_time(**ms)) {
            return Err(format!("a step of {wrong} ms"));
        }
        self.steps += told.ms.len() as u64;
        self.samples += told.samples.iter().sum::<u64>();
        self.startup += told.startup as u64;
        self.ranks = self.ranks.max(told.ranks);
        let samples = told.samples.iter().copied().chain(std::iter::repeat(0));
        let all = told.ms.iter().zip(samples).skip(told.startup);
        let timed = all.filter_map(|(ms, samples)| Some(((*ms)?, samples)));
        self.timed.extend(timed);
        Ok(())
    }

    pub(super) fn phases(&mut self, told: &PhasesEvent) -> Result<(), String> {
        if told.steps > 0 {
            if !is_time(told.step_ms) || !is_time(told.ms.sum()) {
                return Err(format!("a step of {} ms", told.step_ms));
            }
            let weight = told.steps as f64;
            for (sum, ms) in self.phases.iter_mut().zip(told.ms.values()) {
                *sum += weight * ms;
            }
            self.phase_step_ms += weight * told.step_ms;
            self.phase_steps += told.steps;
            self.is_synchronised |= told.synchronised;
        }
        let of_run = &mut self.of_run;
        of_run.startup_s = told.startup_s.or(of_run.startup_s);
        of_run.train_s = told.train_s.or(of_run.train_s);
        of_run.evaluation_s = told.evaluation_s.or(of_run.evaluation_s);
        of_run.loader_start_ms = told.loader_start_ms.or(of_run.loader_start_ms);
        of_run.epoch_s = told.epoch_s.or(of_run.epoch_s);
        Ok(())
    }

    pub(super) fn operations(&mut self, told: OperationsEvent) -> Result<(), String> {
        if told.steps == 0 {
            return Err("`operations` covers 0 steps".to_owned());
        }
        let mut spans = told.spans.iter();
        if let Some(wrong) =
            spans.find(|span| !span.start_us.is_finite() || !is_time(span.duration_us))
        {
            let (start, time) = (wrong.start_us, wrong.duration_us);
            return Err(format!("a span from {start} µs for {time} µs"));
        }
        self.operations = Some(told);
        Ok(())
    }

    pub(super) fn memory(&mut self, told: DeviceMemoryUsage) {
        self.memory = Some(told);
    }

    /// Whether no step was reported.
    pub(super) fn is_empty(&self) -> bool {
        self.steps == 0
    }

    /// The profile of the operations, for `ops.csv`; `None` if the program reported none.
    pub(super) fn profile(&self) -> Option<Profile> {
        let told = self.operations.as_ref()?;
        let step_ms = told.step_ms.max(told.ms.sum());
        Some(Profile {
            steps: told.steps,
            samples: told.samples.round() as usize,
            step_ms,
            phases: of_step(told.ms.values(), step_ms),
            ops: told.rows.clone(),
            spans: told.spans.clone(),
        })
    }

    /// Adds the reported values to the results of a run; does nothing if no step was reported.
    pub(super) fn complete(&self, facts: &mut RunFacts, times: &mut RunTimes) {
        if self.is_empty() {
            return;
        }
        facts.steps = self.steps;
        // Only one rank is observed; each trains on the same number of samples.
        let ranks = self.ranks.max(1);
        facts.samples = self.samples * ranks;
        if let Some(told) = self.operations.as_ref().filter(|told| told.samples > 0.0) {
            let per_sample =
                |get: &dyn Fn(&OpRow) -> f64| told.rows.iter().map(get).sum::<f64>() / told.samples;
            facts.flops_forward_per_sample = per_sample(&|row| row.flops_forward);
            facts.flops_backward_per_sample = per_sample(&|row| row.flops_backward);
        }
        let ms: Vec<f64> = self.timed.iter().map(|step| step.0).collect();
        let sum: f64 = ms.iter().sum();
        let samples: u64 = self.timed.iter().map(|step| step.1).sum();
        times.is_observed = true;
        times.ranks = Some(ranks).filter(|ranks| *ranks > 1);
        times.warmup_steps = self.startup;
        times.measured_steps = Some(ms.len() as u64);
        times.step_ms = median(&ms).unwrap_or_default();
        times.step_mean_ms = mean(&ms).unwrap_or_default();
        if sum > 0.0 {
            times.samples_per_s = (samples * ranks) as f64 / sum * 1e3;
        }
        let steps = self.phase_steps as f64;
        if steps > 0.0 && times.step_mean_ms > 0.0 {
            let step_ms = self.phase_step_ms / steps;
            if self.is_synchronised {
                times.observer_ratio = Some(step_ms / times.step_mean_ms);
            }
            let means = self.phases.map(|sum| sum / steps);
            times.phases = of_step(means, times.phase_step_ms());
        } else {
            times.phases.other_ms = times.step_mean_ms;
        }
        let of_run = &self.of_run;
        times.train_s = of_run.train_s.unwrap_or(sum / 1e3);
        times.startup_s = of_run.startup_s.unwrap_or_default();
        times.validation_s = of_run.evaluation_s.unwrap_or_default();
        times.epoch_s = of_run.epoch_s;
        times.loader.start_ms = of_run.loader_start_ms.unwrap_or_default();
        times.loader.wait_s = times.phases.data_wait_ms * self.steps as f64 / 1e3;
        if let Some(memory) = &self.memory {
            times.device_memory = memory.clone().into();
        }
    }
}

/// Whether a number is a possible time: finite and not negative.
fn is_time(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

#[cfg(test)]
mod tests;
