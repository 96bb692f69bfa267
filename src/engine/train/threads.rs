//! How many threads a run computes with, and the pool that they are.

use crate::datasets::{Features, Target};
use crate::plan::CellSpec;
use crate::tasks::Algorithm;

/// Floating-point operations of a step below which a second thread is of no use: its products are done before another
/// thread is awake, which takes tens of microseconds ([`crate::ops::parallel`]).
const TINY_STEP_FLOP: f64 = 2e7;

/// What the cell asks for; else one thread where its step is tiny, and `None`, the run's share of the cores, where it is
/// not, or where nobody knows.
///
/// A step counts as three forward passes of the model, as the plan counts it. Losses between paths and the iterations
/// of an equilibrium are work that a model's forward pass does not show.
pub(super) fn wanted(cell: &CellSpec, features: Features, target: Target) -> Option<usize> {
    let counts = cell.train.algorithm == Algorithm::Backprop && !cell.loss.compares_paths();
    let forward = cell
        .model
        .forward_flops(features, target)
        .filter(|_| counts);
    let is_tiny =
        forward.is_some_and(|flops| 3.0 * flops * (cell.train.batch_size as f64) < TINY_STEP_FLOP);
    cell.train.threads.or(is_tiny.then_some(1))
}

/// Makes this thread the first of a pool of `threads` (of rayon's default number without one).
///
/// Kernels called from outside a pool pay a wake-up of sleeping threads at every call. A thread that is already in a
/// pool stays there: results do not depend on the number of threads.
pub(super) fn join_pool(threads: Option<usize>) -> Option<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .use_current_thread()
        .build()
        .ok()
}
