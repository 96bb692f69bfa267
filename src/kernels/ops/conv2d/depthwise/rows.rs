//! The inner loops of a depthwise convolution: one vector of channels at a time, for up to eight columns.
//!
//! Bounds are checked once per block of columns.
#![expect(
    unsafe_code,
    reason = "vectors are read and written through pointers to channels, whose bounds a block has checked"
)]

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::plan::{Block, Plan};
use crate::ops::simd::f32_lanes;

/// Computes some target rows according to `plan`: every value is the sum over its taps of source times weight, plus
/// bias.
pub(super) struct Rows<'a> {
    pub(super) plan: &'a Plan,
    pub(super) source: &'a [f32],
    /// Weight, `(kh, kw, C)`.
    pub(super) weight: &'a [f32],
    /// Index of the first row of `target` among the rows of the whole batch.
    pub(super) first: usize,
    pub(super) target: &'a mut [f32],
    /// One value per channel; empty without a bias.
    pub(super) bias: &'a [f32],
    /// Whether sums are added to the old values of `target` instead of overwriting them.
    pub(super) adds: bool,
}

impl WithSimd for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let target = std::mem::take(&mut self.target);
        let rows = target.chunks_exact_mut(self.plan.target_row);
        for (row, target) in rows.enumerate() {
            let (blocks, first) = self.plan.row(self.first + row);
            let source = &self.source[first..];
            for block in blocks {
                match block.columns {
                    8 => self.block::<S, 8>(simd, block, source, target),
                    4 => self.block::<S, 4>(simd, block, source, target),
                    2 => self.block::<S, 2>(simd, block, source, target),
                    _ => self.block::<S, 1>(simd, block, source, target),
                }
            }
        }
    }
}

impl Rows<'_> {
    #[inline(always)]
    fn block<S: Simd, const N: usize>(
        &self,
        simd: S,
        block: &Block,
        source: &[f32],
        target: &mut [f32],
    ) {
        let channels = self.plan.channels;
        check::<N>(self.plan, block, source, target, self.weight);
        assert!(
            self.bias.is_empty() || self.bias.len() == channels,
            "a bias"
        );
        let whole = channels / S::F32_LANES * S::F32_LANES;
        for channel in (0..whole).step_by(S::F32_LANES) {
            // SAFETY: a whole vector of channels remains; `check` has checked the bounds.
            unsafe { self.vector::<S, N>(simd, block, source, target, channel, S::F32_LANES) };
        }
        if whole == channels {
            return;
        }
        let (channel, count) = if channels > S::F32_LANES && !self.adds {
            // A whole vector that ends with the last channel. It may overlap the previous vector and write the same
            // values twice; a partial vector would be slower.
            (channels - S::F32_LANES, S::F32_LANES)
        } else {
            (whole, channels - whole)
        };
        // SAFETY: `count` channels remain from `channel` on; `check` has checked the bounds.
        unsafe { self.vector::<S, N>(simd, block, source, target, channel, count) };
    }

    /// Computes `count` channels (at most one vector) of all columns of a block.
    ///
    /// # Safety
    /// The channels exist, and the block, its sources and targets passed [`check`].
    #[inline(always)]
    unsafe fn vector<S: Simd, const N: usize>(
        &self,
        simd: S,
        block: &Block,
        source: &[f32],
        target: &mut [f32],
        channel: usize,
        count: usize,
    ) {
        let start = match self.bias.get(channel..channel + count) {
            // SAFETY: the slice has `count` values.
            Some(bias) => unsafe { load(simd, bias.as_ptr(), count) },
            None => simd.splat_f32s(0.0),
        };
        let mut sums = [start; N];
        for tap in &block.taps {
            let from = source.as_ptr().wrapping_add(tap.source + channel);
            let weight = self.weight.as_ptr().wrapping_add(tap.weight + channel);
            // SAFETY: guaranteed by the caller.
            let weight = unsafe { load(simd, weight, count) };
            for (column, sum) in sums.iter_mut().enumerate() {
                let from = from.wrapping_add(column * self.plan.source_step);
                // SAFETY: guaranteed by the caller.
                *sum = simd.mul_add_e_f32s(unsafe { load(simd, from, count) }, weight, *sum);
            }
        }
        let to = target.as_mut_ptr().wrapping_add(block.target + channel);
        for (column, sum) in sums.into_iter().enumerate() {
            let to = to.wrapping_add(column * self.plan.target_step);
            // SAFETY: guaranteed by the caller.
            unsafe {
                let sum = if self.adds {
                    simd.add_f32s(load(simd, to, count), sum)
                } else {
                    sum
                };
                store(simd, to, count, sum);
            }
        }
    }
}

/// Number of values that the sums of one tap take in [`WeightSums`]: the channels, rounded up to whole vectors.
pub(super) fn padded(channels: usize) -> usize {
    channels.next_multiple_of(f32_lanes())
}

/// Adds the weight's gradient from some rows of results to `sums: (kh, kw, C')`, with C' from [`padded`]. The last
/// vector of a tap holds the last channels; if the channels are not whole vectors, it repeats some of the vector
/// before, or, if there is none, ends with zeros.
pub(super) struct WeightSums<'a> {
    pub(super) plan: &'a Plan,
    pub(super) source: &'a [f32],
    /// Gradient of all results of the batch.
    pub(super) grad: &'a [f32],
    /// The rows of results to sum, numbered over the whole batch.
    pub(super) rows: Range<usize>,
    pub(super) sums: &'a mut [f32],
}

impl WithSimd for WeightSums<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        for row in self.rows.clone() {
            let (blocks, first) = self.plan.row(row);
            let source = &self.source[first..];
            let grad = &self.grad[row * self.plan.target_row..][..self.plan.target_row];
            for block in blocks {
                match block.columns {
                    8 => self.block::<S, 8>(simd, block, source, grad),
                    4 => self.block::<S, 4>(simd, block, source, grad),
                    2 => self.block::<S, 2>(simd, block, source, grad),
                    _ => self.block::<S, 1>(simd, block, source, grad),
                }
            }
        }
    }
}

impl WeightSums<'_> {
    #[inline(always)]
    fn block<S: Simd, const N: usize>(
        &mut self,
        simd: S,
        block: &Block,
        source: &[f32],
        grad: &[f32],
    ) {
        let channels = self.plan.channels;
        check::<N>(self.plan, block, source, grad, self.sums);
        let vectors = channels.next_multiple_of(S::F32_LANES);
        assert!(vectors <= self.plan.weight_row, "whole vectors of sums");
        let last = channels.saturating_sub(S::F32_LANES);
        for at in (0..channels).step_by(S::F32_LANES) {
            let (channel, count) = (at.min(last), channels.min(S::F32_LANES));
            // SAFETY: `count` channels remain, and a tap's sums are whole vectors; `check` has checked the bounds.
            unsafe { self.vector::<S, N>(simd, block, source, grad, (channel, count, at)) };
        }
    }

    /// As [`Rows::vector`], but adds to the sums of the taps; the sums of these channels begin `at` values after a
    /// tap's start.
    ///
    /// # Safety
    /// As [`Rows::vector`], and a whole vector of sums exists at `at`.
    #[inline(always)]
    unsafe fn vector<S: Simd, const N: usize>(
        &mut self,
        simd: S,
        block: &Block,
        source: &[f32],
        grad: &[f32],
        (channel, count, at): (usize, usize, usize),
    ) {
        let mut grads = [simd.splat_f32s(0.0); N];
        let first = grad.as_ptr().wrapping_add(block.target + channel);
        for (column, grad) in grads.iter_mut().enumerate() {
            let from = first.wrapping_add(column * self.plan.target_step);
            // SAFETY: guaranteed by the caller.
            *grad = unsafe { load(simd, from, count) };
        }
        for tap in &block.taps {
            let from = source.as_ptr().wrapping_add(tap.source + channel);
            let to = self.sums.as_mut_ptr().wrapping_add(tap.weight + at);
            // SAFETY: guaranteed by the caller.
            let mut sum = unsafe { load(simd, to, S::F32_LANES) };
            for (column, grad) in grads.iter().enumerate() {
                let from = from.wrapping_add(column * self.plan.source_step);
                // SAFETY: guaranteed by the caller.
                sum = simd.mul_add_e_f32s(unsafe { load(simd, from, count) }, *grad, sum);
            }
            // SAFETY: guaranteed by the caller.
            unsafe { store(simd, to, S::F32_LANES, sum) };
        }
    }
}

/// Panics unless all channels that a block of `N` columns reads and writes, for all taps, lie within the slices.
#[inline(always)]
fn check<const N: usize>(
    plan: &Plan,
    block: &Block,
    source: &[f32],
    target: &[f32],
    weight: &[f32],
) {
    let channels = plan.channels;
    let (across, along) = ((N - 1) * plan.source_step, (N - 1) * plan.target_step);
    for tap in &block.taps {
        assert!(
            tap.source + across + channels <= source.len()
                && tap.weight + plan.weight_row <= weight.len(),
            "taps within the slices"
        );
    }
    assert!(
        block.target + along + channels <= target.len(),
        "columns within the row"
    );
}

/// Loads `count` values (at most one vector), followed by zeros.
///
/// # Safety
/// The `count` values at `from` can be read.
#[inline(always)]
unsafe fn load<S: Simd>(simd: S, from: *const f32, count: usize) -> S::f32s {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if count == S::F32_LANES {
            from.cast::<S::f32s>().read_unaligned()
        } else {
            simd.partial_load_f32s(std::slice::from_raw_parts(from, count))
        }
    }
}

/// Stores the first `count` values of a vector.
///
/// # Safety
/// The `count` values at `to` can be written.
#[inline(always)]
unsafe fn store<S: Simd>(simd: S, to: *mut f32, count: usize, vector: S::f32s) {
    // SAFETY: guaranteed by the caller.
    unsafe {
        if count == S::F32_LANES {
            to.cast::<S::f32s>().write_unaligned(vector);
        } else {
            simd.partial_store_f32s(std::slice::from_raw_parts_mut(to, count), vector);
        }
    }
}
