//! Run events → the terminal: bars where there is one, plain lines elsewhere. The only room that draws.
//!
//! Owns [`Progress`], a sink of [`RunEvent`]s. It writes to standard error, keeps no result and decides nothing.

mod bars;
mod eta;
mod line;
mod lines;
mod pairs;
mod run_state;
mod search;
mod spinner;
mod summary;

pub use line::last_words;
pub use pairs::{PairEnd, PairName, Pairs, PairsShape};
pub use run_state::RunState;
pub use spinner::Spinner;
pub use summary::Ending;

use std::io::{self, IsTerminal};

use crate::event::RunEvent;
use crate::plan::search::SearchSpec;

use bars::Bars;
use line::Names;
use lines::Lines;
use search::Tally;

/// What is shown while runs go on.
#[derive(Debug)]
pub struct Progress(Kind);

#[derive(Debug)]
enum Kind {
    Bars(Box<Bars>),
    Lines(Box<Lines>),
}

impl Progress {
    /// Bars where standard error is a terminal, else one line per run. `keys` are those of all cells to run: what they
    /// have in common is not repeated.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a str>) -> Self {
        Self::on_this_terminal(Names::new(keys), None)
    }

    /// The same for a search of `studies` studies, whose trials become known as they begin.
    pub fn searching(search: &SearchSpec, studies: usize) -> Self {
        Self::on_this_terminal(Names::default(), Some(Tally::new(search, studies)))
    }

    fn on_this_terminal(names: Names, search: Option<Tally>) -> Self {
        Self(if io::stderr().is_terminal() {
            Kind::Bars(Box::new(Bars::new(names, search)))
        } else {
            Kind::Lines(Box::new(Lines::new(names, search)))
        })
    }

    /// Shows an event.
    pub fn see(&mut self, event: &RunEvent<'_>) {
        match &mut self.0 {
            Kind::Bars(bars) => bars.see(event),
            Kind::Lines(lines) => lines.see(event),
        }
    }
}
