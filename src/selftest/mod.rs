//! Self-test of the regression gate: does it find planted differences, and report nothing if nothing changed?
//!
//! A [`Check`] holds the planted difference and the gate's violations. [`scripted()`] writes scripted runs through the
//! recorder into results folders; [`real()`] trains a small network in turns. Both compare the folders as `compare` does.

mod check;
mod error;
mod plant;
mod real;
mod script;
mod scripted;

pub use check::{Check, Kind, Planted};
pub use error::SelftestError;
pub use real::real;
pub use script::{DRIFT, NOISE, OUTLIERS};
pub use scripted::scripted;

/// Seeds of every cell: the fewest with which a loss can be called worse.
pub const SEEDS: [u64; 6] = [1, 2, 3, 4, 5, 6];
/// Number of blocks.
pub const REPEATS: usize = 2;
/// Runs of every cell on every side: enough for a verdict on each of four cells.
pub const RUNS: usize = SEEDS.len() * REPEATS;
