//! Upsampling on the CPU: parallel over output rows (forward) or input rows (backward).

use dfdx::tensor::Cpu;

use super::UpsampleKernel;
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::chunks::for_rows;
use crate::ops::gemm::Accumulate;
use crate::ops::simd::simd;

impl UpsampleKernel for Cpu {
    fn upsample_bilinear(
        &self,
        x: &Buffer<Self>,
        (b, h, w, c): (usize, usize, usize, usize),
    ) -> Result<Buffer<Self>> {
        let mut y = self.uninit_buffer(4 * b * h * w * c)?;
        let (vertical, horizontal) = (taps(h), taps(w));
        let (row_in, row_out) = (w * c, 2 * w * c);
        for_rows(&mut y, row_out, |first, rows| {
            for (offset, out) in rows.chunks_exact_mut(row_out).enumerate() {
                let (image, tap) = (
                    (first + offset) / (2 * h),
                    vertical[(first + offset) % (2 * h)],
                );
                let row = |index: usize| &x[(image * h + index) * row_in..][..row_in];
                simd!(blend_row(
                    out,
                    row(tap.low),
                    row(tap.high),
                    tap.weight,
                    &horizontal,
                    c
                ));
            }
        });
        Ok(y)
    }

    fn upsample_bilinear_backward(
        &self,
        (_, h, w, c): (usize, usize, usize, usize),
        dy: &Buffer<Self>,
        (dx, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let (vertical, horizontal) = (taps(h), taps(w));
        let (row_in, row_out) = (w * c, 2 * w * c);
        for_rows(dx, row_in, |first, rows| {
            for (offset, dx) in rows.chunks_exact_mut(row_in).enumerate() {
                if accumulate == Accumulate::Replace {
                    dx.fill(0.0);
                }
                let (image, row) = ((first + offset) / h, (first + offset) % h);
                for (y, tap) in vertical.iter().enumerate() {
                    let share = tap.share_of(row);
                    if share != 0.0 {
                        let dy = &dy[(image * 2 * h + y) * row_out..][..row_out];
                        simd!(spread_row(dx, dy, share, &horizontal, c));
                    }
                }
            }
        });
        Ok(())
    }

    fn upsample_nearest(
        &self,
        x: &Buffer<Self>,
        (_, h, w, c): (usize, usize, usize, usize),
        factor: usize,
    ) -> Result<Buffer<Self>> {
        let mut y = self.uninit_buffer(factor * factor * x.len())?;
        let (row_in, row_out) = (w * c, factor * w * c);
        for_rows(&mut y, row_out, |first, rows| {
            for (offset, out) in rows.chunks_exact_mut(row_out).enumerate() {
                let (image, row) = (
                    (first + offset) / (factor * h),
                    (first + offset) % (factor * h),
                );
                let from = &x[(image * h + row / factor) * row_in..][..row_in];
                for (out, pixel) in out.chunks_exact_mut(factor * c).zip(from.chunks_exact(c)) {
                    out.chunks_exact_mut(c)
                        .for_each(|out| out.copy_from_slice(pixel));
                }
            }
        });
        Ok(y)
    }

    fn upsample_nearest_backward(
        &self,
        (_, _, w, c): (usize, usize, usize, usize),
        factor: usize,
        dy: &Buffer<Self>,
        (dx, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let (row_in, row_out) = (w * c, factor * w * c);
        for_rows(dx, row_in, |first, rows| {
            if accumulate == Accumulate::Replace {
                rows.fill(0.0);
            }
            for (offset, dx) in rows.chunks_exact_mut(row_in).enumerate() {
                let block = &dy[(first + offset) * factor * row_out..][..factor * row_out];
                simd!({
                    for dy in block.chunks_exact(row_out) {
                        let pixels = dx.chunks_exact_mut(c).zip(dy.chunks_exact(factor * c));
                        for (dx, dy) in pixels {
                            for dy in dy.chunks_exact(c) {
                                dx.iter_mut().zip(dy).for_each(|(dx, dy)| *dx += dy);
                            }
                        }
                    }
                });
            }
        });
        Ok(())
    }
}

/// The two inputs that one output lies between: `(1 - weight) low + weight high`.
#[derive(Clone, Copy)]
struct Tap {
    low: usize,
    high: usize,
    weight: f32,
}

impl Tap {
    /// Weight of input `index` in this output.
    fn share_of(self, index: usize) -> f32 {
        let low = if index == self.low {
            1.0 - self.weight
        } else {
            0.0
        };
        low + if index == self.high { self.weight } else { 0.0 }
    }
}

/// The taps of `2 size` outputs along one axis, corners aligned.
fn taps(size: usize) -> Vec<Tap> {
    let scale = (size - 1) as f32 / (2 * size - 1) as f32;
    let tap = |output: usize| {
        let position = scale * output as f32;
        let low = (position as usize).min(size - 1);
        Tap {
            low,
            high: (low + 1).min(size - 1),
            weight: position - low as f32,
        }
    };
    (0..2 * size).map(tap).collect()
}

#[inline(always)]
fn blend_row(
    out: &mut [f32],
    low: &[f32],
    high: &[f32],
    weight: f32,
    horizontal: &[Tap],
    c: usize,
) {
    for (out, tap) in out.chunks_exact_mut(c).zip(horizontal) {
        let (left, right) = (tap.low * c, tap.high * c);
        let (a, b) = (&low[left..left + c], &low[right..right + c]);
        let (d, e) = (&high[left..left + c], &high[right..right + c]);
        for channel in 0..c {
            let top = (1.0 - tap.weight) * a[channel] + tap.weight * b[channel];
            let bottom = (1.0 - tap.weight) * d[channel] + tap.weight * e[channel];
            out[channel] = (1.0 - weight) * top + weight * bottom;
        }
    }
}

#[inline(always)]
fn spread_row(dx: &mut [f32], dy: &[f32], share: f32, horizontal: &[Tap], c: usize) {
    for (dy, tap) in dy.chunks_exact(c).zip(horizontal) {
        for (index, part) in [
            (tap.low, share * (1.0 - tap.weight)),
            (tap.high, share * tap.weight),
        ] {
            for (dx, dy) in dx[index * c..(index + 1) * c].iter_mut().zip(dy) {
                *dx += part * dy;
            }
        }
    }
}
