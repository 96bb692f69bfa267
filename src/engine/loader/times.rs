//! [`LoaderTimes`]: how long training waited, and how long workers worked.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A batch that was made, for a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MadeBatch {
    /// Worker thread that made it, from 0; `None` for the training thread.
    pub worker: Option<usize>,
    /// Its index in its epoch.
    pub index: usize,
    /// When work on it began.
    pub start: Instant,
    /// When it was ready.
    pub end: Instant,
}

/// Times of a loader since it was made; the difference between two values is that of an epoch or a step.
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
    /// Every batch, if they are recorded.
    made: Option<Mutex<Vec<MadeBatch>>>,
}

impl Clock {
    pub(super) fn wait<T>(&self, act: impl FnOnce() -> T) -> T {
        timed(&self.wait, act)
    }

    /// A clock that also records when each batch was made.
    pub(super) fn keeping_batches() -> Self {
        Self {
            made: Some(Mutex::default()),
            ..Self::default()
        }
    }

    pub(super) fn work<T>(
        &self,
        worker: Option<usize>,
        index: usize,
        act: impl FnOnce() -> T,
    ) -> T {
        let start = Instant::now();
        let result = act();
        let end = Instant::now();
        add(&self.work, start, end);
        if let Some(made) = &self.made {
            let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
            made.push(MadeBatch {
                worker,
                index,
                start,
                end,
            });
        }
        result
    }

    /// The batches made, in the order in which they were ready; empty without recording.
    pub(super) fn made(&self) -> Vec<MadeBatch> {
        let made = self.made.as_ref();
        made.map_or_else(Vec::new, |made| {
            made.lock().unwrap_or_else(PoisonError::into_inner).clone()
        })
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
    add(sum, start, Instant::now());
    result
}

fn add(sum: &AtomicU64, start: Instant, end: Instant) {
    sum.fetch_add((end - start).as_nanos() as u64, Ordering::Relaxed);
}
