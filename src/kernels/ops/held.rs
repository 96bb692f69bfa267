//! [`Held`]: device memory that is returned to its device when dropped.

use std::ops::Deref;

use crate::device::{Backend, Buffer};

/// A buffer that is returned by [`Backend::recycle`] when it is dropped.
///
/// It holds results of operations and what operations save for backward.
#[derive(Debug)]
pub struct Held<D: Backend>(Buffer<D>);

impl<D: Backend> Held<D> {
    /// Holds `buffer`.
    pub fn new(buffer: Buffer<D>) -> Self {
        Self(buffer)
    }

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
