//! [`Stopwatch`]: the times of one step, cut into disjoint phases that sum to the step.

use std::time::Instant;

use super::phase::{Phase, StepTimes};
use super::profile::OpCost;
use super::profiler::Profiler;

/// Times one step. Every mark ends the phase that the previous mark began.
///
/// A phase may be marked several times in a step (gradient accumulation): its times add up.
pub struct Stopwatch<'a> {
    start: Instant,
    last: Instant,
    phases_s: [f64; Phase::COUNT],
    synchronise: Option<&'a dyn Fn()>,
    profiler: Option<Profiler>,
}

impl<'a> Stopwatch<'a> {
    /// Starts now, without waiting for the device: on an asynchronous device, marks give the time of queueing.
    pub fn start() -> Self {
        Self::start_with(None)
    }

    /// Starts now; every mark first calls `synchronise`, which waits for the device.
    pub fn start_synchronised(synchronise: &'a dyn Fn()) -> Self {
        synchronise();
        Self::start_with(Some(synchronise))
    }

    /// Starts now; every mark is passed to `profiler`, which waits for the device.
    pub fn start_profiled(profiler: &Profiler) -> Self {
        let now = profiler.begin_step();
        Self {
            start: now,
            last: now,
            profiler: Some(profiler.clone()),
            ..Self::start_with(None)
        }
    }

    fn start_with(synchronise: Option<&'a dyn Fn()>) -> Self {
        let now = Instant::now();
        Self {
            start: now,
            last: now,
            phases_s: [0.0; Phase::COUNT],
            synchronise,
            profiler: None,
        }
    }

    /// The profiler that records the operations of the step, if there is one.
    pub fn profiler(&self) -> Option<&Profiler> {
        self.profiler.as_ref()
    }

    /// Records the time since the last event in the profiler, if there is one, as an operation `name` without a layer.
    pub fn operation(&self, name: &'static str) {
        if let Some(profiler) = &self.profiler {
            profiler.operation(name, std::iter::empty(), OpCost::default());
        }
    }

    /// Adds the time since the last mark to `phase`.
    pub fn mark(&mut self, phase: Phase) {
        self.phases_s[phase as usize] += self.lap(Some(phase));
    }

    /// Adds the time since the last mark to the residual (time outside of all phases).
    pub fn skip(&mut self) {
        self.lap(None);
    }

    /// Ends the step; the time since the last mark is added to the residual.
    pub fn stop(mut self) -> StepTimes {
        self.skip();
        if let Some(profiler) = &self.profiler {
            profiler.end_step();
        }
        StepTimes {
            total_s: (self.last - self.start).as_secs_f64(),
            phases_s: self.phases_s,
        }
    }

    fn lap(&mut self, phase: Option<Phase>) -> f64 {
        if let Some(synchronise) = self.synchronise {
            synchronise();
        }
        let now = match &self.profiler {
            None => Instant::now(),
            Some(profiler) => profiler.end_phase(phase),
        };
        let lap = now - self.last;
        self.last = now;
        lap.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::time::Duration;

    #[test]
    fn phases_and_residual_sum_to_the_step() {
        let mut watch = Stopwatch::start();
        std::thread::sleep(Duration::from_millis(2));
        watch.mark(Phase::Forward);
        watch.skip();
        std::thread::sleep(Duration::from_millis(1));
        watch.mark(Phase::Backward);
        std::thread::sleep(Duration::from_millis(1));
        watch.mark(Phase::Forward);
        let times = watch.stop();
        assert!(times.phase_s(Phase::Forward) >= 0.003);
        assert!(times.phase_s(Phase::Backward) >= 0.001);
        let sum = times.phases_s.iter().sum::<f64>() + times.other_s();
        assert!((sum - times.total_s).abs() < 1e-12);
        assert!(times.other_s() >= 0.0);
    }

    #[test]
    fn every_mark_of_a_synchronised_step_waits_for_the_device() {
        let calls = Cell::new(0);
        let synchronise = || calls.set(calls.get() + 1);
        let mut watch = Stopwatch::start_synchronised(&synchronise);
        watch.mark(Phase::Forward);
        watch.mark(Phase::Backward);
        watch.stop();
        assert_eq!(calls.get(), 4);
    }
}
