//! [`LoaderTimes`]: waiting is training's time, working is the workers'.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Times of a loader since it was made; differences of two readings are those of an epoch or a step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LoaderTimes {
    /// Wall milliseconds that training waited for batches. With 0 workers it is the work itself.
    pub wait_ms: f64,
    /// Wall milliseconds that batches took to make, summed over all workers.
    pub work_ms: f64,
    /// Wall milliseconds to start threads, summed over all starts.
    pub start_ms: f64,
    /// Wall milliseconds to stop threads, summed over all stops.
    pub stop_ms: f64,
    /// How often threads were started.
    pub starts: u64,
    /// How often threads were stopped.
    pub stops: u64,
}

/// The sums behind [`LoaderTimes`], in nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Clock {
    wait: AtomicU64,
    work: AtomicU64,
    start: AtomicU64,
    stop: AtomicU64,
    starts: AtomicU64,
    stops: AtomicU64,
}

impl Clock {
    pub(super) fn wait<T>(&self, act: impl FnOnce() -> T) -> T {
        timed(&self.wait, act)
    }

    pub(super) fn work<T>(&self, act: impl FnOnce() -> T) -> T {
        timed(&self.work, act)
    }

    pub(super) fn start<T>(&self, act: impl FnOnce() -> T) -> T {
        self.starts.fetch_add(1, Ordering::Relaxed);
        timed(&self.start, act)
    }

    pub(super) fn stop<T>(&self, act: impl FnOnce() -> T) -> T {
        self.stops.fetch_add(1, Ordering::Relaxed);
        timed(&self.stop, act)
    }

    pub(super) fn read(&self) -> LoaderTimes {
        let ms = |sum: &AtomicU64| sum.load(Ordering::Relaxed) as f64 / 1e6;
        LoaderTimes {
            wait_ms: ms(&self.wait),
            work_ms: ms(&self.work),
            start_ms: ms(&self.start),
            stop_ms: ms(&self.stop),
            starts: self.starts.load(Ordering::Relaxed),
            stops: self.stops.load(Ordering::Relaxed),
        }
    }
}

fn timed<T>(sum: &AtomicU64, act: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = act();
    sum.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
    result
}
