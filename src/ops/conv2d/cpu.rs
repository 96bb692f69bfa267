//! Direct convolution on the CPU: one matrix product per filter row and chunk of result rows, on the layout of
//! [`super::windows`]. No im2col: the windows overlap in memory.

use dfdx::tensor::Cpu;

use super::windows::{Chunk, Windows};
use super::{Conv2dKernel, Conv2dSize};
use crate::device::{Backend, Buffer};
use crate::ops::OpError;
use crate::ops::gemm::{Into, Matrix, MatrixMut, even_chunk, product};
use crate::ops::parallel::{ELEMENTWISE_LEN, PRODUCT_FLOP, add_assign, for_each_chunk_if};
use crate::ops::scratch::with_scratch;
use crate::ops::simd::simd;

/// Positions of a chunk of results, about: its windows and results stay in the L2 cache.
const POSITIONS: usize = 320;
/// The largest number of partial weight gradients.
const SEGMENTS: usize = 8;
/// Rows of a block of the weight gradient, about.
const BLOCK: usize = 96;

impl Conv2dKernel for Cpu {
    fn conv2d(
        &self,
        x: &Buffer<Self>,
        weight: &Buffer<Self>,
        bias: Option<&Buffer<Self>>,
        size: &Conv2dSize,
    ) -> Result<Buffer<Self>, OpError> {
        let mut y = vec![0.0; size.output_shape().len()];
        convolve(&windows(size), x, weight, size.channels.1, &mut y, |y, values| match bias {
            Some(bias) => biased(y, values, bias),
            None => y.copy_from_slice(values),
        });
        Ok(self.upload(y)?)
    }

    fn conv2d_backward_x(
        &self,
        grad_output: &Buffer<Self>,
        weight: &Buffer<Self>,
        size: &Conv2dSize,
        grad_x: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        let stride = size.options.stride;
        for phase in (0..stride * stride).map(|i| (i / stride, i % stride)) {
            backward_phase(grad_output, weight, size, phase, grad_x);
        }
        Ok(())
    }

    fn conv2d_backward_weight(
        &self,
        x: &Buffer<Self>,
        grad_output: &Buffer<Self>,
        size: &Conv2dSize,
        grad_weight: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        let windows = windows(size);
        let (c, k) = size.channels;
        let parallel = size.flop() >= PRODUCT_FLOP;
        let segments = if parallel { size.batch.min(SEGMENTS) } else { 1 };
        // Partial results pay where they are small against the factors that they are made from.
        let values = size.batch * size.output.0 * size.output.1 * (c + k);
        if parallel && (segments == 1 || 2 * segments * grad_weight.len() > values) {
            by_rows(&windows, x, grad_output, k, grad_weight);
        } else {
            by_segments(&windows, x, grad_output, size.batch.div_ceil(segments), k, grad_weight);
        }
        Ok(())
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

/// Convolves x and hands every row of results, `(W', K)`, to `store` together with its place in `y`.
fn convolve(
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
    let rows = if images > 1 { height } else { even_chunk(height, POSITIONS.div_ceil(width)) };
    for_each_chunk_if(large, y, images * height * width * k, |start, y| {
        let first = start / (height * width * k);
        let last = first + y.len() / (height * width * k);
        let chunk = if images > 1 { y.len() } else { rows * width * k };
        for_each_chunk_if(large, y, chunk, |start, y| {
            let rows = if images > 1 { 0..height } else { start / (width * k)..(start + y.len()) / (width * k) };
            convolve_chunk(&Chunk::new(windows, first..last, rows), x, weight, k, y, &store);
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
            let into = if r == 0 { Into::Replace } else { Into::Add };
            let weight = Matrix::new(weight, filter_row / k, k);
            product(&mut MatrixMut::new(results, m, k), into, chunk.filter_row(layout, r), weight);
        }
        let row = chunk.width() * k;
        simd(|| {
            for (y, at) in y.chunks_exact_mut(row).zip(chunk.row_starts()) {
                store(y, &results[at * k..][..row]);
            }
        });
    });
}

/// The weight gradient as a sum of partial results, each of `images` images.
fn by_segments(windows: &Windows, x: &[f32], grad: &[f32], images: usize, k: usize, grad_weight: &mut [f32]) {
    let (len, batch) = (grad_weight.len(), windows.batch);
    let segments = batch.div_ceil(images);
    with_scratch(segments * len, |partials| {
        for_each_chunk_if(segments > 1, partials, len, |start, partial| {
            let first = start / len * images;
            let chunk = Chunk::new(windows, first..(first + images).min(batch), 0..windows.output.0);
            with_factors(&chunk, x, grad, k, false, |layout, grad| {
                for (r, partial) in partial.chunks_exact_mut(len / windows.kernel.0).enumerate() {
                    let rows = partial.len() / k;
                    let a = chunk.filter_row(layout, r).transposed();
                    product(&mut MatrixMut::new(partial, rows, k), Into::Replace, a, grad);
                }
            });
        });
        partials.chunks_exact(len).for_each(|partial| add_assign(grad_weight, partial));
    });
}

/// The weight gradient in blocks of its rows, each over the whole batch.
fn by_rows(windows: &Windows, x: &[f32], grad: &[f32], k: usize, grad_weight: &mut [f32]) {
    let chunk = Chunk::all(windows);
    with_factors(&chunk, x, grad, k, true, |layout, grad| {
        let filter_row = grad_weight.len() / windows.kernel.0;
        let block = even_chunk(filter_row / k, BLOCK);
        for_each_chunk_if(true, grad_weight, filter_row, |start, part| {
            let a = chunk.filter_row(layout, start / filter_row).transposed();
            for_each_chunk_if(true, part, block * k, |start, part| {
                let rows = part.len() / k;
                product(&mut MatrixMut::new(part, rows, k), Into::Add, a.row_range(start / k, rows), grad);
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

/// `y = values + bias`, row by row.
#[inline(always)]
fn biased(y: &mut [f32], values: &[f32], bias: &[f32]) {
    for (y, values) in y.chunks_exact_mut(bias.len()).zip(values.chunks_exact(bias.len())) {
        for ((y, value), bias) in y.iter_mut().zip(values).zip(bias) {
            *y = value + bias;
        }
    }
}

/// Adds to `grad_x` what it gets at padded rows and columns ≡ `phase` modulo the stride: a convolution of the
/// gradient, with stride 1, by the taps of that phase, turned by 180° and with their channels exchanged.
fn backward_phase(grad: &[f32], weight: &[f32], size: &Conv2dSize, phase: (usize, usize), grad_x: &mut [f32]) {
    let (stride, padding, (c, k)) = (size.options.stride, size.options.padding, size.channels);
    let taps = |kernel: usize, phase: usize| kernel.saturating_sub(phase).div_ceil(stride);
    let kernel = (taps(size.kernel.0, phase.0), taps(size.kernel.1, phase.1));
    // With stride 1 the first `padding` results would be gradients of the padding: they are left out.
    let skipped = if stride == 1 { padding } else { 0 };
    let results = |input: usize, phase: usize| (input + padding - skipped).saturating_sub(phase).div_ceil(stride);
    let output = (results(size.input.0, phase.0), results(size.input.1, phase.1));
    if kernel.0 * kernel.1 * output.0 * output.1 == 0 {
        return;
    }
    let windows = Windows {
        batch: size.batch,
        input: (size.output.0, size.output.1, k),
        output,
        kernel,
        stride: 1,
        padding: (kernel.0 - 1 - skipped, kernel.1 - 1 - skipped),
    };
    with_scratch(kernel.0 * kernel.1 * k * c, |turned| {
        turn(weight, size, phase, kernel, turned);
        if stride == 1 {
            convolve(&windows, grad, turned, c, grad_x, add_row);
        } else {
            with_scratch(size.batch * output.0 * output.1 * c, |values| {
                convolve(&windows, grad, turned, c, values, |y, values| y.copy_from_slice(values));
                scatter(values, size, phase, output, grad_x);
            });
        }
    });
}

#[inline(always)]
fn add_row(target: &mut [f32], values: &[f32]) {
    for (target, value) in target.iter_mut().zip(values) {
        *target += value;
    }
}

/// Adds `values: (B, output, C)` to every `stride`-th pixel of `grad_x`.
fn scatter(
    values: &[f32],
    size: &Conv2dSize,
    phase: (usize, usize),
    output: (usize, usize),
    grad_x: &mut [f32],
) {
    let (stride, padding, (h, w), c) = (
        size.options.stride,
        size.options.padding,
        size.input,
        size.channels.0,
    );
    let large = values.len() >= ELEMENTWISE_LEN;
    for_each_chunk_if(large, grad_x, w * c, |start, row| {
        let (image, y) = (start / (w * c) / h, start / (w * c) % h + padding);
        if y % stride != phase.0 {
            return;
        }
        let values = &values[(image * output.0 + y / stride) * output.1 * c..][..output.1 * c];
        simd(|| {
            for (x, target) in row
                .chunks_exact_mut(c)
                .enumerate()
                .skip((phase.1 + stride - padding % stride) % stride)
                .step_by(stride)
            {
                let from = (x + padding) / stride * c;
                for (target, value) in target.iter_mut().zip(&values[from..from + c]) {
                    *target += value;
                }
            }
        });
    });
}

/// `turned[u, v, k, c] = weight[phase + stride · (kernel − 1 − (u, v)), c, k]`.
fn turn(
    weight: &[f32],
    size: &Conv2dSize,
    phase: (usize, usize),
    kernel: (usize, usize),
    turned: &mut [f32],
) {
    let (stride, (c, k)) = (size.options.stride, size.channels);
    let large = turned.len() >= ELEMENTWISE_LEN;
    for_each_chunk_if(large, turned, c * k, |start, turned| {
        let (u, v) = (start / (c * k) / kernel.1, start / (c * k) % kernel.1);
        let (r, s) = (
            phase.0 + stride * (kernel.0 - 1 - u),
            phase.1 + stride * (kernel.1 - 1 - v),
        );
        transpose(
            &weight[(r * size.kernel.1 + s) * c * k..][..c * k],
            k,
            turned,
            c,
        );
    });
}

/// `to[j, i] = from[i, j]`, in blocks that stay in the L1 cache.
fn transpose(from: &[f32], columns: usize, to: &mut [f32], rows: usize) {
    const SIDE: usize = 16;
    for i in (0..rows).step_by(SIDE) {
        for j in (0..columns).step_by(SIDE) {
            for jj in j..(j + SIDE).min(columns) {
                for ii in i..(i + SIDE).min(rows) {
                    to[jj * rows + ii] = from[ii * columns + jj];
                }
            }
        }
    }
}
