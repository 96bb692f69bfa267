//! Pooling on the CPU: parallel over rows of the result (forward) or of the input (backward), vectorised over channels.

use std::ops::Range;

use dfdx::tensor::Cpu;

use super::{Pool, PoolKernel, PoolSize};
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::chunks::{for_rows, for_rows_zipped, rows_per_chunk};
use crate::ops::gemm::Accumulate;
use crate::ops::simd::simd;

impl PoolKernel for Cpu {
    fn pool(
        &self,
        x: &Buffer<Self>,
        size: &PoolSize,
        pool: Pool,
        keep: bool,
    ) -> Result<(Buffer<Self>, Option<Buffer<Self>>)> {
        let len = size.output().len();
        let row = size.windows.1 * size.image.3;
        let mut y = self.uninit_buffer(len)?;
        let mut places = keep.then(|| self.uninit_buffer(len)).transpose()?;
        match &mut places {
            None => for_rows(&mut y, row, |first, rows| {
                simd!(forward(x, size, pool, first, rows, None));
            }),
            Some(places) => {
                let rows = rows_per_chunk(row);
                for_rows_zipped(
                    &mut y,
                    (rows, row),
                    (places, rows * row),
                    |first, rows, kept| {
                        simd!(forward(x, size, pool, first, rows, Some(kept)));
                    },
                );
            }
        }
        Ok((y, places))
    }

    fn pool_backward(
        &self,
        dy: &Buffer<Self>,
        places: Option<&Buffer<Self>>,
        size: &PoolSize,
        (dx, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let row = size.image.2 * size.image.3;
        for_rows(dx, row, |first, rows| {
            if accumulate == Accumulate::Replace {
                rows.fill(0.0);
            }
            simd!({
                backward(
                    dy,
                    places.map(|places| places.as_slice()),
                    size,
                    first,
                    rows,
                );
            });
        });
        Ok(())
    }
}

/// The positions of a window that lie within an image of `len` pixels, along one axis. Position 0 is at pixel
/// `start − padding`.
#[inline(always)]
fn inside(start: usize, padding: usize, kernel: usize, len: usize) -> Range<usize> {
    padding.saturating_sub(start)..kernel.min((len + padding).saturating_sub(start))
}

#[inline(always)]
fn forward(
    x: &[f32],
    size: &PoolSize,
    pool: Pool,
    first: usize,
    rows: &mut [f32],
    mut kept: Option<&mut [f32]>,
) {
    let (_, height, width, channels) = size.image;
    let (down, across) = size.windows;
    let (kernel, stride, padding) = (
        size.options.kernel,
        size.options.stride,
        size.options.padding,
    );
    let share = 1.0 / (kernel * kernel) as f32;
    for (offset, y) in rows.chunks_exact_mut(across * channels).enumerate() {
        let (image, row) = ((first + offset) / down, (first + offset) % down);
        let image = &x[image * height * width * channels..][..height * width * channels];
        let vertical = inside(row * stride, padding, kernel, height);
        for (column, y) in y.chunks_exact_mut(channels).enumerate() {
            let horizontal = inside(column * stride, padding, kernel, width);
            let kept = kept.as_deref_mut();
            let at = (offset * across + column) * channels;
            let mut kept = kept.map(|kept| &mut kept[at..at + channels]);
            let mut is_first = true;
            for v in vertical.clone() {
                for h in horizontal.clone() {
                    let pixel =
                        (row * stride + v - padding) * width + column * stride + h - padding;
                    let x = &image[pixel * channels..][..channels];
                    let place = (v * kernel + h) as f32;
                    match (pool, &mut kept) {
                        _ if is_first => {
                            y.copy_from_slice(x);
                            if let Some(kept) = &mut kept {
                                kept.fill(place);
                            }
                        }
                        (Pool::Average, _) => y.iter_mut().zip(x).for_each(|(y, x)| *y += x),
                        (Pool::Max, None) => {
                            for (y, x) in y.iter_mut().zip(x) {
                                *y = if *x > *y || x.is_nan() { *x } else { *y };
                            }
                        }
                        (Pool::Max, Some(kept)) => {
                            for ((y, x), kept) in y.iter_mut().zip(x).zip(kept.iter_mut()) {
                                let is_larger = *x > *y || x.is_nan();
                                *y = if is_larger { *x } else { *y };
                                *kept = if is_larger { place } else { *kept };
                            }
                        }
                    }
                    is_first = false;
                }
            }
            if pool == Pool::Average {
                for y in y.iter_mut() {
                    *y *= share;
                }
            }
        }
    }
}

/// Adds to every input pixel its gradient from the windows that cover it; `rows` are the rows from `first` on.
#[inline(always)]
fn backward(dy: &[f32], places: Option<&[f32]>, size: &PoolSize, first: usize, rows: &mut [f32]) {
    let (_, height, width, channels) = size.image;
    let (down, across) = size.windows;
    let (kernel, stride, padding) = (
        size.options.kernel,
        size.options.stride,
        size.options.padding,
    );
    let share = 1.0 / (kernel * kernel) as f32;
    for (offset, dx) in rows.chunks_exact_mut(width * channels).enumerate() {
        let (image, row) = ((first + offset) / height, (first + offset) % height);
        for window_row in covering(row, padding, kernel, stride, down) {
            let v = row + padding - window_row * stride;
            for (column, dx) in dx.chunks_exact_mut(channels).enumerate() {
                for window in covering(column, padding, kernel, stride, across) {
                    let place = (v * kernel + column + padding - window * stride) as f32;
                    let at = ((image * down + window_row) * across + window) * channels;
                    let dy = &dy[at..at + channels];
                    match places {
                        None => dx.iter_mut().zip(dy).for_each(|(dx, dy)| *dx += share * dy),
                        Some(places) => {
                            let pairs = dy.iter().zip(&places[at..at + channels]);
                            for (dx, (dy, own)) in dx.iter_mut().zip(pairs) {
                                *dx += if (*own - place).abs() < 0.5 { *dy } else { 0.0 };
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The windows that cover pixel `at`, along one axis with `count` windows.
#[inline(always)]
fn covering(at: usize, padding: usize, kernel: usize, stride: usize, count: usize) -> Range<usize> {
    let first = (at + padding + 1).saturating_sub(kernel).div_ceil(stride);
    first..((at + padding) / stride + 1).min(count)
}
