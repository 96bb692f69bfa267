//! [`Lines`]: plain lines, one per run, for logs and pipes.

use crate::event::{Event, RunEvent};

use super::line::{Names, gave, last_words};

/// Writes a line whenever a run ends.
#[derive(Debug)]
pub(super) struct Lines {
    names: Names,
    runs: usize,
    ended: usize,
}

impl Lines {
    pub(super) fn new(names: Names) -> Self {
        Self {
            names,
            runs: 0,
            ended: 0,
        }
    }

    pub(super) fn see(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Start { runs, .. } => self.runs = *runs,
            RunEvent::Worker {
                event: Event::Warning { message },
                ..
            } => eprintln!("warning: {message}"),
            RunEvent::RunEnded { job, outcome } => {
                self.ended += 1;
                let width = self.runs.to_string().len();
                eprintln!(
                    "[{:>width$}/{}] {}  {}  {}",
                    self.ended,
                    self.runs,
                    self.names.name(job),
                    outcome.status,
                    gave(outcome)
                );
                for line in last_words(outcome) {
                    eprintln!("    {line}");
                }
            }
            RunEvent::Stopping { reason, running } => eprintln!("{}", reason.sentence(*running)),
            _ => {}
        }
    }
}
