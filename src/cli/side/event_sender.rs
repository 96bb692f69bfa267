//! [`EventSender`]: sends events to the parent.

use std::io::Write;
use std::time::{Duration, Instant};

use crate::ab::{Ended, RunName, SideMessage};
use crate::event::{Event, Job, RunEvent, RunOutcome, RunTimes};
use crate::progress::{RunState, last_words, write_line};

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

    /// Sends a message. Errors are ignored: a parent that is gone has also closed stdin, which ends this process.
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

/// As [`crate::results::PlanFile::sample_ms`] computes it from the results.
fn sample_ms(job: &Job, times: &RunTimes) -> Option<f64> {
    let samples = (job.spec.train.batch_size * job.spec.train.accumulate) as f64;
    let is_of_command = times.is_of_command();
    let time = if times.are_told() && times.samples_per_s > 0.0 {
        1e3 / times.samples_per_s
    } else if times.step_ms > 0.0 {
        times.step_ms / samples
    } else {
        Some(1e3 * times.total_s).filter(|_| is_of_command)?
    };
    (time > 0.0).then_some(time)
}

fn ended(job: &Job, outcome: &RunOutcome) -> Ended {
    Ended {
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
            .and_then(|times| sample_ms(job, times)),
        last_words: last_words(outcome).into_iter().map(str::to_owned).collect(),
    }
}
