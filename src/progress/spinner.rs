//! [`Spinner`]: a line that shows a long operation, such as a build.

use std::time::Instant;

use indicatif::ProgressBar;

use crate::base::units::human_seconds;

use super::bars::as_spinner_line;

/// A line that names a long operation; on a terminal it has a spinner and changing text.
#[derive(Debug)]
pub struct Spinner {
    what: String,
    began: Instant,
    bar: ProgressBar,
}

impl Spinner {
    /// Shows the line; `what` says what is done: "building HEAD~1 at 0150c8c".
    pub fn new(what: &str) -> Self {
        let bar = as_spinner_line(ProgressBar::new_spinner(), what.to_owned());
        if bar.is_hidden() {
            eprintln!("{what} …");
        }
        Self {
            what: what.to_owned(),
            began: Instant::now(),
            bar,
        }
    }

    /// Shows what the operation is doing now.
    pub fn say(&self, text: &str) {
        self.bar.set_message(text.trim().to_owned());
    }

    /// Replaces the line by one that says that the operation has succeeded, and how long it took.
    pub fn end(self) {
        self.clear();
        let time = human_seconds(self.began.elapsed().as_secs_f64());
        eprintln!("{}: done in {time}", self.what);
    }

    /// Removes the line from a terminal.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
