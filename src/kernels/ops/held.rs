//! [`Held`]: device memory that goes back to its device when nothing holds it any more.

use std::ops::Deref;

use crate::device::{Backend, Buffer};

/// A buffer whose memory is handed back by [`Backend::recycle`] when it is dropped.
///
/// Results of operations are held by it, and so is what an operation keeps for its backward.
#[derive(Debug)]
pub struct Held<D: Backend>(Buffer<D>);

impl<D: Backend> Held<D> {
    /// Holds `buffer`.
    pub fn new(buffer: Buffer<D>) -> Self {
        Self(buffer)
    }

    /// The memory for writing.
    pub(super) fn buffer_mut(&mut self) -> &mut Buffer<D> {
        &mut self.0
    }
}

impl<D: Backend> Deref for Held<D> {
    type Target = Buffer<D>;

    fn deref(&self) -> &Buffer<D> {
        &self.0
    }
}

impl<D: Backend> Drop for Held<D> {
    fn drop(&mut self) {
        D::recycle(&mut self.0);
    }
}
