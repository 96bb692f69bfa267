//! Proposes cells and reads events: samplers, pruners, and the source of a search's runs.
//!
//! Everything that decides is a pure function of the search's seed and of the trials that it may know: `sampler` of where
//! to look next, `pruner` of whether a trial goes on. `Source` is what `execute` runs: it finds the trials that
//! are kept already, and waits for those that a decision needs.

pub mod pruner;
pub mod sampler;

mod finale;
mod memory;
mod record;
mod settle;
mod source;
mod study;
mod values;

pub use record::{Ending, Record};
pub use source::{Search, SearchOptions};

#[cfg(test)]
mod tests;
