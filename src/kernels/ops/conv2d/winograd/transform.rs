//! The two-dimensional transforms of Winograd convolutions, a vector of channels at a time.
//!
//! Bounds are checked once per tile: a check for every vector would take as long as the transform itself.
#![expect(
    unsafe_code,
    reason = "vectors are read and written through pointers to pixels and points, whose bounds a tile has checked"
)]

use std::marker::PhantomData;
use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::scheme::Transform;
use super::spread::TileLayout;
use super::target::Part;

/// How tiles are placed on the images.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grid {
    pub(super) image: (usize, usize),
    pub(super) channels: usize,
    /// Numbers of tiles, vertically and horizontally in an image.
    pub(super) tiles: (usize, usize),
    /// Stride between tiles in pixels.
    pub(super) step: usize,
    /// Padding at the top and on the left of the images.
    pub(super) padding: usize,
}

/// The offset that marks a pixel outside of the image.
const OUTSIDE: usize = usize::MAX;

impl Grid {
    /// Offsets of the first channel of each of the I × I pixels of tile number `tile` of the batch; [`OUTSIDE`] for
    /// padding.
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
                // Left of or above the image the difference wraps around to a number that is not less than w or h.
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

/// Transforms I × I pixels of every tile to O × O points: `T · d · Tᵀ` for each channel.
pub(super) struct Gather<'a, T, const I: usize, const O: usize> {
    pub(super) images: &'a [f32],
    pub(super) grid: &'a Grid,
    pub(super) tiles: Range<usize>,
    pub(super) channels: Range<usize>,
    pub(super) points: &'a mut [f32],
    pub(super) spread: TileLayout,
    pub(super) transform: PhantomData<T>,
}

impl<T: Transform<I, O>, const I: usize, const O: usize> WithSimd for Gather<'_, T, I, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (channels, plane) = (self.channels.len(), self.spread.plane);
        self.spread.check(self.tiles.len(), channels, S::F32_LANES);
        assert!(self.points.len() >= self.spread.len(O * O), "all points");
        let zeros = vec![0.0; channels];
        let mut rest = [[simd.splat_f32s(0.0); I]; I];
        let mut half = [[simd.splat_f32s(0.0); I]; O];
        for (index, tile) in self.tiles.enumerate() {
            let mut pixels = [[zeros.as_ptr(); I]; I];
            for (pixels, offsets) in pixels.iter_mut().zip(self.grid.pixels::<I>(tile)) {
                for (pixel, offset) in pixels.iter_mut().zip(offsets) {
                    if offset != OUTSIDE {
                        *pixel = self.images[offset..][self.channels.clone()].as_ptr();
                    }
                }
            }
            let row = self.points[index * self.spread.row..].as_mut_ptr();
            for channel in (0..channels).step_by(S::F32_LANES) {
                let count = S::F32_LANES.min(channels - channel);
                if count < S::F32_LANES {
                    // SAFETY: `count` values remain of each pixel, or of the zeros that replace it outside the image.
                    unsafe { fetch::<S, I>(&mut pixels, &mut rest, channel, count) };
                }
                square::<S, T, I, O>(
                    simd,
                    &mut half,
                    #[inline(always)]
                    |i, j| {
                        let from = pixels[i][j].wrapping_add(channel);
                        // SAFETY: `from` is a whole vector: of a pixel, of the zeros outside the image, or of `rest`.
                        unsafe { from.cast::<S::f32s>().read_unaligned() }
                    },
                    #[inline(always)]
                    |o, p, value| {
                        let to = row.wrapping_add((o * O + p) * plane + channel);
                        // SAFETY: a tile's row holds whole vectors, a plane the rows of all tiles
                        // (`TileLayout::check`), and there are `O · O` planes (asserted above).
                        unsafe { to.cast::<S::f32s>().write_unaligned(value) }
                    },
                );
            }
        }
    }
}

/// Copies the last `count` channels of every pixel, from `channel` on, to `vectors` and lets `pixels` point there, so
/// that the loops process full vectors only: with masked loads they took twice as long.
///
/// # Safety
/// Nothing writes these values during the call.
#[inline(always)]
unsafe fn fetch<S: Simd, const I: usize>(
    pixels: &mut [[*const f32; I]; I],
    vectors: &mut [[S::f32s; I]; I],
    channel: usize,
    count: usize,
) {
    let both = pixels.as_flattened_mut().iter_mut();
    for (pixel, vector) in both.zip(vectors.as_flattened_mut()) {
        let vector = std::ptr::from_mut(vector).cast::<f32>();
        // SAFETY: guaranteed by the caller; `count` is less than a vector's length.
        unsafe { pixel.add(channel).copy_to_nonoverlapping(vector, count) };
        *pixel = vector.cast_const().wrapping_sub(channel);
    }
}

/// Transforms I × I points of every tile to O × O pixels, `T · m · Tᵀ` for each channel, and writes or adds the pixels.
pub(super) struct Scatter<'a, T, const I: usize, const O: usize> {
    pub(super) points: &'a [f32],
    pub(super) spread: TileLayout,
    pub(super) grid: &'a Grid,
    pub(super) tiles: Range<usize>,
    pub(super) channels: Range<usize>,
    pub(super) images: Part<'a>,
    /// Bias that is added to every pixel, one value for each of `channels`; empty without a bias.
    pub(super) bias: &'a [f32],
    /// Whether the pixels are added to the old values.
    pub(super) adds: bool,
    pub(super) transform: PhantomData<T>,
}

impl<T: Transform<I, O>, const I: usize, const O: usize> WithSimd for Scatter<'_, T, I, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let (channels, plane) = (self.channels.len(), self.spread.plane);
        self.spread.check(self.tiles.len(), channels, S::F32_LANES);
        assert!(self.points.len() >= self.spread.len(I * I), "all points");
        // Scratch memory, written instead of pixels outside of the image.
        let mut aside = vec![0.0; channels];
        let mut rest = [[simd.splat_f32s(0.0); O]; O];
        let mut half = [[simd.splat_f32s(0.0); I]; O];
        for (index, tile) in self.tiles.clone().enumerate() {
            let mut pixels = [[aside.as_mut_ptr(); O]; O];
            for (pixels, offsets) in pixels.iter_mut().zip(self.grid.pixels::<O>(tile)) {
                for (pixel, offset) in pixels.iter_mut().zip(offsets) {
                    if offset != OUTSIDE {
                        let offset = offset + self.channels.start;
                        *pixel = self.images.piece(offset, channels).as_mut_ptr();
                    }
                }
            }
            let row = self.points[index * self.spread.row..].as_ptr();
            for channel in (0..channels).step_by(S::F32_LANES) {
                let count = S::F32_LANES.min(channels - channel);
                let (full, targets) = (count == S::F32_LANES, pixels);
                if !full {
                    let mut sources = pixels.map(|row| row.map(<*mut f32>::cast_const));
                    // SAFETY: `count` values remain of each pixel, or of `aside`, which replaces it outside the image.
                    unsafe { fetch::<S, O>(&mut sources, &mut rest, channel, count) };
                    pixels = sources.map(|row| row.map(<*const f32>::cast_mut));
                }
                let bias = match self.bias.get(channel..channel + count) {
                    Some(bias) => load(simd, bias),
                    None => simd.splat_f32s(0.0),
                };
                square::<S, T, I, O>(
                    simd,
                    &mut half,
                    #[inline(always)]
                    |i, j| {
                        let from = row.wrapping_add((i * I + j) * plane + channel);
                        // SAFETY: a tile's row holds whole vectors, a plane the rows of all tiles
                        // (`TileLayout::check`), and there are `I · I` planes (asserted above).
                        unsafe { from.cast::<S::f32s>().read_unaligned() }
                    },
                    #[inline(always)]
                    |o, p, value| {
                        let pixel = pixels[o][p].wrapping_add(channel).cast::<S::f32s>();
                        // SAFETY: `pixel` is a whole vector: of a pixel that only this task accesses (contract of
                        // `images`), of `aside`, or of `rest`.
                        unsafe {
                            let before = if self.adds {
                                pixel.read_unaligned()
                            } else {
                                bias
                            };
                            pixel.write_unaligned(simd.add_f32s(value, before));
                        }
                    },
                );
                if !full {
                    // SAFETY: writes the values back to the pixels that `fetch` copied them from.
                    unsafe { give_back(&pixels, &targets, channel, count) };
                }
            }
        }
    }
}

/// The inverse of [`fetch`]: copies the channels from `vectors` back to the pixels.
///
/// # Safety
/// As [`fetch`], and nothing reads the values during the call.
#[inline(always)]
unsafe fn give_back<const O: usize>(
    vectors: &[[*mut f32; O]; O],
    pixels: &[[*mut f32; O]; O],
    channel: usize,
    count: usize,
) {
    let both = vectors.as_flattened().iter().zip(pixels.as_flattened());
    for (vector, pixel) in both {
        let vector = vector.wrapping_add(channel);
        // SAFETY: guaranteed by the caller.
        unsafe { pixel.add(channel).copy_from_nonoverlapping(vector, count) };
    }
}

/// Layout of a filter in planes: value `at` of row r of plane p is at `start + p · plane + r · row + at`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub(super) start: usize,
    pub(super) row: usize,
    pub(super) plane: usize,
}

impl Layout {
    /// A layout whose planes have one row each and begin `plane` values apart.
    pub(super) fn of_planes(start: usize, plane: usize) -> Self {
        let row = 0;
        Self { start, row, plane }
    }

    #[inline(always)]
    fn at(self, plane: usize, row: usize, at: usize) -> usize {
        self.start + plane * self.plane + row * self.row + at
    }
}

/// Transforms a filter from I × I planes (taps or points) to O × O, for `len` values in each of `rows` rows.
pub(super) struct Planes<'a, T, const I: usize, const O: usize> {
    pub(super) from: &'a [f32],
    pub(super) from_layout: Layout,
    pub(super) to: Part<'a>,
    pub(super) to_layout: Layout,
    pub(super) rows: usize,
    pub(super) len: usize,
    /// Whether results are added to the old values.
    pub(super) adds: bool,
    pub(super) transform: PhantomData<T>,
}

impl<T: Transform<I, O>, const I: usize, const O: usize> WithSimd for Planes<'_, T, I, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let mut half = [[simd.splat_f32s(0.0); I]; O];
        for row in 0..self.rows {
            for at in (0..self.len).step_by(S::F32_LANES) {
                let count = S::F32_LANES.min(self.len - at);
                square::<S, T, I, O>(
                    simd,
                    &mut half,
                    #[inline(always)]
                    |i, j| {
                        let from = self.from_layout.at(i * I + j, row, at);
                        load(simd, &self.from[from..][..count])
                    },
                    #[inline(always)]
                    |o, p, value| {
                        let to = self.to_layout.at(o * O + p, row, at);
                        let to = self.to.piece(to, count);
                        let value = if self.adds {
                            simd.add_f32s(value, load(simd, to))
                        } else {
                            value
                        };
                        store(simd, to, value);
                    },
                );
            }
        }
    }
}

/// Computes `T · values · Tᵀ`. `half` is scratch memory for `T · values`; the caller reuses it, since clearing it for
/// every call took a tenth of a convolution.
#[inline(always)]
fn square<S: Simd, T: Transform<I, O>, const I: usize, const O: usize>(
    simd: S,
    half: &mut [[S::f32s; I]; O],
    load: impl Fn(usize, usize) -> S::f32s,
    mut store: impl FnMut(usize, usize, S::f32s),
) {
    // Written as loops, because closures of `array::from_fn` would be compiled without vector instructions.
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

/// The values as a vector, padded with zeros if they are fewer than a vector has lanes.
#[inline(always)]
fn load<S: Simd>(simd: S, values: &[f32]) -> S::f32s {
    match S::as_simd_f32s(values).0.first() {
        Some(vector) => *vector,
        None => simd.partial_load_f32s(values),
    }
}

/// Stores the first `values.len()` lanes of the vector.
#[inline(always)]
fn store<S: Simd>(simd: S, values: &mut [f32], vector: S::f32s) {
    if values.len() == S::F32_LANES {
        S::as_mut_simd_f32s(values).0[0] = vector;
    } else {
        simd.partial_store_f32s(values, vector);
    }
}
