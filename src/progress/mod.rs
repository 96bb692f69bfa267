//! Displays run events: progress bars on a terminal, plain lines elsewhere, and JSON lines for programs. The only module
//! that draws.
//!
//! [`Progress`] receives [`RunEvent`]s. It writes to standard error for people and to standard output for programs, keeps no
//! results and makes no decisions.

mod bars;
mod detail;
mod eta;
mod json_lines;
mod line;
mod pairs;
mod people;
mod run_state;
mod search;
mod spinner;
mod summary;

pub use detail::{Detail, Show};
pub use json_lines::{EVENTS_VERSION, write_line};
pub use line::{counts, fitted, stderr_tail};
pub use pairs::{Ended, Pairs, PairsShape, RunName};
pub use people::ProgressSnapshot;
pub use run_state::{EpochLoss, RunState};
pub use spinner::Spinner;
pub use summary::Ending;

use std::io::{self, Stdout};

use crate::event::{Job, RunEvent, RunOutcome};
use crate::plan::search::SearchSpec;

use eta::Eta;
use json_lines::JsonLines;
use line::Names;
use people::HumanOutput;
use search::Tally;

/// Displays the progress of runs.
#[derive(Debug)]
pub struct Progress {
    people: HumanOutput,
    programs: Option<JsonLines<Stdout>>,
}

impl Progress {
    /// Bars if standard error is a terminal, else one line per run; JSON lines if requested. Parts that the keys of all
    /// jobs share are left out.
    pub fn new(jobs: &[Job], show: Show) -> Self {
        let names = Names::new(jobs.iter().map(|job| job.spec.key.as_str()));
        Self::of(
            HumanOutput::new(names, Eta::of(jobs), None, show.detail),
            show,
        )
    }

    /// Progress of a search of `studies` studies, whose trials are known only when they start.
    pub fn searching(search: &SearchSpec, studies: usize, show: Show) -> Self {
        let (names, eta, tally) = (
            Names::default(),
            Eta::default(),
            Tally::new(search, studies),
        );
        Self::of(HumanOutput::new(names, eta, Some(tally), show.detail), show)
    }

    fn of(people: HumanOutput, show: Show) -> Self {
        let programs = show.events.then(|| JsonLines::new(io::stdout()));
        Self { people, programs }
    }

    /// Displays an event.
    pub fn handle(&mut self, event: &RunEvent<'_>) {
        self.people.handle(event);
        if let Some(lines) = &mut self.programs {
            lines.handle(event);
        }
    }

    /// The current state of all runs.
    pub fn now(&self) -> ProgressSnapshot<'_> {
        self.people.now()
    }

    /// The name of a run; during its execution, also its progress.
    pub fn run(&self, job: &Job) -> (String, Option<&RunState>) {
        self.people.run(job)
    }

    /// The result of a run in one line.
    pub fn result_text(&self, job: &Job, outcome: &RunOutcome) -> String {
        self.people.result_text(job, outcome)
    }

    /// Displays that there is nothing to run.
    pub fn see_nothing_to_do(&mut self, slots: usize) {
        self.handle(&RunEvent::Start { runs: 0, slots });
        self.handle(&RunEvent::End { left: 0 });
    }

    /// Displays the summary.
    pub fn end(&mut self, ending: &Ending<'_>, detail: Detail) {
        if let Some(lines) = &mut self.programs {
            lines.write(&ending.line());
        }
        if detail > Detail::Quiet {
            eprint!("{}", ending.text());
        } else if ending.ended == 0 {
            // Runs that failed earlier are kept, and determine the exit code.
            eprint!("{}", ending.failed_text());
        }
    }
}
