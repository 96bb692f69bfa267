//! [`Epoch`]: the batches of one epoch as an iterator.

use std::sync::Arc;

use super::queue::Pool;
use super::work::Plan;
use super::{Batch, DatasetError, Loader};

/// The batches of one epoch, in order; ends after the first error.
///
/// After the last batch, or when it is dropped, the threads end (or stay, if `persistent`).
pub struct Epoch<'a> {
    loader: &'a Loader,
    plan: Arc<Plan>,
    next: usize,
    source: Source,
}

pub(super) enum Source {
    /// In the calling thread.
    Here,
    /// By worker threads; `None` after they were returned.
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
