//! Convolution on the CPU: dispatch, and the direct algorithm: one matrix product per filter row and chunk of result rows,
//! on the layout of [`super::windows`]. No im2col: the windows overlap in memory.

use dfdx::tensor::Cpu;

use super::algorithm::note_use;
use super::windows::{Chunk, Windows};
use super::{Conv2dKernel, Conv2dSize, backward, winograd};
use crate::device::{Backend, Buffer};
use crate::ops::OpError;
use crate::ops::gemm::{Accumulate, Matrix, MatrixMut, even_chunk, product, sum_partials};
use crate::ops::parallel::{CHUNK, PRODUCT_FLOP, for_each_chunk, for_each_chunk_if};
use crate::ops::scratch::with_scratch;
use crate::ops::simd::simd;

/// Approximate positions of a chunk of results: its windows and results stay in the L2 cache.
const POSITIONS: usize = 320;
/// The largest number of partial weight gradients.
const SEGMENTS: usize = 8;
/// Approximate rows of a block of the weight gradient.
const BLOCK: usize = 192;

impl Conv2dKernel for Cpu {
    fn conv2d(
        &self,
        x: &Buffer<Self>,
        weight: &Buffer<Self>,
        bias: Option<&Buffer<Self>>,
        size: &Conv2dSize,
    ) -> Result<Buffer<Self>, OpError> {
        let mut y = self.spare_buffer(size.output_shape().len())?;
        let tile = size.algorithm.tile(size);
        note_use(tile);
        if let Some(tile) = tile {
            let bias = bias.map(|bias| bias.as_slice());
            winograd::forward(tile, &winograd_shape(size), x, weight, bias, &mut y);
            return Ok(y);
        }
        convolve(
            &windows(size),
            x,
            weight,
            size.channels.1,
            &mut y,
            |y, values| match bias {
                Some(bias) => biased(y, values, bias),
                None => y.copy_from_slice(values),
            },
        );
        Ok(y)
    }

    fn conv2d_backward_x(
        &self,
        grad_output: &Buffer<Self>,
        weight: &Buffer<Self>,
        size: &Conv2dSize,
        (grad_x, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<(), OpError> {
        if let Some(tile) = size.algorithm.tile(size) {
            let turn = |turned: &mut [f32]| {
                backward::turn(weight, size, (0, 0), size.kernel, turned);
            };
            let shape = winograd_shape(size);
            winograd::backward_x(tile, &shape, grad_output, turn, (grad_x, accumulate));
            return Ok(());
        }
        let stride = size.options.stride;
        if stride > 1 && accumulate == Accumulate::Replace {
            // Each phase adds to different pixels, and some phases may have no taps.
            for_each_chunk(grad_x, CHUNK, |_, values| values.fill(0.0));
        }
        for phase in (0..stride * stride).map(|i| (i / stride, i % stride)) {
            backward::backward_phase(grad_output, weight, size, phase, (grad_x, accumulate));
        }
        Ok(())
    }

    fn conv2d_backward_weight(
        &self,
        x: &Buffer<Self>,
        grad_output: &Buffer<Self>,
        size: &Conv2dSize,
        (grad_weight, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<(), OpError> {
        if let Some(tile) = size.algorithm.tile(size) {
            let shape = winograd_shape(size);
            winograd::backward_weight(tile, &shape, x, grad_output, (grad_weight, accumulate));
            return Ok(());
        }
        let windows = windows(size);
        let (c, k) = size.channels;
        let parallel = size.flop() >= PRODUCT_FLOP;
        let segments = if parallel {
            size.batch.min(SEGMENTS)
        } else {
            1
        };
        // Partial results are worthwhile if they are small compared with the factors.
        let values = size.batch * size.output.0 * size.output.1 * (c + k);
        if parallel && (segments == 1 || 2 * segments * grad_weight.len() > values) {
            by_rows(&windows, x, grad_output, k, (grad_weight, accumulate));
        } else {
            by_segments(
                &windows,
                x,
                grad_output,
                size.batch.div_ceil(segments),
                k,
                (grad_weight, accumulate),
            );
        }
        Ok(())
    }
}

fn winograd_shape(size: &Conv2dSize) -> winograd::Shape {
    winograd::Shape {
        batch: size.batch,
        input: size.input,
        output: size.output,
        channels: size.channels,
        padding: size.options.padding,
        parallel: size.flop() >= PRODUCT_FLOP,
    }
}

fn windows(size: &Conv2dSize) -> Windows {
    let padding = size.options.padding;
    Windows {
        batch: size.batch,
        input: (size.input.0, size.input.1, size.channels.0),
        output: size.output,
        kernel: size.kernel,
        stride: size.options.stride,
        padding: (padding, padding),
    }
}

/// Convolves x and calls `store` with every row of results, `(W', K)`, and its slice of `y`.
pub(super) fn convolve(
    windows: &Windows,
    x: &[f32],
    weight: &[f32],
    k: usize,
    y: &mut [f32],
    store: impl Fn(&mut [f32], &[f32]) + Sync,
) {
    let (height, width) = windows.output;
    let large = 2 * y.len() * (weight.len() / k) >= PRODUCT_FLOP;
    // A chunk is several whole images, or a part of one.
    let images = even_chunk(windows.batch, (POSITIONS / (height * width)).max(1));
    let rows = if images > 1 {
        height
    } else {
        even_chunk(height, POSITIONS.div_ceil(width))
    };
    for_each_chunk_if(large, y, images * height * width * k, |start, y| {
        let first = start / (height * width * k);
        let last = first + y.len() / (height * width * k);
        let chunk = if images > 1 {
            y.len()
        } else {
            rows * width * k
        };
        for_each_chunk_if(large, y, chunk, |start, y| {
            let rows = if images > 1 {
                0..height
            } else {
                start / (width * k)..(start + y.len()) / (width * k)
            };
            convolve_chunk(
                &Chunk::new(windows, first..last, rows),
                x,
                weight,
                k,
                y,
                &store,
            );
        });
    });
}

fn convolve_chunk(
    chunk: &Chunk<'_>,
    x: &[f32],
    weight: &[f32],
    k: usize,
    y: &mut [f32],
    store: impl Fn(&mut [f32], &[f32]),
) {
    let (m, layout_len) = (chunk.positions(), chunk.layout_len());
    with_scratch(layout_len + m * k, |memory| {
        let (layout, results) = memory.split_at_mut(layout_len);
        chunk.lay_out(x, layout, false);
        let filter_row = weight.len() / chunk.filter_rows();
        for (r, weight) in weight.chunks_exact(filter_row).enumerate() {
            let accumulate = if r == 0 {
                Accumulate::Replace
            } else {
                Accumulate::Add
            };
            let weight = Matrix::new(weight, filter_row / k, k);
            product(
                &mut MatrixMut::new(results, m, k),
                accumulate,
                chunk.filter_row(layout, r),
                weight,
            );
        }
        let row = chunk.width() * k;
        simd(
            #[inline(always)]
            || {
                for (y, at) in y.chunks_exact_mut(row).zip(chunk.row_starts()) {
                    store(y, &results[at * k..][..row]);
                }
            },
        );
    });
}

/// The weight gradient as a sum of partial results, each over `images` images.
fn by_segments(
    windows: &Windows,
    x: &[f32],
    grad: &[f32],
    images: usize,
    k: usize,
    (grad_weight, accumulate): (&mut [f32], Accumulate),
) {
    let (len, batch) = (grad_weight.len(), windows.batch);
    let segments = batch.div_ceil(images);
    with_scratch(segments * len, |partials| {
        for_each_chunk_if(segments > 1, partials, len, |start, partial| {
            let first = start / len * images;
            let chunk = Chunk::new(
                windows,
                first..(first + images).min(batch),
                0..windows.output.0,
            );
            with_factors(&chunk, x, grad, k, false, |layout, grad| {
                for (r, partial) in partial.chunks_exact_mut(len / windows.kernel.0).enumerate() {
                    let rows = partial.len() / k;
                    let a = chunk.filter_row(layout, r).transposed();
                    product(
                        &mut MatrixMut::new(partial, rows, k),
                        Accumulate::Replace,
                        a,
                        grad,
                    );
                }
            });
        });
        sum_partials(grad_weight, accumulate, partials);
    });
}

/// The weight gradient in blocks of its rows, each over the whole batch.
fn by_rows(
    windows: &Windows,
    x: &[f32],
    grad: &[f32],
    k: usize,
    (grad_weight, accumulate): (&mut [f32], Accumulate),
) {
    let chunk = Chunk::all(windows);
    with_factors(&chunk, x, grad, k, true, |layout, grad| {
        let filter_row = grad_weight.len() / windows.kernel.0;
        let block = even_chunk(filter_row / k, BLOCK);
        for_each_chunk_if(true, grad_weight, filter_row, |start, part| {
            let a = chunk.filter_row(layout, start / filter_row).transposed();
            for_each_chunk_if(true, part, block * k, |start, part| {
                let rows = part.len() / k;
                product(
                    &mut MatrixMut::new(part, rows, k),
                    accumulate,
                    a.row_range(start / k, rows),
                    grad,
                );
            });
        });
    });
}

/// Calls `work` with the layout of a chunk's input and its gradient, one row per position.
fn with_factors<R>(
    chunk: &Chunk<'_>,
    x: &[f32],
    grad: &[f32],
    k: usize,
    parallel: bool,
    work: impl FnOnce(&[f32], Matrix<'_>) -> R,
) -> R {
    let (m, layout_len) = (chunk.positions(), chunk.layout_len());
    with_scratch(layout_len + m * k, |memory| {
        let (layout, gradient) = memory.split_at_mut(layout_len);
        chunk.lay_out(x, layout, parallel);
        chunk.lay_out_gradient(grad, k, gradient, parallel);
        work(layout, Matrix::new(gradient, m, k))
    })
}

#[inline(always)]
fn biased(y: &mut [f32], values: &[f32], bias: &[f32]) {
    for (y, values) in y
        .chunks_exact_mut(bias.len())
        .zip(values.chunks_exact(bias.len()))
    {
        for ((y, value), bias) in y.iter_mut().zip(values).zip(bias) {
            *y = value + bias;
        }
    }
}
