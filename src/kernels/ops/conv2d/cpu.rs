//! Convolution on the CPU: dispatch, and the direct algorithm: one matrix product per filter row (with a dilation per tap)
//! and chunk of result rows,
//! on the layout of [`super::windows`]. No im2col: the windows overlap in memory.

use dfdx::tensor::Cpu;

use super::algorithm::note_use;
use super::windows::{Chunk, Windows};
use super::{Conv2dKernel, Conv2dSize, backward, depthwise, groups, winograd};
use crate::device::{Backend, Buffer};
use crate::ops::gemm::{Accumulate, Matrix, MatrixMut, even_chunk, product, sum_partials};
use crate::ops::parallel::{PRODUCT_FLOP, for_each_chunk_if};
use crate::ops::scratch::with_scratch;
use crate::ops::simd::simd;
use crate::ops::{PooledBuffer, Result};

/// Approximate positions of a chunk of results: its windows and results stay in the L2 cache.
pub(super) const POSITIONS: usize = 320;
/// The largest number of partial weight gradients.
const SEGMENTS: usize = 8;
/// Approximate rows of a block of the weight gradient.
const BLOCK: usize = 192;

impl Conv2dKernel for Cpu {
    fn conv2d(
        &self,
        x: &PooledBuffer<Self>,
        weight: &PooledBuffer<Self>,
        bias: Option<&Buffer<Self>>,
        size: &Conv2dSize,
    ) -> Result<Buffer<Self>> {
        let mut y = self.spare_buffer(size.output_shape().len())?;
        note_use(if size.is_depthwise() {
            None
        } else {
            size.algorithm.tile(&size.of_group())
        });
        forward(size, x, weight, bias.map(|bias| bias.as_slice()), &mut y);
        Ok(y)
    }

    fn conv2d_backward_x(
        &self,
        grad_output: &PooledBuffer<Self>,
        weight: &PooledBuffer<Self>,
        size: &Conv2dSize,
        (grad_x, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        backward_x(size, grad_output, weight, (grad_x, accumulate));
        Ok(())
    }

    fn conv2d_backward_weight(
        &self,
        x: &PooledBuffer<Self>,
        grad_output: &PooledBuffer<Self>,
        size: &Conv2dSize,
        (grad_weight, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        backward_weight(size, x, grad_output, (grad_weight, accumulate));
        Ok(())
    }
}

/// The convolution, plus the bias.
pub(super) fn forward(
    size: &Conv2dSize,
    x: &[f32],
    weight: &[f32],
    bias: Option<&[f32]>,
    y: &mut [f32],
) {
    if size.is_depthwise() {
        return depthwise::forward(size, x, weight, bias, y);
    }
    if size.options.groups > 1 {
        return groups::forward(size, x, weight, bias, y);
    }
    if let Some(tile) = size.algorithm.tile(size) {
        return winograd::forward(tile, &winograd_shape(size), x, weight, bias, y);
    }
    let k = size.channels.1;
    convolve(&windows(size), x, weight, k, y, |y, values| match bias {
        Some(bias) => biased(y, values, bias),
        None => y.copy_from_slice(values),
    });
}

/// Adds the gradient of the input to `grad_x`, or replaces it.
pub(super) fn backward_x(
    size: &Conv2dSize,
    grad: &[f32],
    weight: &[f32],
    (grad_x, accumulate): (&mut [f32], Accumulate),
) {
    if size.is_depthwise() {
        return depthwise::backward_x(size, grad, weight, (grad_x, accumulate));
    }
    if size.options.groups > 1 {
        return groups::backward_x(size, grad, weight, (grad_x, accumulate));
    }
    if let Some(tile) = size.algorithm.tile(size) {
        let turn = |turned: &mut [f32]| {
            backward::turn(weight, size, ((0, 0), 1), size.kernel, turned);
        };
        let shape = winograd_shape(size);
        return winograd::backward_x(tile, &shape, grad, turn, (grad_x, accumulate));
    }
    if size.options.stride == 1 {
        backward::backward_plain(grad, weight, size, (grad_x, accumulate));
    } else {
        backward::backward_strided(grad, weight, size, (grad_x, accumulate));
    }
}

/// Adds the gradient of the weight to `grad_weight`, or replaces it.
pub(super) fn backward_weight(
    size: &Conv2dSize,
    x: &[f32],
    grad: &[f32],
    (grad_weight, accumulate): (&mut [f32], Accumulate),
) {
    if size.is_depthwise() {
        return depthwise::backward_weight(size, x, grad, (grad_weight, accumulate));
    }
    if size.options.groups > 1 {
        return groups::backward_weight(size, x, grad, (grad_weight, accumulate));
    }
    if let Some(tile) = size.algorithm.tile(size) {
        let shape = winograd_shape(size);
        return winograd::backward_weight(tile, &shape, x, grad, (grad_weight, accumulate));
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
        by_rows(&windows, x, grad, k, (grad_weight, accumulate));
    } else {
        let images = size.batch.div_ceil(segments);
        by_segments(&windows, x, grad, images, k, (grad_weight, accumulate));
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
        dilation: size.options.dilation,
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
            let chunk = Chunk::new(windows, first..last, rows);
            convolve_chunk(&chunk, x, weight, k, |row, values| {
                store(&mut y[row * width * k..][..width * k], values);
            });
        });
    });
}

/// Convolves the input of a chunk and calls `store` with the position and the values of every row of results.
pub(super) fn convolve_chunk(
    chunk: &Chunk<'_>,
    x: &[f32],
    weight: &[f32],
    k: usize,
    mut store: impl FnMut(usize, &[f32]),
) {
    let (m, layout_len) = (chunk.positions(), chunk.layout_len());
    with_scratch(layout_len + m * k, |memory| {
        let (layout, results) = memory.split_at_mut(layout_len);
        chunk.lay_out(x, layout, false);
        let part = weight.len() / chunk.products();
        for (index, weight) in weight.chunks_exact(part).enumerate() {
            let accumulate = if index == 0 {
                Accumulate::Replace
            } else {
                Accumulate::Add
            };
            let weight = Matrix::new(weight, part / k, k);
            product(
                &mut MatrixMut::new(results, m, k),
                accumulate,
                chunk.factor(layout, index),
                weight,
            );
        }
        let row = chunk.width() * k;
        simd!({
            for (index, at) in chunk.row_starts().enumerate() {
                store(index, &results[at * k..][..row]);
            }
        });
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
                for (index, partial) in partial.chunks_exact_mut(len / chunk.products()).enumerate()
                {
                    let rows = partial.len() / k;
                    let a = chunk.factor(layout, index).transposed();
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
        let factor = grad_weight.len() / chunk.products();
        let block = even_chunk(factor / k, BLOCK);
        for_each_chunk_if(true, grad_weight, factor, |start, part| {
            let a = chunk.factor(layout, start / factor).transposed();
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
