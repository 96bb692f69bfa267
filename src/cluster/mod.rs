//! Runs a plan on several machines: shards of the plan, their journals, and Slurm.
//!
//! Assigns runs and trials to shards, counts the remaining runs of each shard, merges journals, and writes job scripts.
//! Starts no worker and writes no result: `cli` connects it with `execute` and `record`.

mod answers;
mod collect;
mod jobs;
mod run_numbers;
mod script;
mod shard_progress;
pub mod slurm;
mod state;

pub use crate::results::{InvalidShare, Share};
pub use answers::{Phase, Task};
pub use collect::{CollectSummary, collect};
pub use jobs::{JobArray, Jobs, slurm_folder};
pub use run_numbers::RunNumbers;
pub use script::{Scripts, array_text};
pub use shard_progress::{
    ShardProgress, decisions, foreign_numeric_classes, last_modified, read_with_journals,
    shards_progress,
};
pub use slurm::SlurmError;
pub use state::{is_active, is_stuck, merge_task, state, task_of};
