//! Hyperparameter search: samplers, pruners, and the source of a search's runs.
//!
//! `sampler` proposes points, `pruner` ends trials. Both are pure functions of the search's seed and of the earlier
//! trials that `search.lag` lets them use. `execute` runs the trials of [`Search`], which reuses stored trials and
//! waits for those that a decision depends on.

pub mod pruner;
pub mod sampler;

mod follow_ups;
mod memory;
mod record;
mod settle;
mod shares;
mod source;
mod study;
mod values;

pub use record::{TrialRecord, TrialResult};
pub use shares::{check_shares, share_of_trial};
pub use source::{Search, SearchOptions};

#[cfg(test)]
mod tests;
