//! Displays run events: progress bars on a terminal, plain lines elsewhere, and JSON lines for programs. No other
//! module draws.
//!
//! [`Progress`] receives [`RunEvent`](crate::event::RunEvent)s. It writes to standard error for people and to standard
//! output for programs. It keeps no results and makes no decisions.

mod bars;
mod detail;
mod eta;
mod json_lines;
mod line;
mod pairs;
mod run_state;
mod runs;
mod search;
mod spinner;
mod summary;

pub use detail::Verbosity;
pub use json_lines::{EVENTS_VERSION, write_line};
pub use line::{nonzero_counts_text, stderr_tail, wrap_to_terminal};
pub use pairs::{EndedRun, PairTotals, PairsProgress, RunName};
pub use run_state::{EpochLoss, RunState};
pub use runs::{Progress, ProgressSnapshot};
pub use spinner::Spinner;
pub use summary::RunSummary;
