//! [`SharedSliceMut`]: a slice to which several threads write, each to different values.
#![expect(
    unsafe_code,
    reason = "what tasks write lies in rows that are not contiguous, which no splitting of slices can say"
)]

use std::marker::PhantomData;
use std::ops::Range;

/// A mutable slice that several tasks write at once: each task writes values of its own, which are not contiguous.
pub(super) struct SharedSliceMut<'a> {
    start: *mut f32,
    len: usize,
    slice: PhantomData<&'a mut [f32]>,
}

// SAFETY: a `Target` itself reads and writes nothing; whoever takes a `Part` justifies its soundness.
unsafe impl Sync for SharedSliceMut<'_> {}

impl<'a> SharedSliceMut<'a> {
    pub(super) fn new(values: &'a mut [f32]) -> Self {
        Self {
            start: values.as_mut_ptr(),
            len: values.len(),
            slice: PhantomData,
        }
    }

    /// Access to the slice for one task.
    ///
    /// # Safety
    /// Pieces taken from different parts of a target that are alive at the same time must not overlap.
    pub(super) unsafe fn part(&self) -> Part<'_> {
        Part {
            start: self.start,
            len: self.len,
            slice: PhantomData,
        }
    }
}

pub(super) struct Part<'a> {
    start: *mut f32,
    len: usize,
    slice: PhantomData<&'a mut [f32]>,
}

impl Part<'_> {
    /// The values `start..start + len` of the slice.
    #[inline(always)]
    pub(super) fn piece(&mut self, start: usize, len: usize) -> &mut [f32] {
        assert!(
            start <= self.len && len <= self.len - start,
            "a piece within the result"
        );
        // SAFETY: the piece lies within the slice that the target borrows mutably for as long as this part lives; this
        // part lends one piece at a time (`&mut self`), and other parts lend none that overlap (contract of `part`).
        unsafe { std::slice::from_raw_parts_mut(self.start.add(start), len) }
    }
}

pub(super) enum StoreMode<'a> {
    /// Results, plus a bias of one value per channel if there is one, overwrite the old values.
    Replace(Option<&'a [f32]>),
    /// Results are added to the old values.
    Add,
}

impl StoreMode<'_> {
    /// Whether results are added to the old values, and the bias of the channels `channels` (empty without a bias).
    pub(super) fn adds_and_bias(&self, channels: Range<usize>) -> (bool, &[f32]) {
        match self {
            Self::Replace(Some(bias)) => (false, &bias[channels]),
            Self::Replace(None) => (false, &[]),
            Self::Add => (true, &[]),
        }
    }
}
