//! [`Loader`], and [`Epoch`]: the batches of one epoch as an iterator.

use std::sync::{Arc, Mutex, PoisonError};

use super::queue::Pool;
use super::times::{Clock, LoaderTimes, MadeBatch};
use super::work::{Plan, Work};
use super::{Batch, LoaderOptions};
use crate::datasets::{Dataset, DatasetError};

/// The batches of one epoch, in order; ends after the first error.
///
/// After the last batch, or when it is dropped, the threads end (or are kept for the next epoch, if `persistent`).
pub struct Epoch<'a> {
    loader: &'a Loader,
    plan: Arc<Plan>,
    next: usize,
    source: Source,
}

pub(super) enum Source {
    /// The calling thread makes the batches.
    Here,
    /// Worker threads make the batches; `None` after the threads were returned.
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
    work: Arc<Work>,
    pool: Mutex<Option<Pool>>,
    clock: Arc<Clock>,
}

impl Loader {
    /// A loader over `rows` (a split) of `dataset`. Threads are started only by [`Loader::epoch`].
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
            work: Arc::new(Work::new(dataset, rows, options)),
            pool: Mutex::new(None),
            clock: Arc::default(),
        })
    }

    /// A loader of the same batches with separate threads and times, which records when each batch was made.
    #[must_use]
    pub fn traced(&self) -> Self {
        Self {
            work: Arc::clone(&self.work),
            pool: Mutex::new(None),
            clock: Arc::new(Clock::keeping_batches()),
        }
    }

    /// The batches of epoch `epoch`, in order. Dropping it midway stops the threads (or keeps them idle, if persistent).
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

    /// Times of waiting, working, starting and stopping threads since the loader was created.
    pub fn times(&self) -> LoaderTimes {
        self.clock.read()
    }

    /// Every batch of a [`Self::traced`] loader, in order of completion.
    pub fn made(&self) -> Vec<MadeBatch> {
        self.clock.made()
    }

    fn pool(&self) -> std::sync::MutexGuard<'_, Option<Pool>> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the threads for the next epoch, or ends them.
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
