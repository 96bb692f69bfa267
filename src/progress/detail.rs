//! [`Verbosity`]: how much `run` prints.

use crate::event::RunOutcome;

use super::line::{stderr_lines, stderr_tail};

/// How much is printed about runs; each level includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Verbosity {
    /// Warnings and failed runs.
    Quiet,
    /// A line for each finished run, and the summary.
    #[default]
    Normal,
    /// The start of each run, each epoch, and everything that workers write to standard error.
    Verbose,
}

impl Verbosity {
    /// The lines of a worker's standard error to print after the run has ended.
    pub(super) fn stderr_to_print(self, outcome: &RunOutcome) -> Vec<&str> {
        if self < Self::Verbose {
            stderr_tail(outcome)
        } else {
            stderr_lines(outcome)
        }
    }
}
