//! Several machines: shares of a plan, their journals, and Slurm.
//!
//! Owns which share a run or trial belongs to, what is left of each share, how journals come together again, and the job
//! scripts. It starts no worker and writes no result: `cli` wires it to `execute` and `record`.

mod answers;
mod collect;
mod deal;
mod jobs;
mod script;
mod slurm;
mod standing;
mod state;
mod trials;

pub use crate::results::{NoShare, Share};
pub use answers::{Phase, Task};
pub use collect::{Collected, collect};
pub use deal::Deal;
pub use jobs::{Array, Jobs, JobsError, slurm_folder};
pub use script::{Scripts, array_text};
pub use slurm::{Slurm, SlurmError};
pub use standing::{Progress, Standing, classes, decisions, everything, standings};
pub use state::{is_active, is_stuck, merging, state, task_of};
pub use trials::{TooFewStudies, TrialShare};
