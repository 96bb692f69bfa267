//! One run, inside the worker process: from an [`Order`] to events.
//!
//! Owns [`run`]. `setup.rs` opens the data and builds model, optimizer and loaders; `session.rs` is the training loop,
//! `ending.rs` the evaluation after training, `epoch.rs` one pass over the data, `learner.rs` one optimizer step.
//! `evaluation.rs` evaluates the other splits, `accuracy.rs` finds their best accuracy, `assessment.rs` does the costly
//! evaluation. `stopping.rs` decides when to stop, `cut_off.rs` ends a run at its parent's request, `state.rs`,
//! `resuming.rs` and `going_on.rs` save and restore the training state of interrupted runs, `threads.rs` sets the
//! number of threads, `log.rs` collects facts and times. After all results, `extra.rs` takes steps with timed phases if
//! the device runs asynchronously, and `profile.rs` steps with timed operations; `work.rs` counts the operations of one
//! step. An order with members trains nothing: `members.rs` evaluates the mean of their predictions. The only files
//! written are the cell's checkpoints, the training state and the order's images; everything else leaves [`run`] as
//! events.

mod accuracy;
mod assessment;
mod cut_off;
mod ending;
mod ensemble;
mod epoch;
mod error;
mod evaluation;
mod extra;
mod going_on;
mod learner;
mod log;
mod members;
mod profile;
mod resuming;
mod saving;
mod session;
mod setup;
mod state;
mod steps;
mod stopping;
#[cfg(test)]
mod tests;
mod threads;
mod trained_run;
mod weights;
mod work;

use std::time::Instant;

use crate::build_info::{code_hash, code_target};
use crate::event::{Emit, Event, Order, PROTOCOL_VERSION};
use crate::ops::{self, DeviceJob, Kernels};
use crate::plan::CellSpec;
use error::TrainError;
use session::Outcome;

pub(crate) use evaluation::evaluated_splits;
pub(crate) use setup::training_features;
pub use state::lineage_and_epochs;
pub(crate) use threads::join_pool;
pub use trained_run::TrainedRun;
pub(crate) use trained_run::{CLASS_NAMES, NORMALISATION, RUN};

/// Trains the order's cell, or evaluates its members, and sends every event to `emit`, from [`Event::Hello`] to
/// [`Event::Finished`] or [`Event::Failed`]. Never panics on bad input.
///
/// If the reply to an epoch is [`Reply::Stop`](crate::event::Reply::Stop), the run ends with the current weights and
/// the results of a run of that many epochs, but without test evaluation, ensemble, checkpoint and costly evaluation.
///
/// The calling thread becomes one of the compute threads, unless it already belongs to a pool.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the order is the run's own from here on"
)]
pub fn run(order: Order<CellSpec>, emit: &mut Emit<'_>) {
    let start = Instant::now();
    let arithmetic = code_target(order.cell.train.device);
    emit(Event::Hello {
        protocol: PROTOCOL_VERSION,
        code_hash: code_hash(arithmetic),
    });
    let end = match train(&order, start, emit) {
        Ok(outcome) => Event::Finished {
            facts: Box::new(outcome.facts),
            times: Box::new(outcome.times),
        },
        Err(error) => Event::Failed {
            status: error.status(),
            reason: error.reason(&order.cell),
        },
    };
    emit(end);
}

fn train(
    order: &Order<CellSpec>,
    start: Instant,
    emit: &mut Emit<'_>,
) -> Result<Outcome, TrainError> {
    if order.protocol != PROTOCOL_VERSION {
        return Err(TrainError::Protocol(order.protocol));
    }
    let device = order.cell.train.device;
    ops::run_on(device, Job { order, start, emit })?
}

struct Job<'a> {
    order: &'a Order<CellSpec>,
    start: Instant,
    emit: &'a mut Emit<'a>,
}

impl DeviceJob for Job<'_> {
    type Output = Result<Outcome, TrainError>;

    fn run<D: Kernels>(self, device: D) -> Self::Output {
        if self.order.members.is_empty() {
            // The pool's size depends on the data, so it is made after the setup, which calls only a few kernels.
            let session = setup::set_up(&device, self.order, self.start)?;
            // Kept until the end of the run, because dropping the pool ends its threads.
            let _pool = join_pool(session.threads);
            session.train(self.emit)
        } else {
            let _pool = join_pool(self.order.cell.train.threads);
            members::evaluate(&device, self.order, self.start, self.emit)
        }
    }
}
