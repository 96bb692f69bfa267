//! The gate's own test: does it catch what it is there for, and is it silent where nothing changed?
//!
//! Owns [`Check`]: what was planted on the side after, and what the gate said of it. [`scripted`] plays runs from a script
//! through the recorder into results folders, which are then compared as `compare` compares them.

mod check;
mod error;
mod folders;
mod script;
mod scripted;

pub use check::{Check, Kind, Planted};
pub use error::SelftestError;
pub use script::{DRIFT, NOISE, OUTLIERS};
pub use scripted::{REPEATS, scripted};
