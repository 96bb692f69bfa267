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
mod lines;
mod pairs;
mod run_state;
mod search;
mod spinner;
mod summary;

pub use detail::{Detail, Show};
pub use json_lines::EVENTS_VERSION;
pub use line::last_words;
pub use pairs::{PairEnd, PairName, Pairs, PairsShape};
pub use run_state::RunState;
pub use spinner::Spinner;
pub use summary::Ending;

use std::io::{self, IsTerminal, Stdout};

use terminal_size::terminal_size_of;

use crate::base::text::wrapped;
use crate::event::{Job, RunEvent};
use crate::plan::search::SearchSpec;

use bars::Bars;
use eta::Eta;
use json_lines::JsonLines;
use line::Names;
use lines::Lines;
use search::Tally;

/// Displays the progress of runs.
#[derive(Debug)]
pub struct Progress {
    people: Kind,
    programs: Option<JsonLines<Stdout>>,
}

#[derive(Debug)]
enum Kind {
    Bars(Box<Bars>),
    Lines(Box<Lines>),
}

impl Progress {
    /// Bars if standard error is a terminal, else one line per run; JSON lines if requested. What the keys of all jobs have
    /// in common is not repeated.
    pub fn new(jobs: &[Job], show: Show) -> Self {
        let names = Names::new(jobs.iter().map(|job| job.spec.key.as_str()));
        Self::on_this_terminal(names, Eta::of(jobs), None, show)
    }

    /// The same for a search of `studies` studies, whose trials are known only when they start.
    pub fn searching(search: &SearchSpec, studies: usize, show: Show) -> Self {
        let tally = Some(Tally::new(search, studies));
        Self::on_this_terminal(Names::default(), Eta::default(), tally, show)
    }

    fn on_this_terminal(names: Names, eta: Eta, search: Option<Tally>, show: Show) -> Self {
        let detail = show.detail;
        let draws = io::stderr().is_terminal() && detail > Detail::Quiet;
        Self {
            people: if draws {
                Kind::Bars(Box::new(Bars::new(names, eta, search, detail)))
            } else {
                Kind::Lines(Box::new(Lines::new(names, search, detail)))
            },
            programs: show.events.then(|| JsonLines::new(io::stdout())),
        }
    }

    /// Displays an event.
    pub fn see(&mut self, event: &RunEvent<'_>) {
        match &mut self.people {
            Kind::Bars(bars) => bars.see(event),
            Kind::Lines(lines) => lines.see(event),
        }
        if let Some(lines) = &mut self.programs {
            lines.see(event);
        }
    }

    /// Displays that there is nothing to run.
    pub fn see_nothing_to_do(&mut self, slots: usize) {
        self.see(&RunEvent::Start { runs: 0, slots });
        self.see(&RunEvent::End { left: 0 });
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

/// Wraps a line to the terminal's width, or 80 columns elsewhere; continuation lines are indented.
pub fn fitted(line: &str, indent: usize) -> String {
    let width = terminal_size_of(io::stderr()).map_or(80, |(columns, _)| columns.0.into());
    wrapped(line, width, indent)
}
