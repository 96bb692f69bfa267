//! Turns run events, the plan and the store into results files.
//!
//! [`Recorder`] receives run events, stores every finished run at once, and writes the CSV files from the store every ten
//! seconds, on interruption and at the end (`steps.csv`, `ops.csv`, `trace/` and `tensorboard/` only at the end). It prints
//! nothing and starts no runs.

mod checkpoints;
mod closer;
mod disagreement;
mod failures;
mod plan_file;
mod recorder;
mod reproduce;
mod row;
mod stale;
#[cfg(test)]
mod tests;
mod trials;
mod view;

pub use disagreement::{Disagreement, check_equal_facts};
pub use recorder::{RecordError, Recorder};
pub use reproduce::first_cell_not_in_store;
pub use stale::Staleness;
pub use trials::TrialRow;
