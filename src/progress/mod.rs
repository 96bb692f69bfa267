//! Run events → the terminal: bars where there is one, plain lines elsewhere. The only room that draws.
//!
//! Owns [`Progress`], a sink of [`RunEvent`]s. It writes to standard error, keeps no result and decides nothing.

mod bars;
mod eta;
mod line;
mod lines;
mod pairs;
mod run_state;
mod spinner;
mod summary;

pub use line::last_words;
pub use pairs::{PairEnd, PairName, Pairs, PairsShape};
pub use run_state::RunState;
pub use spinner::Spinner;
pub use summary::Ending;

use std::io::{self, IsTerminal};

use crate::event::RunEvent;

use bars::Bars;
use line::Names;
use lines::Lines;

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
        let names = Names::new(keys);
        Self(if io::stderr().is_terminal() {
            Kind::Bars(Box::new(Bars::new(names)))
        } else {
            Kind::Lines(Box::new(Lines::new(names)))
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
