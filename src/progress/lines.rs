//! [`Lines`]: plain lines, one per run, for logs and pipes.

use crate::event::{Event, Job, RunEvent, RunOutcome};

use super::line::{Names, gave, last_words};
use super::search::{Tally, is_counted};

/// Writes a line whenever a run ends.
#[derive(Debug)]
pub(super) struct Lines {
    names: Names,
    search: Option<Tally>,
    runs: usize,
    ended: usize,
}

impl Lines {
    pub(super) fn new(names: Names, search: Option<Tally>) -> Self {
        Self {
            names,
            search,
            runs: 0,
            ended: 0,
        }
    }

    pub(super) fn see(&mut self, event: &RunEvent<'_>) {
        match event {
            RunEvent::Start { runs, .. } => {
                self.runs = *runs;
                self.search.iter_mut().for_each(|tally| tally.start(*runs));
            }
            RunEvent::RunStarted { .. } => self.search.iter_mut().for_each(Tally::begin),
            RunEvent::Worker {
                event: Event::Warning { message },
                ..
            } => eprintln!("warning: {message}"),
            RunEvent::RunEnded { job, outcome } => eprintln!("{}", self.end(job, outcome)),
            RunEvent::Kept {
                job, status, info, ..
            } => {
                let tally = self.search.iter_mut();
                tally.for_each(|tally| tally.keep(job, *status, info));
            }
            RunEvent::Stopping { reason, running } => eprintln!("{}", reason.sentence(*running)),
            RunEvent::End { .. } => self.say_what_was_kept(),
            RunEvent::Worker { .. } | RunEvent::Tick => {}
        }
    }

    /// `[ 3/20] trial=7 lr=0.003  done  best_loss 0.1180  in 4.1 s`, and last words below it.
    fn end(&mut self, job: &Job, outcome: &RunOutcome) -> String {
        self.ended += 1;
        let (name, status) = (self.names.name(job), outcome.status);
        let mut lines = match &mut self.search {
            None => vec![format!(
                "{} {name}  {status}  {}",
                place(self.ended, self.runs),
                gave(outcome)
            )],
            Some(tally) => {
                tally.end(job, status);
                let (ended, of) = tally.place();
                let place = if is_counted(job) {
                    place(ended, of)
                } else {
                    // It is none of the trials that are counted.
                    " ".repeat(place(of, of).len())
                };
                vec![format!(
                    "{place} {name}  {status}  {}",
                    tally.gave(job, outcome)
                )]
            }
        };
        lines.extend(last_words(outcome).iter().map(|line| format!("    {line}")));
        lines.join("\n")
    }

    fn say_what_was_kept(&self) {
        let kept = self.search.as_ref().and_then(Tally::kept_line);
        if let Some(line) = kept {
            eprintln!("{line}");
        }
    }
}

/// `[ 3/20]`
fn place(ended: usize, of: usize) -> String {
    let width = of.to_string().len();
    format!("[{ended:>width$}/{of}]")
}
