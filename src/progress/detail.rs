//! [`Detail`]: how much of a run is printed.

use crate::event::RunOutcome;

use super::line::{stderr_lines, stderr_tail};

/// Amount of text printed for users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Detail {
    /// Only warnings and failed runs.
    Quiet,
    /// Also a line for each finished run, and the summary.
    #[default]
    Normal,
    /// Also the start of each run, each epoch, and all standard error of the worker.
    Verbose,
}

impl Detail {
    /// The lines of a worker's standard error that are printed after its end.
    pub(super) fn words(self, outcome: &RunOutcome) -> Vec<&str> {
        if self < Self::Verbose {
            stderr_tail(outcome)
        } else {
            stderr_lines(outcome)
        }
    }
}
