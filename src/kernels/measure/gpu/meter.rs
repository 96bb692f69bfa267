//! [`GpuMeter`]: a thread that samples the GPU's counters during training.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::tally::Tally;
use super::{Counters, GpuUsage};

/// Time between two samples. Drivers update load and power a few times a second, clocks more often.
pub const PERIOD: Duration = Duration::from_millis(50);

/// Load and power are means over up to a second before the sample (NVML's documentation), so they are used only after
/// this much training.
pub const SETTLING_TIME: Duration = Duration::from_secs(1);

/// Samples a GPU between [`GpuMeter::begin`] and [`GpuMeter::end`], without blocking the caller.
#[derive(Debug)]
pub struct GpuMeter(State);

#[derive(Debug)]
enum State {
    Absent,
    Failed(String),
    Sampling(Sender<Mark>, JoinHandle<Result<GpuUsage, String>>),
}

#[derive(Debug, Clone, Copy)]
enum Mark {
    Begin(Instant),
    End(Instant),
}

/// Reads the GPU's counters (use, memory, power) again and again from [`GpuMeter::begin`] to [`GpuMeter::end`], on the
/// meter's own thread.
#[derive(Debug)]
pub struct GpuSampler {
    marks: Receiver<Mark>,
    period: Duration,
    settle: Duration,
}

impl GpuMeter {
    /// The meter of a device without counters.
    pub fn absent() -> Self {
        Self(State::Absent)
    }

    /// A meter that cannot read its GPU, with the reason.
    pub fn failed(reason: String) -> Self {
        Self(State::Failed(reason))
    }

    /// A meter whose thread runs `sampler`, which opens the counters and calls [`GpuSampler::run`].
    pub fn sampling<F>(sampler: F) -> Self
    where
        F: FnOnce(GpuSampler) -> Result<GpuUsage, String> + Send + 'static,
    {
        Self::every((PERIOD, SETTLING_TIME), sampler)
    }

    fn every<F>((period, settle): (Duration, Duration), sampler: F) -> Self
    where
        F: FnOnce(GpuSampler) -> Result<GpuUsage, String> + Send + 'static,
    {
        let (sender, marks) = channel();
        let own = GpuSampler {
            marks,
            period,
            settle,
        };
        let thread = std::thread::Builder::new().name("gpu-meter".into());
        match thread.spawn(move || sampler(own)) {
            Ok(thread) => Self(State::Sampling(sender, thread)),
            Err(error) => Self::failed(format!("no thread to watch the GPU: {error}")),
        }
    }

    /// Whether the device has counters, even if they cannot be read.
    pub fn has_counters(&self) -> bool {
        !matches!(self.0, State::Absent)
    }

    /// Starts sampling; call when training begins or continues.
    pub fn begin(&self) {
        self.mark(Mark::Begin(Instant::now()));
    }

    /// Stops sampling; call when training pauses or ends.
    pub fn end(&self) {
        self.mark(Mark::End(Instant::now()));
    }

    fn mark(&self, mark: Mark) {
        if let State::Sampling(sender, _) = &self.0 {
            // Sending fails if the thread has failed; `finish` returns its error.
            let _ = sender.send(mark);
        }
    }

    /// The summary of all samples; empty for a device without counters.
    ///
    /// # Errors
    /// A sentence why the counters could not be read.
    pub fn finish(self) -> Result<GpuUsage, String> {
        match self.0 {
            State::Absent => Ok(GpuUsage::default()),
            State::Failed(reason) => Err(reason),
            State::Sampling(sender, thread) => {
                drop(sender);
                let seen = thread.join();
                seen.unwrap_or_else(|_| Err("the thread that watched the GPU broke off".into()))
            }
        }
    }
}

impl GpuSampler {
    /// Samples `counters` during training, until the meter is finished.
    pub fn run(&self, counters: &impl Counters) -> GpuUsage {
        let mut tally = Tally::new(self.settle);
        let mut next: Option<Instant> = None;
        loop {
            let mark = match next {
                None => self
                    .marks
                    .recv()
                    .map_err(|_| RecvTimeoutError::Disconnected),
                Some(next) => {
                    let wait = next.saturating_duration_since(Instant::now());
                    self.marks.recv_timeout(wait)
                }
            };
            match mark {
                Ok(Mark::Begin(at)) => {
                    tally.begin(at, counters);
                    next = Some(at + self.period);
                }
                Ok(Mark::End(at)) => {
                    tally.end(at, counters);
                    next = None;
                }
                Err(RecvTimeoutError::Timeout) => {
                    let now = Instant::now();
                    tally.sample(now, counters);
                    next = Some(now + self.period);
                }
                Err(RecvTimeoutError::Disconnected) => return tally.summary(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::super::Reading;
    use super::*;

    /// Counters that count how often they are read; clones share the counts with the test.
    #[derive(Clone, Default)]
    struct Scripted {
        looks: Arc<AtomicU64>,
        marks: Arc<AtomicU64>,
    }

    impl Counters for Scripted {
        fn read(&self) -> Reading {
            self.looks.fetch_add(1, Ordering::SeqCst);
            Reading {
                busy_percent: Some(75),
                ..Reading::default()
            }
        }

        /// Called at the beginning and at the end of an epoch; every call returns 500 mJ more than the last.
        fn energy_mj(&self) -> Option<u64> {
            Some(500 * (1 + self.marks.fetch_add(1, Ordering::SeqCst)))
        }
    }

    fn meter(counters: Scripted) -> GpuMeter {
        let pace = (Duration::from_millis(1), Duration::ZERO);
        GpuMeter::every(pace, move |sampler| Ok(sampler.run(&counters)))
    }

    /// Waits until `count` is at least `least`, without a time limit.
    fn wait_for(count: &AtomicU64, least: u64) {
        while count.load(Ordering::SeqCst) < least {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_meter_samples_only_between_begin_and_end() {
        let counters = Scripted::default();
        let meter = meter(counters.clone());
        let looks = || counters.looks.load(Ordering::SeqCst);
        for epoch in 0..2 {
            let before = looks();
            // Much longer than the time between two samples.
            std::thread::sleep(Duration::from_millis(5));
            assert_eq!(looks(), before, "between epochs");
            meter.begin();
            wait_for(&counters.looks, before + 3);
            meter.end();
            wait_for(&counters.marks, 2 * (epoch + 1));
        }
        let seen = meter.finish().unwrap();
        assert_eq!(seen.samples, Some(looks()));
        assert_eq!(seen.busy_share, Some(75.0));
        // Two epochs of 500 mJ each.
        assert_eq!(seen.energy_j, Some(1.0));
    }

    #[test]
    fn a_meter_that_never_began_has_no_samples() {
        let meter = || meter(Scripted::default());
        let none = GpuUsage {
            samples: Some(0),
            ..GpuUsage::default()
        };
        assert_eq!(meter().finish(), Ok(none));
        assert!(meter().has_counters() && !GpuMeter::absent().has_counters());
        assert_eq!(GpuMeter::absent().finish(), Ok(GpuUsage::default()));
    }

    #[test]
    fn a_meter_that_cannot_read_returns_why_at_its_end() {
        let meter = GpuMeter::sampling(|_| Err("no NVML".into()));
        meter.begin();
        meter.end();
        assert_eq!(meter.finish(), Err("no NVML".into()));
    }
}
