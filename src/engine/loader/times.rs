//! [`LoaderTimes`]: how long training waited for batches, and how long workers took to make them.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// When, and by which thread, a batch was made; an entry of a profile's timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MadeBatch {
    /// Worker thread that made the batch, from 0; `None` for the training thread.
    pub worker: Option<usize>,
    /// The batch's index in its epoch.
    pub index: usize,
    /// When work on the batch began.
    pub start: Instant,
    /// When the batch was ready.
    pub end: Instant,
}

/// Times of a loader since it was created. The difference of two values gives the times of an epoch or a step.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LoaderTimes {
    /// Wall milliseconds that training waited for batches; without workers, the time to make them in the training
    /// thread.
    pub wait_ms: f64,
    /// Wall milliseconds that batches took to make, summed over all workers.
    pub work_ms: f64,
    /// Wall milliseconds to start threads, summed over all starts.
    pub start_ms: f64,
    /// Wall milliseconds to stop threads, summed over all stops.
    pub stop_ms: f64,
    /// Number of times that threads were started.
    pub starts: u64,
    /// Number of times that threads were stopped.
    pub stops: u64,
}

/// Measures [`LoaderTimes`], summed over all threads.
#[derive(Debug, Default)]
pub(super) struct Clock {
    times: Mutex<LoaderTimes>,
    /// When each batch was made; `None` if this is not recorded.
    made: Option<Mutex<Vec<MadeBatch>>>,
}

impl Clock {
    pub(super) fn wait<T>(&self, act: impl FnOnce() -> T) -> T {
        self.timed(|times| &mut times.wait_ms, act)
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
        self.times().work_ms += ms(start, end);
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

    /// The recorded batches in order of completion; empty without recording.
    pub(super) fn made(&self) -> Vec<MadeBatch> {
        let made = self.made.as_ref();
        made.map_or_else(Vec::new, |made| {
            made.lock().unwrap_or_else(PoisonError::into_inner).clone()
        })
    }

    pub(super) fn start<T>(&self, act: impl FnOnce() -> T) -> T {
        self.times().starts += 1;
        self.timed(|times| &mut times.start_ms, act)
    }

    pub(super) fn stop<T>(&self, act: impl FnOnce() -> T) -> T {
        self.times().stops += 1;
        self.timed(|times| &mut times.stop_ms, act)
    }

    pub(super) fn read(&self) -> LoaderTimes {
        *self.times()
    }

    fn timed<T>(&self, sum: fn(&mut LoaderTimes) -> &mut f64, act: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = act();
        *sum(&mut self.times()) += ms(start, Instant::now());
        result
    }

    fn times(&self) -> MutexGuard<'_, LoaderTimes> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ms(start: Instant, end: Instant) -> f64 {
    (end - start).as_nanos() as f64 / 1e6
}
