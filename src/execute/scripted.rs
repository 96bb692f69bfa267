//! [`Scripted`]: replays given ends, for tests of everything that stands above a worker.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::event::{Event, Job, RunId, RunOutcome, Status};

use super::Launch;

/// A launcher that starts no process.
#[derive(Debug, Default)]
pub struct Scripted {
    runs: HashMap<RunId, (Vec<Event>, RunOutcome)>,
    duration: Duration,
}

impl Scripted {
    /// Every run is done at once, with nothing to tell.
    pub fn new() -> Self {
        Self::default()
    }

    /// What run `id` tells, and how it ends.
    #[must_use]
    pub fn with(mut self, id: RunId, events: Vec<Event>, outcome: RunOutcome) -> Self {
        self.runs.insert(id, (events, outcome));
        self
    }

    /// How long every run takes.
    #[must_use]
    pub fn taking(mut self, duration: Duration) -> Self {
        self.duration = duration;
        self
    }
}

impl Launch for Scripted {
    fn launch(
        &self,
        job: &Job,
        _threads: usize,
        stop: &AtomicBool,
        emit: &mut dyn FnMut(Event),
    ) -> RunOutcome {
        let began = Instant::now();
        while began.elapsed() < self.duration {
            if stop.load(Ordering::SeqCst) {
                return RunOutcome::interrupted();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        match self.runs.get(&job.id) {
            Some((events, outcome)) => {
                events.iter().cloned().for_each(emit);
                outcome.clone()
            }
            None => RunOutcome::empty(Status::Done, String::new()),
        }
    }
}
