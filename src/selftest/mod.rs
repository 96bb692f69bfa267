//! The gate's own test: does it catch what it is there for, and is it silent where nothing changed?
//!
//! Owns [`Check`]: what was planted on the side after, and what the gate said of it. [`scripted()`] plays runs from a script
//! through the recorder into results folders; [`real()`] does runs of a small network in turns. Both compare the folders as
//! `compare` does.

mod check;
mod error;
mod folders;
mod real;
mod script;
mod scripted;

pub use check::{Check, Kind, Planted};
pub use error::SelftestError;
pub use real::real;
pub use script::{DRIFT, NOISE, OUTLIERS};
pub use scripted::scripted;

/// Seeds of every cell: as few as let a loss be called worse.
pub const SEEDS: [u64; 6] = [1, 2, 3, 4, 5, 6];
/// Blocks.
pub const REPEATS: usize = 2;
/// Runs of every cell on every side: enough for each of four cells to be called by itself.
pub const RUNS: usize = SEEDS.len() * REPEATS;
