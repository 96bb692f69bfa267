//! The two-dimensional transforms of Winograd convolutions, a vector of channels at a time.

use std::marker::PhantomData;
use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::Spread;
use super::scheme::Transform;
use super::target::Part;

/// Where tiles stand on images.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    /// Height and width of the images.
    pub(super) image: (usize, usize),
    /// Channels of the images.
    pub(super) channels: usize,
    /// Tiles down and across an image.
    pub(super) tiles: (usize, usize),
    /// Pixels from one tile to the next.
    pub(super) step: usize,
    /// Zeros above and on the left of the images.
    pub(super) padding: usize,
}

/// Offset of a pixel outside of the image.
const OUTSIDE: usize = usize::MAX;

impl Grid {
    /// Offsets of the pixels of tile `tile`, counted through the images, or [`OUTSIDE`].
    #[inline(always)]
    fn pixels<const I: usize>(&self, tile: usize) -> [[usize; I]; I] {
        let (down, across) = self.tiles;
        let (image, row, column) = (
            tile / (down * across),
            tile / across % down * self.step,
            tile % across * self.step,
        );
        let (h, w) = self.image;
        let mut offsets = [[OUTSIDE; I]; I];
        for (i, offsets) in offsets.iter_mut().enumerate() {
            for (j, offset) in offsets.iter_mut().enumerate() {
                // Left of or above the image this wraps around to something large.
                let y = (row + i).wrapping_sub(self.padding);
                let x = (column + j).wrapping_sub(self.padding);
                if y < h && x < w {
                    *offset = ((image * h + y) * w + x) * self.channels;
                }
            }
        }
        offsets
    }
}

/// Transforms I × I pixels of every tile to O × O points: `T · d · Tᵀ`.
pub(super) struct Gather<'a, T, const I: usize, const O: usize> {
    pub(super) images: &'a [f32],
    pub(super) grid: &'a Grid,
    pub(super) tiles: Range<usize>,
    pub(super) channels: Range<usize>,
    pub(super) points: &'a mut [f32],
    pub(super) spread: Spread,
    pub(super) transform: PhantomData<T>,
}

impl<T: Transform<I, O>, const I: usize, const O: usize> WithSimd for Gather<'_, T, I, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let mut half = [[simd.splat_f32s(0.0); I]; O];
        for (index, tile) in self.tiles.enumerate() {
            let offsets = self.grid.pixels::<I>(tile);
            let mut channel = self.channels.start;
            while channel < self.channels.end {
                let count = S::F32_LANES.min(self.channels.end - channel);
                let to = index * self.spread.row + channel - self.channels.start;
                square::<S, T, I, O>(
                    simd,
                    &mut half,
                    #[inline(always)]
                    |i, j| match offsets[i][j] {
                        OUTSIDE => simd.splat_f32s(0.0),
                        offset => load(simd, &self.images[offset + channel..][..count]),
                    },
                    #[inline(always)]
                    |o, p, value| {
                        // Points have room for whole vectors.
                        let to = to + (o * O + p) * self.spread.plane;
                        store(simd, &mut self.points[to..][..S::F32_LANES], value);
                    },
                );
                channel += S::F32_LANES;
            }
        }
    }
}

/// Transforms I × I points of every tile to O × O pixels, `T · m · Tᵀ`, and stores or adds them.
pub(super) struct Scatter<'a, T, const I: usize, const O: usize> {
    pub(super) points: &'a [f32],
    pub(super) spread: Spread,
    pub(super) grid: &'a Grid,
    pub(super) tiles: Range<usize>,
    pub(super) channels: Range<usize>,
    pub(super) images: Part<'a>,
    /// Added to every pixel, one value per channel; empty for none.
    pub(super) bias: &'a [f32],
    /// Whether the pixels are added to what is there.
    pub(super) adds: bool,
    pub(super) transform: PhantomData<T>,
}

impl<T: Transform<I, O>, const I: usize, const O: usize> WithSimd for Scatter<'_, T, I, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let mut half = [[simd.splat_f32s(0.0); I]; O];
        for (index, tile) in self.tiles.clone().enumerate() {
            let offsets = self.grid.pixels::<O>(tile);
            let mut channel = self.channels.start;
            while channel < self.channels.end {
                let count = S::F32_LANES.min(self.channels.end - channel);
                let from = index * self.spread.row + channel - self.channels.start;
                let bias = match self.bias.get(channel..channel + count) {
                    Some(bias) => load(simd, bias),
                    None => simd.splat_f32s(0.0),
                };
                square::<S, T, I, O>(
                    simd,
                    &mut half,
                    #[inline(always)]
                    |i, j| {
                        let from = from + (i * I + j) * self.spread.plane;
                        load(simd, &self.points[from..][..S::F32_LANES])
                    },
                    #[inline(always)]
                    |o, p, value| {
                        let offset = offsets[o][p];
                        if offset != OUTSIDE {
                            let pixel = self.images.piece(offset + channel, count);
                            let before = if self.adds { load(simd, pixel) } else { bias };
                            store(simd, pixel, simd.add_f32s(value, before));
                        }
                    },
                );
                channel += S::F32_LANES;
            }
        }
    }
}

/// Transforms I × I planes of a filter to O × O: value `at` of plane p stands at `p · stride + at`.
pub(super) struct Planes<'a, T, const I: usize, const O: usize> {
    pub(super) from: &'a [f32],
    pub(super) from_stride: usize,
    /// Which values of each plane.
    pub(super) range: Range<usize>,
    pub(super) to: Part<'a>,
    /// Where the first plane begins in `to`.
    pub(super) to_start: usize,
    pub(super) to_stride: usize,
    /// Whether results are added to what is there.
    pub(super) adds: bool,
    pub(super) transform: PhantomData<T>,
}

impl<T: Transform<I, O>, const I: usize, const O: usize> WithSimd for Planes<'_, T, I, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let mut half = [[simd.splat_f32s(0.0); I]; O];
        let mut at = self.range.start;
        while at < self.range.end {
            let count = S::F32_LANES.min(self.range.end - at);
            square::<S, T, I, O>(
                simd,
                &mut half,
                #[inline(always)]
                |i, j| {
                    let from = (i * I + j) * self.from_stride + at;
                    load(simd, &self.from[from..][..count])
                },
                #[inline(always)]
                |o, p, value| {
                    let to = self.to_start + (o * O + p) * self.to_stride + at;
                    let to = self.to.piece(to, count);
                    let value = if self.adds {
                        simd.add_f32s(value, load(simd, to))
                    } else {
                        value
                    };
                    store(simd, to, value);
                },
            );
            at += S::F32_LANES;
        }
    }
}

/// `T · values · Tᵀ`. `half` is room for `T · values`, of any content: to clear it each time took a tenth of a convolution.
#[inline(always)]
fn square<S: Simd, T: Transform<I, O>, const I: usize, const O: usize>(
    simd: S,
    half: &mut [[S::f32s; I]; O],
    load: impl Fn(usize, usize) -> S::f32s,
    mut store: impl FnMut(usize, usize, S::f32s),
) {
    // Loops, not `array::from_fn`, whose inner functions are compiled without the vector level.
    for j in 0..I {
        let mut column = [simd.splat_f32s(0.0); I];
        for (i, value) in column.iter_mut().enumerate() {
            *value = load(i, j);
        }
        let column = T::apply(simd, column);
        for (half, value) in half.iter_mut().zip(column) {
            half[j] = value;
        }
    }
    for (o, row) in half.iter().enumerate() {
        for (p, value) in T::apply(simd, *row).into_iter().enumerate() {
            store(o, p, value);
        }
    }
}

/// Up to a vector of values; zeros behind them.
#[inline(always)]
fn load<S: Simd>(simd: S, values: &[f32]) -> S::f32s {
    match S::as_simd_f32s(values).0.first() {
        Some(vector) => *vector,
        None => simd.partial_load_f32s(values),
    }
}

/// As many values of the vector as there is room for.
#[inline(always)]
fn store<S: Simd>(simd: S, values: &mut [f32], vector: S::f32s) {
    if values.len() == S::F32_LANES {
        S::as_mut_simd_f32s(values).0[0] = vector;
    } else {
        simd.partial_store_f32s(values, vector);
    }
}
