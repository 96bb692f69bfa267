//! [`Pool`]: threads that make batches ahead of training, at most `workers × prefetch` of them, delivered in order.
//!
//! ```text
//!  worker: claim the next index (waits while too far ahead) ─▶ make ─▶ deliver
//!  training:                                       take(index) (waits until delivered)
//! ```
//! The queue numbers the epochs; a batch of an earlier, abandoned epoch is dropped when a worker delivers it.

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use super::Batch;
use super::times::Clock;
use super::work::{BatchMaker, Plan};
use crate::datasets::DatasetError;

type Made = Result<Batch, DatasetError>;

/// The worker threads of a loader. Dropping the pool ends and joins the threads.
pub(super) struct Pool {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

struct Queue {
    state: Mutex<State>,
    /// Notified when a batch can be claimed, and when the queue is closed.
    claimable: Condvar,
    delivered: Condvar,
    /// Number of the current epoch. Workers that decode or augment check it before each sample, to stop work for an
    /// abandoned epoch.
    current: AtomicU64,
    /// Maximum number of batches that are claimed by workers but not yet taken by training.
    ahead: usize,
}

#[derive(Default)]
struct State {
    plan: Option<Arc<Plan>>,
    claimed: usize,
    taken: usize,
    made: BTreeMap<usize, Made>,
    is_closed: bool,
    /// Why a thread could not be started; `None` if all were started.
    failure: Option<DatasetError>,
}

struct Job {
    plan: Arc<Plan>,
    index: usize,
    number: u64,
}

impl Pool {
    pub(super) fn start(workers: usize, work: &Arc<BatchMaker>, clock: &Arc<Clock>) -> Self {
        let queue = Arc::new(Queue {
            state: Mutex::default(),
            claimable: Condvar::new(),
            delivered: Condvar::new(),
            current: AtomicU64::new(0),
            ahead: workers * work.options.spec.prefetch.max(1),
        });
        let mut threads = Vec::with_capacity(workers);
        for worker in 0..workers {
            let (queue, work, clock) = (Arc::clone(&queue), Arc::clone(work), Arc::clone(clock));
            let builder = Builder::new().name(format!("loader-{worker}"));
            let thread = builder.spawn({
                let queue = Arc::clone(&queue);
                move || queue.serve(worker, &work, &clock)
            });
            match thread {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    queue.state().failure = Some(DatasetError::Mismatch(format!(
                        "cannot start loader worker {} of {workers}: {error}",
                        worker + 1
                    )));
                    break;
                }
            }
        }
        Self { queue, threads }
    }

    /// Lets the workers make the batches of `plan`.
    pub(super) fn begin(&self, plan: Arc<Plan>) {
        self.queue.reset(Some(plan));
    }

    /// Abandons the rest of the epoch; the threads wait for the next epoch.
    pub(super) fn abandon(&self) {
        self.queue.reset(None);
    }

    /// Waits for batch `index` and returns it. Indices must be taken in order.
    pub(super) fn take(&self, index: usize) -> Made {
        self.queue.take(index)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.queue.reset(None);
        self.queue.state().is_closed = true;
        self.queue.claimable.notify_all();
        for thread in self.threads.drain(..) {
            // The result can be ignored, because workers catch their own panics.
            drop(thread.join());
        }
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reset(&self, plan: Option<Arc<Plan>>) {
        let mut state = self.state();
        self.current.fetch_add(1, Ordering::Relaxed);
        let first = plan.as_ref().map_or(0, |plan| plan.first);
        state.plan = plan;
        state.claimed = first;
        state.taken = first;
        state.made.clear();
        drop(state);
        self.claimable.notify_all();
    }

    fn serve(&self, worker: usize, work: &BatchMaker, clock: &Clock) {
        while let Some(job) = self.claim() {
            let is_abandoned = || self.current.load(Ordering::Relaxed) != job.number;
            let make = || {
                let make = || work.make(&job.plan, job.index, is_abandoned);
                clock.work(Some(worker), job.index, make)
            };
            let made = catch_unwind(AssertUnwindSafe(make))
                .unwrap_or_else(|panic| Some(Err(DatasetError::Panicked(words(&*panic)))));
            if let Some(made) = made {
                self.deliver(&job, made);
            }
        }
    }

    fn claim(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(plan) = &state.plan
                && state.claimed < plan.batches
                && state.claimed < state.taken + self.ahead
            {
                let plan = Arc::clone(plan);
                let index = state.claimed;
                state.claimed += 1;
                let number = self.current.load(Ordering::Relaxed);
                return Some(Job {
                    plan,
                    index,
                    number,
                });
            }
            state = self
                .claimable
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn deliver(&self, job: &Job, made: Made) {
        let mut state = self.state();
        if self.current.load(Ordering::Relaxed) == job.number {
            state.made.insert(job.index, made);
            self.delivered.notify_one();
        }
    }

    fn take(&self, index: usize) -> Made {
        let mut state = self.state();
        loop {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            if let Some(made) = state.made.remove(&index) {
                state.taken = index + 1;
                drop(state);
                self.claimable.notify_one();
                return made;
            }
            state = self
                .delivered
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The message of a panic as text.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a message".to_owned())
}
