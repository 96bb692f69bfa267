//! Runs the jobs of a source in worker processes and reports one stream of [`RunEvent`](crate::event::RunEvent)s.
//!
//! `schedule` decides which run starts when, `worker` manages the worker process and its limits, `outcome` interprets how it
//! ended. `resume` decides from the plan and the store which runs are needed at all. The module draws no progress bars and
//! writes no files: the caller of [`run`] passes a closure that receives every event.

mod estimate;
mod line;
mod order;
mod outcome;
mod pipes;
mod precise;
mod resume;
mod schedule;
mod scripted;
mod source;
mod worker;

pub use estimate::{Estimate, EstimateBasis, Estimator, ExpectedRunTime};
pub use order::in_block_order;
pub use precise::PrecisionTracker;
pub use resume::{Decision, ResumeOptions, RunReason, decide_runs};
pub use schedule::{EventSink, Summary, run};
pub use scripted::ScriptedLauncher;
pub use source::{RunList, Source, SourceItem};
pub use worker::WorkerProgram;

use std::sync::atomic::AtomicBool;

use crate::event::{Event, Job, Pruned, RunOutcome};

/// The threads and CPU cores that a run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuShare {
    /// Threads that the run may compute with.
    pub threads: usize,
    /// The run's cores if several runs execute at the same time: first core, number of cores.
    pub cores: Option<(usize, usize)>,
}

/// Executes one run: in a worker process, or from a script in tests.
pub trait Launch: Sync {
    /// Runs `job` with `share` of the machine, passes every event of the worker to `emit`, and returns the outcome.
    ///
    /// If the job awaits verdicts, the return value of `emit` for [`Event::Epoch`] decides whether the run continues; for
    /// all other events `emit` returns `None`. Once `stop` is set, the run ends early with
    /// [`RunOutcome::interrupted`].
    fn launch(
        &self,
        job: &Job,
        share: CpuShare,
        stop: &AtomicBool,
        emit: &mut dyn FnMut(Event) -> Option<Pruned>,
    ) -> RunOutcome;
}

#[cfg(all(test, unix))]
mod tests;
