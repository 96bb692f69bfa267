//! Run events + plan + store → results files.
//!
//! Owns [`Recorder`], the sink that keeps every finished run in the store at once and writes the CSV files, their view,
//! every ten seconds, on interruption and at the end (`steps.csv`, `ops.csv`, `trace/` and `tensorboard/` only
//! at the end). It draws nothing and starts nothing.

mod checkpoints;
mod closer;
mod failures;
mod plan_file;
mod recorder;
mod row;
#[cfg(test)]
mod tests;
mod trials;
mod view;

pub use plan_file::spec_difference;
pub use recorder::{RecordError, Recorder};
pub use row::{Disagreement, agree};
pub use trials::TrialRow;
pub use view::View;
