//! [`EventSender`]: sends events to the parent.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::ab::{EndedRun, RunName, SideMessage};
use crate::event::{Event, Job, RunEvent, RunOutcome};
use crate::progress::{RunState, stderr_tail, write_line};
use crate::results::run_sample_ms;

const PROGRESS_EVERY: Duration = Duration::from_millis(200);

/// Writes one line for every event that the parent shows.
#[derive(Debug)]
pub(super) struct EventSender<W> {
    out: W,
    state: RunState,
    last_progress: Option<Instant>,
}

impl<W: Write> EventSender<W> {
    pub(super) fn new(out: W) -> Self {
        Self {
            out,
            state: RunState::default(),
            last_progress: None,
        }
    }

    /// Sends a message. Errors are ignored: if the parent has exited, stdin is closed too, which ends this process.
    pub(super) fn send(&mut self, what: &SideMessage) {
        let _ = write_line(&mut self.out, what);
    }

    pub(super) fn pass_on(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::RunStarted { .. } => self.state = RunState::default(),
            RunEvent::Worker { event, .. } => self.hear(event),
            RunEvent::RunEnded { job, outcome } => {
                self.send(&SideMessage::Ended(ended(job, outcome)));
            }
            _ => {}
        }
    }

    fn hear(&mut self, event: &Event) {
        if let Event::Warning { message } = event {
            let message = message.clone();
            return self.send(&SideMessage::Warning { message });
        }
        self.state.handle(event);
        let is_too_soon = |last: Instant| last.elapsed() < PROGRESS_EVERY;
        if !self.last_progress.is_some_and(is_too_soon) {
            self.last_progress = Some(Instant::now());
            self.send(&SideMessage::Progress {
                text: self.state.text(),
                share: self.state.share(),
            });
        }
    }
}

fn ended(job: &Job, outcome: &RunOutcome) -> EndedRun {
    EndedRun {
        name: RunName::of(&job.spec.key, job.id),
        status: outcome.status,
        reason: outcome.reason.clone(),
        wall_s: outcome.wall_s,
        step_ms: outcome
            .times
            .as_ref()
            .map(|times| times.step_ms)
            .filter(|ms| *ms > 0.0),
        sample_ms: outcome
            .times
            .as_ref()
            .and_then(|times| run_sample_ms(&job.spec, times)),
        stderr_tail: stderr_tail(outcome)
            .into_iter()
            .map(str::to_owned)
            .collect(),
    }
}
