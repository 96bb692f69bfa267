//! The number of threads of a run, and their thread pool.

use crate::datasets::{Features, Target};
use crate::plan::CellSpec;
use crate::tasks::{Algorithm, Workload};

/// FLOPs of a training step below which a second thread does not help: the matrix products end before another thread
/// wakes up, which takes tens of microseconds ([`crate::ops::parallel`]).
const TINY_STEP_FLOP: f64 = 2e7;

/// Number of compute threads: the cell's setting; else 1 if a training step is tiny; else, or if the FLOPs are unknown,
/// `None`, which means the run's share of the cores.
///
/// The FLOPs of a step are estimated as three forward passes of the model, as in the plan. They count as unknown for
/// losses that compare paths and for equilibrium propagation, since the model's forward FLOPs do not describe such a
/// step.
pub(super) fn compute_threads(
    cell: &CellSpec,
    features: Features,
    target: Target,
) -> Option<usize> {
    let counts = cell.train.algorithm == Algorithm::Backprop && !cell.loss.compares_paths();
    let forward = cell
        .model
        .forward_flops(features, target)
        .filter(|_| counts);
    let is_tiny =
        forward.is_some_and(|flops| 3.0 * flops * (cell.train.batch_size as f64) < TINY_STEP_FLOP);
    cell.train.threads.or(is_tiny.then_some(1))
}

/// Makes the calling thread the first of a pool of `threads` threads (rayon's default number for `None`). Returns
/// `None` if it belongs to a pool already; results do not depend on the number of threads.
///
/// Without a pool, every kernel call would wait until sleeping threads wake up.
pub(crate) fn join_pool(threads: Option<usize>) -> Option<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .use_current_thread()
        .build()
        .ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_threads_of_the_pool_live_as_long_as_the_run() {
        let finds_help = std::thread::spawn(|| {
            let _pool = super::join_pool(Some(2));
            let (sender, receiver) = std::sync::mpsc::channel();
            rayon::spawn(move || sender.send(()).unwrap());
            let long = std::time::Duration::from_mins(10);
            receiver.recv_timeout(long).is_ok()
        });
        assert!(finds_help.join().unwrap());
    }
}
