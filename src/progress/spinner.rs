//! [`Spinner`]: something that goes on and says what it does, a build.

use std::io::{self, IsTerminal};
use std::time::Instant;

use indicatif::ProgressBar;

use crate::base::units::human_seconds;

use super::bars::{REDRAW, RUNNING, style};

/// One line that tells what goes on; on a terminal it changes.
#[derive(Debug)]
pub struct Spinner {
    what: String,
    began: Instant,
    bar: Option<ProgressBar>,
}

impl Spinner {
    /// Begins `what`: "building HEAD~1 at 0150c8c".
    pub fn new(what: &str) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner();
            bar.set_style(style(RUNNING));
            bar.set_prefix(what.to_owned());
            bar.enable_steady_tick(REDRAW);
            bar
        });
        if bar.is_none() {
            eprintln!("{what} …");
        }
        Self {
            what: what.to_owned(),
            began: Instant::now(),
            bar,
        }
    }

    /// What it does at the moment.
    pub fn say(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(text.trim().to_owned());
        }
    }

    /// It went well.
    pub fn end(self) {
        self.clear();
        let time = human_seconds(self.began.elapsed().as_secs_f64());
        eprintln!("{}: done in {time}", self.what);
    }

    /// Takes it away without a word.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
