//! [`Loader`] of a split, and [`Epoch`], an iterator over the batches of one epoch.

use std::sync::{Arc, Mutex, PoisonError};

use super::queue::Pool;
use super::times::{Clock, LoaderTimes, MadeBatch};
use super::work::{BatchMaker, Plan};
use super::{Batch, LoaderOptions};
use crate::datasets::{Dataset, DatasetError};

/// The batches of one epoch, in order. The iterator ends after the first error.
///
/// When it ends or is dropped, its threads end too; with `persistent` they are kept for the next epoch instead.
pub struct Epoch<'a> {
    loader: &'a Loader,
    plan: Arc<Plan>,
    next: usize,
    source: Source,
}

pub(super) enum Source {
    /// The calling thread makes the batches.
    Here,
    /// Worker threads make the batches; `None` once the epoch has ended and the threads were given back.
    Threads(Option<Pool>),
}

impl<'a> Epoch<'a> {
    pub(super) fn new(loader: &'a Loader, plan: Arc<Plan>, source: Source) -> Self {
        Self {
            loader,
            next: plan.first,
            plan,
            source,
        }
    }

    fn make(&self) -> Option<Result<Batch, DatasetError>> {
        let loader = self.loader;
        loader.clock.wait(|| match &self.source {
            Source::Here => {
                let make = || loader.work.make(&self.plan, self.next, || false);
                loader.clock.work(None, self.next, make)
            }
            Source::Threads(Some(pool)) => Some(pool.take(self.next)),
            Source::Threads(None) => None,
        })
    }

    fn finish(&mut self) {
        self.next = self.plan.batches;
        if let Source::Threads(pool) = &mut self.source
            && let Some(pool) = pool.take()
        {
            self.loader.finish(pool);
        }
    }
}

impl Iterator for Epoch<'_> {
    type Item = Result<Batch, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.plan.batches {
            self.finish();
            return None;
        }
        let made = self.make();
        self.next += 1;
        if matches!(made, Some(Err(_)) | None) {
            self.finish();
        }
        made
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.plan.batches - self.next))
    }
}

impl Drop for Epoch<'_> {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Makes the batches of a split, epoch by epoch.
pub struct Loader {
    work: Arc<BatchMaker>,
    pool: Mutex<Option<Pool>>,
    clock: Arc<Clock>,
}

impl Loader {
    /// A loader over `rows` (a split) of `dataset`. It starts threads only when [`Loader::epoch`] is called.
    ///
    /// # Errors
    /// [`DatasetError::Mismatch`] for a batch size of 0, and for `weighted` on a dataset without classes;
    /// [`DatasetError::Unwritable`] if the file for decoded images cannot be written.
    pub fn new(
        dataset: Arc<dyn Dataset>,
        rows: Vec<u32>,
        options: LoaderOptions,
    ) -> Result<Self, DatasetError> {
        if options.batch_size == 0 {
            return Err(DatasetError::Mismatch(
                "the batch size must be at least 1".to_owned(),
            ));
        }
        if options.spec.weighted && dataset.labels().is_empty() {
            return Err(DatasetError::Mismatch(
                "`loader.weighted` needs a dataset with classes".to_owned(),
            ));
        }
        if options.spec.cache {
            dataset.keep_decoded();
        }
        if options.spec.cache_file {
            dataset.keep_decoded_in_file()?;
        }
        Ok(Self {
            work: Arc::new(BatchMaker::new(dataset, rows, options)),
            pool: Mutex::new(None),
            clock: Arc::default(),
        })
    }

    /// A loader of the same batches, but with its own threads and times, which also records when each batch was made.
    #[must_use]
    pub fn traced(&self) -> Self {
        Self {
            work: Arc::clone(&self.work),
            pool: Mutex::new(None),
            clock: Arc::new(Clock::keeping_batches()),
        }
    }

    /// The batches of epoch `epoch`, in order. Dropping the iterator early stops the threads (with `persistent` they
    /// stay idle).
    pub fn epoch(&self, epoch: u64) -> Epoch<'_> {
        self.epoch_from(epoch, 0)
    }

    /// Like [`Loader::epoch`], without the first `batches` batches of the epoch.
    pub fn epoch_from(&self, epoch: u64, batches: usize) -> Epoch<'_> {
        let plan = Arc::new(self.work.plan(epoch, batches));
        let workers = self.work.options.spec.workers;
        if workers == 0 {
            return Epoch::new(self, plan, Source::Here);
        }
        let kept = self.pool().take();
        let pool = kept.unwrap_or_else(|| {
            self.clock
                .start(|| Pool::start(workers, &self.work, &self.clock))
        });
        pool.begin(Arc::clone(&plan));
        Epoch::new(self, plan, Source::Threads(Some(pool)))
    }

    /// Times since the loader was created: waiting for batches, making batches, starting and stopping threads.
    pub fn times(&self) -> LoaderTimes {
        self.clock.read()
    }

    /// When each batch was made, in order of completion; empty unless the loader is [`Self::traced`].
    pub fn made(&self) -> Vec<MadeBatch> {
        self.clock.made()
    }

    fn pool(&self) -> std::sync::MutexGuard<'_, Option<Pool>> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the threads for the next epoch if they are `persistent`, else ends them.
    fn finish(&self, pool: Pool) {
        if self.work.options.spec.persistent {
            pool.abandon();
            *self.pool() = Some(pool);
        } else {
            self.clock.stop(|| drop(pool));
        }
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        if let Some(pool) = self.pool().take() {
            self.clock.stop(|| drop(pool));
        }
    }
}
