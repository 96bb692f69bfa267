//! [`StepTimeLog`]: the times of a run's steps; warm-up steps are left out and counted.

use super::phase::{Phase, StepTimes};
use crate::base::statistics::median;

/// Collects the times of a run's steps. Only the warm-up steps are excluded.
#[derive(Debug)]
pub struct StepTimeLog {
    warmup: usize,
    /// The warm-up steps with their samples; the last one is used if the run is shorter than its warm-up.
    first: Vec<(StepTimes, usize)>,
    steps_s: Vec<f64>,
    sum: StepTimes,
    samples: u64,
}

/// Summary of the steps of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StepTimeSummary {
    /// Number of warm-up steps that were left out.
    pub warmup_steps: usize,
    /// Number of steps from which the values are computed; 0 if there was none.
    pub measured_steps: usize,
    /// Median seconds of a step.
    pub median_s: f64,
    /// Means over the measured steps; phases and residual sum to the step's time.
    pub mean: StepTimes,
    /// Samples per second of the measured steps' total time, waiting for data included.
    pub samples_per_s: f64,
}

impl StepTimeLog {
    /// A record without steps, which will leave out the first `warmup` steps.
    pub fn new(warmup: usize) -> Self {
        Self {
            warmup,
            first: Vec::new(),
            steps_s: Vec::new(),
            sum: StepTimes::default(),
            samples: 0,
        }
    }

    /// Records the times of a step with `samples` samples.
    pub fn add(&mut self, times: StepTimes, samples: usize) {
        if self.first.len() < self.warmup {
            self.first.push((times, samples));
        } else {
            self.measure(times, samples);
        }
    }

    /// Medians and means. If the run ended within its warm-up, the last step counts as measured.
    pub fn summary(&mut self) -> StepTimeSummary {
        if self.steps_s.is_empty()
            && let Some((times, samples)) = self.first.pop()
        {
            self.measure(times, samples);
        }
        let measured_steps = self.steps_s.len();
        if measured_steps == 0 {
            return StepTimeSummary::default();
        }
        let per_step = 1.0 / measured_steps as f64;
        StepTimeSummary {
            warmup_steps: self.first.len(),
            measured_steps,
            median_s: median(&self.steps_s).unwrap_or_default(),
            mean: StepTimes {
                total_s: self.sum.total_s * per_step,
                phases_s: self.sum.phases_s.map(|phase_s| phase_s * per_step),
            },
            samples_per_s: self.samples as f64 / self.sum.total_s.max(f64::MIN_POSITIVE),
        }
    }

    fn measure(&mut self, times: StepTimes, samples: usize) {
        self.steps_s.push(times.total_s);
        self.sum.total_s += times.total_s;
        for phase in 0..Phase::COUNT {
            self.sum.phases_s[phase] += times.phases_s[phase];
        }
        self.samples += samples as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(total_s: f64) -> StepTimes {
        StepTimes {
            total_s,
            phases_s: [0.0, 0.0, total_s / 2.0, 0.0, total_s / 4.0, 0.0],
        }
    }

    #[test]
    fn the_warm_up_is_dropped_and_counted() {
        let mut pace = StepTimeLog::new(2);
        for total_s in [9.0, 9.0, 1.0, 2.0, 6.0] {
            pace.add(step(total_s), 12);
        }
        let summary = pace.summary();
        assert_eq!((summary.warmup_steps, summary.measured_steps), (2, 3));
        assert!((summary.median_s - 2.0).abs() < 1e-12);
        assert!((summary.mean.total_s - 3.0).abs() < 1e-12);
        assert!((summary.mean.phase_s(Phase::Forward) - 1.5).abs() < 1e-12);
        assert!((summary.mean.other_s() - 0.75).abs() < 1e-12);
        assert!((summary.samples_per_s - 4.0).abs() < 1e-12);
    }

    #[test]
    fn a_run_shorter_than_its_warm_up_measures_its_last_step() {
        let mut pace = StepTimeLog::new(5);
        pace.add(step(3.0), 1);
        pace.add(step(1.0), 1);
        let summary = pace.summary();
        assert_eq!((summary.warmup_steps, summary.measured_steps), (1, 1));
        assert!((summary.median_s - 1.0).abs() < 1e-12);
        assert_eq!(StepTimeLog::new(5).summary(), StepTimeSummary::default());
    }
}
