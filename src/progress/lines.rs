//! [`Lines`]: plain lines, one per run, for logs and pipes.

use crate::event::{Event, Job, RunEvent, RunOutcome};

use super::detail::{Detail, Details};
use super::fitted;
use super::line::{Names, gave};
use super::search::{Tally, is_counted};

#[derive(Debug)]
pub(super) struct Lines {
    names: Names,
    search: Option<Tally>,
    detail: Detail,
    details: Details,
    runs: usize,
    ended: usize,
}

impl Lines {
    pub(super) fn new(names: Names, search: Option<Tally>, detail: Detail) -> Self {
        Self {
            names,
            search,
            detail,
            details: Details::new(detail),
            runs: 0,
            ended: 0,
        }
    }

    pub(super) fn see(&mut self, event: &RunEvent<'_>) {
        if let Some(line) = self.details.line(event, &self.names) {
            eprintln!("{}", fitted(&line, 8));
        }
        match event {
            RunEvent::Start { runs, .. } => {
                self.runs = *runs;
                self.search.iter_mut().for_each(|tally| tally.start(*runs));
            }
            RunEvent::RunStarted { .. } => self.search.iter_mut().for_each(Tally::begin),
            RunEvent::Worker {
                event: Event::Warning { message },
                ..
            } => eprintln!("{}", fitted(&format!("warning: {message}"), 2)),
            RunEvent::RunEnded { job, outcome } => {
                let text = self.end(job, outcome);
                if self.detail > Detail::Quiet || outcome.status.is_failure() {
                    eprintln!("{text}");
                }
            }
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

    /// `[ 3/20] trial=7 lr=0.003  done  best_loss 0.1180  in 4.1 s`, with the last lines of a failed run below it.
    fn end(&mut self, job: &Job, outcome: &RunOutcome) -> String {
        self.ended += 1;
        let (name, status) = (self.names.name(job), outcome.status);
        let (place, gave) = match &mut self.search {
            None => (place(self.ended, self.runs), gave(outcome)),
            Some(tally) => {
                tally.end(job, status);
                let (ended, of) = tally.place();
                let place = if is_counted(job) {
                    place(ended, of)
                } else {
                    // It does not count as a trial.
                    " ".repeat(place(of, of).len())
                };
                (place, tally.gave(job, outcome))
            }
        };
        let line = format!("{place} {name}  {status}  {gave}");
        let mut lines = vec![fitted(&line, place.len() + 1)];
        let words = self.detail.words(outcome);
        lines.extend(words.iter().map(|line| format!("    {line}")));
        lines.join("\n")
    }

    fn say_what_was_kept(&self) {
        let kept = self.search.as_ref().and_then(Tally::kept_line);
        if let Some(line) = kept.filter(|_| self.detail > Detail::Quiet) {
            eprintln!("{line}");
        }
    }
}

/// `[ 3/20]`
fn place(ended: usize, of: usize) -> String {
    let width = of.to_string().len();
    format!("[{ended:>width$}/{of}]")
}
