//! [`ScriptedLauncher`]: replays given outcomes, for tests of the layers above the worker.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::event::{Event, Job, Pruned, RunId, RunOutcome, Status};

use super::{CpuShare, Launch};

/// A launcher that replays given events and outcomes and starts no process.
#[derive(Default)]
pub struct ScriptedLauncher {
    runs: HashMap<RunId, (Vec<Event>, RunOutcome)>,
    play: Option<Box<Play>>,
    endless: HashSet<RunId>,
}

type Play = dyn Fn(&Job) -> (Vec<Event>, RunOutcome) + Send + Sync;

impl ScriptedLauncher {
    /// A launcher with which every run succeeds at once, without events.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the events and the outcome of run `id`.
    #[must_use]
    pub fn with_outcome(mut self, id: RunId, events: Vec<Event>, outcome: RunOutcome) -> Self {
        self.runs.insert(id, (events, outcome));
        self
    }

    /// Sets the function that gives the events and the outcome of all other runs.
    #[must_use]
    pub fn with_default_outcome(
        mut self,
        play: impl Fn(&Job) -> (Vec<Event>, RunOutcome) + Send + Sync + 'static,
    ) -> Self {
        self.play = Some(Box::new(play));
        self
    }

    /// Makes run `id` continue until it is stopped.
    #[must_use]
    pub fn endless(mut self, id: RunId) -> Self {
        self.endless.insert(id);
        self
    }
}

impl Launch for ScriptedLauncher {
    fn launch(
        &self,
        job: &Job,
        _share: CpuShare,
        stop: &AtomicBool,
        emit: &mut dyn FnMut(Event) -> Option<Pruned>,
    ) -> RunOutcome {
        if self.endless.contains(&job.id) {
            while !stop.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(1));
            }
            return RunOutcome::interrupted();
        }
        let (events, outcome) = match (self.runs.get(&job.id), &self.play) {
            (Some(scripted), _) => scripted.clone(),
            (None, Some(play)) => play(job),
            (None, None) => (Vec::new(), RunOutcome::empty(Status::Done, String::new())),
        };
        for event in events {
            let is_epoch = matches!(event, Event::Epoch(_));
            if let Some(why) = emit(event).filter(|_| is_epoch) {
                return pruned(outcome, why);
            }
        }
        outcome
    }
}

/// Returns `outcome` cut to the epoch in `why`, as of a pruned run.
fn pruned(mut outcome: RunOutcome, why: Pruned) -> RunOutcome {
    outcome.epochs.retain(|row| row.epoch <= why.info.step);
    if let Some(facts) = &mut outcome.facts {
        facts.epochs = why.info.step + 1;
        facts.final_loss = outcome.epochs.last().and_then(|row| row.train_loss);
    }
    RunOutcome {
        status: Status::Pruned,
        reason: why.reason.clone(),
        pruned: Some(why),
        ..outcome
    }
}
