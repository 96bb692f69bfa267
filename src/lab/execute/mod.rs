//! A source of runs → worker processes → one stream of [`RunEvent`](crate::event::RunEvent)s.
//!
//! Owns which run starts when (`schedule`), the worker process and its limits (`worker`; the first one may start `ahead` of
//! its order), and what its end means (`outcome`). It knows no progress bar and no file: whoever calls [`run`] hands in a
//! closure that sees every event.
//! What has to run at all is `resume`'s answer, from the plan and what the store holds.

mod ahead;
mod estimate;
mod order;
mod outcome;
mod pipes;
mod resume;
mod schedule;
mod scripted;
mod source;
mod worker;

pub use ahead::WorkerAhead;
pub use estimate::{Basis, Estimate, Estimator, Expected};
pub use order::in_block_order;
pub use resume::{Decision, ResumeOptions, Why, decide};
pub use schedule::{Options, Sink, Summary, run};
pub use scripted::Scripted;
pub use source::{Listed, Next, Source};
pub use worker::WorkerProgram;

use std::sync::atomic::AtomicBool;

use crate::event::{Event, Job, RunOutcome, Verdict};

/// How one run is done: by a worker process, or by a script in tests.
pub trait Launch: Sync {
    /// Does `job` with `threads` threads, hands every event of the worker to `emit`, and answers with the end.
    ///
    /// Where the job awaits verdicts, what `emit` answers to [`Event::Epoch`] decides whether the run goes on; to everything
    /// else it answers [`Verdict::GoOn`]. Ends early, with [`RunOutcome::interrupted`], once `stop` is set.
    fn launch(
        &self,
        job: &Job,
        threads: usize,
        stop: &AtomicBool,
        emit: &mut dyn FnMut(Event) -> Verdict,
    ) -> RunOutcome;
}

#[cfg(all(test, unix))]
mod tests;
