//! Direct convolution on the CPU: one matrix product per filter row and chunk of result rows, on the layout of
//! [`super::windows`]. No im2col: the windows overlap in memory.

use dfdx::tensor::Cpu;

use super::windows::Windows;
use super::{Conv2dKernel, Conv2dSize};
use crate::device::{Backend, Buffer};
use crate::ops::OpError;
use crate::ops::gemm::{Into, Matrix, MatrixMut, even_chunk, product};
use crate::ops::linear::cpu::add_bias;
use crate::ops::parallel::{PRODUCT_FLOP, add_assign, for_each_chunk_if};
use crate::ops::scratch::with_scratch;
use crate::ops::simd::simd;

/// Positions of a chunk of result rows, about: its windows and results stay in the L2 cache.
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
        let k = size.channels.1;
        let mut y = vec![0.0; size.output_shape().len()];
        convolve(&windows(size), x, weight, k, &mut y, |y, values| {
            y.copy_from_slice(values);
            if let Some(bias) = bias {
                add_bias(y, bias);
            }
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
        let (rows, (c, k)) = (windows.output_rows(), size.channels);
        let positions = rows * windows.row_pitch();
        let parallel = size.flop() >= PRODUCT_FLOP;
        // Partial results pay where they are small against the factors that they are made from.
        if parallel && 2 * SEGMENTS * grad_weight.len() > positions * (c + k) {
            windowed(&windows, x, grad_output, k, 0..rows, |planes, grad| {
                let row = size.kernel.1 * c * k;
                for_each_chunk_if(true, grad_weight, row, |start, grad_weight| {
                    let a = planes.filter_row(&windows, start / row).transposed();
                    let block = even_chunk(size.kernel.1 * c, BLOCK);
                    for_each_chunk_if(true, grad_weight, block * k, |start, part| {
                        let count = part.len() / k;
                        product(
                            MatrixMut::new(part, count, k),
                            Into::Add,
                            a.row_range(start / k, count),
                            grad,
                        );
                    });
                });
            });
            return Ok(());
        }
        let chunk = if parallel {
            rows.div_ceil(SEGMENTS)
        } else {
            rows
        };
        let len = grad_weight.len();
        with_scratch(rows.div_ceil(chunk) * len, |partials| {
            for_each_chunk_if(parallel, partials, len, |start, partial| {
                let first = start / len * chunk;
                let range = first..(first + chunk).min(rows);
                windowed(&windows, x, grad_output, k, range, |planes, grad| {
                    let row = size.kernel.1 * c;
                    for (r, partial) in partial.chunks_exact_mut(row * k).enumerate() {
                        let a = planes.filter_row(&windows, r).transposed();
                        product(MatrixMut::new(partial, row, k), Into::Replace, a, grad);
                    }
                });
            });
            partials
                .chunks_exact(len)
                .for_each(|partial| add_assign(grad_weight, partial));
        });
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
    let rows = windows.output_rows();
    let chunk = even_chunk(rows, POSITIONS.div_ceil(windows.row_pitch()));
    let row = windows.output.1 * k;
    let large = 2 * y.len() * (weight.len() / k) >= PRODUCT_FLOP;
    for_each_chunk_if(large, y, chunk * row, |start, y| {
        let (first, last) = (start / row, (start + y.len()) / row - 1);
        let planes_len = Planes::len(windows, first, last);
        let virtual_rows = windows.virtual_row(last) - windows.virtual_row(first) + 1;
        let pitch = windows.row_pitch() * k;
        with_scratch(planes_len + virtual_rows * pitch, |memory| {
            let (planes, results) = memory.split_at_mut(planes_len);
            let planes = Planes::fill(windows, x, first, last, planes);
            let filter_row = weight.len() / windows.kernel.0;
            for (r, weight) in weight.chunks_exact(filter_row).enumerate() {
                let into = if r == 0 { Into::Replace } else { Into::Add };
                let results =
                    MatrixMut::new(&mut results[..planes.positions * k], planes.positions, k);
                product(
                    results,
                    into,
                    planes.filter_row(windows, r),
                    Matrix::new(weight, filter_row / k, k),
                );
            }
            simd(|| {
                for (i, y) in y.chunks_exact_mut(row).enumerate() {
                    let at = windows.virtual_row(first + i) - windows.virtual_row(first);
                    store(y, &results[at * pitch..][..row]);
                }
            });
        });
    });
}

/// The input of some result rows in the layout of [`Windows`].
struct Planes<'a> {
    values: &'a [f32],
    plane_len: usize,
    positions: usize,
}

impl<'a> Planes<'a> {
    fn len(windows: &Windows, first: usize, last: usize) -> usize {
        let rows = windows.virtual_row(last) - windows.virtual_row(first) + 1;
        windows.stride * windows.plane_len(rows)
    }

    /// Lays out what result rows `first..=last` need.
    fn fill(
        windows: &Windows,
        x: &[f32],
        first: usize,
        last: usize,
        memory: &'a mut [f32],
    ) -> Self {
        let (from, to) = (windows.virtual_row(first), windows.virtual_row(last));
        let plane_len = windows.plane_len(to - from + 1);
        for (parity, plane) in memory.chunks_exact_mut(plane_len).enumerate() {
            windows.fill_plane(x, from, parity, plane);
        }
        Self {
            values: memory,
            plane_len,
            positions: windows.positions(from, to),
        }
    }

    /// The windows of filter row `r`, one row per position.
    fn filter_row(&self, windows: &Windows, r: usize) -> Matrix<'_> {
        let (c, start) = (windows.input.2, windows.filter_row_start(r, self.plane_len));
        Matrix::strided(
            &self.values[start..],
            self.positions,
            windows.kernel.1 * c,
            windows.stride * c,
        )
    }
}

/// Calls `work` with the windows of result rows `range` and the gradient of these rows, laid out alike with zeros in
/// the positions between images.
fn windowed<R>(
    windows: &Windows,
    x: &[f32],
    grad: &[f32],
    k: usize,
    range: std::ops::Range<usize>,
    work: impl FnOnce(&Planes<'_>, Matrix<'_>) -> R,
) -> R {
    let (first, last) = (range.start, range.end - 1);
    let planes_len = Planes::len(windows, first, last);
    let pitch = windows.row_pitch() * k;
    let from = windows.virtual_row(first);
    let grads_len = (windows.virtual_row(last) - from + 1) * pitch;
    with_scratch(planes_len + grads_len, |memory| {
        let (planes, grads) = memory.split_at_mut(planes_len);
        let planes = Planes::fill(windows, x, first, last, planes);
        let row = windows.output.1 * k;
        let mut next = 0;
        for (grad, i) in grad[first * row..].chunks_exact(row).zip(range) {
            let at = (windows.virtual_row(i) - from) * pitch;
            grads[next..at].fill(0.0);
            grads[at..at + row].copy_from_slice(grad);
            next = at + row;
        }
        work(
            &planes,
            Matrix::new(&grads[..planes.positions * k], planes.positions, k),
        )
    })
}

/// Adds to `grad_x` what it gets at padded rows and columns ≡ `phase` modulo the stride: a convolution of the
/// gradient, with stride 1, by the taps of that phase, turned by 180° and with their channels exchanged.
fn backward_phase(
    grad: &[f32],
    weight: &[f32],
    size: &Conv2dSize,
    phase: (usize, usize),
    grad_x: &mut [f32],
) {
    let (stride, padding, (c, k)) = (size.options.stride, size.options.padding, size.channels);
    let taps = |kernel: usize, phase: usize| kernel.saturating_sub(phase).div_ceil(stride);
    let kernel = (taps(size.kernel.0, phase.0), taps(size.kernel.1, phase.1));
    let results =
        |input: usize, phase: usize| (input + padding).saturating_sub(phase).div_ceil(stride);
    let output = (
        results(size.input.0, phase.0),
        results(size.input.1, phase.1),
    );
    if kernel.0 * kernel.1 * output.0 * output.1 == 0 {
        return;
    }
    let windows = Windows {
        batch: size.batch,
        input: (size.output.0, size.output.1, k),
        output,
        kernel,
        stride: 1,
        padding: (kernel.0 - 1, kernel.1 - 1),
    };
    with_scratch(kernel.0 * kernel.1 * k * c, |turned| {
        turn(weight, size, phase, kernel, turned);
        with_scratch(size.batch * output.0 * output.1 * c, |values| {
            convolve(&windows, grad, turned, c, values, |y, values| {
                y.copy_from_slice(values)
            });
            scatter(values, size, phase, output, grad_x);
        });
    });
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
    let large = values.len() >= crate::ops::parallel::ELEMENTWISE_LEN;
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
    let large = turned.len() >= crate::ops::parallel::ELEMENTWISE_LEN;
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
