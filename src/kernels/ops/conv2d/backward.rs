//! The gradient of a convolution's input on the CPU: convolutions of the result's gradient, one per phase of the stride.

use super::Conv2dSize;
use super::cpu::convolve;
use super::windows::Windows;
use crate::ops::gemm::Accumulate;
use crate::ops::parallel::{ELEMENTWISE_LEN, for_each_chunk_if};
use crate::ops::scratch::with_scratch;
use crate::ops::simd::simd;

/// Adds to `grad_x` (with stride 1 also replaces) the part at padded rows and columns ≡ `phase` modulo the stride: a
/// stride-1 convolution of `grad` with the taps of that phase, turned by 180° and with their channels exchanged.
pub(super) fn backward_phase(
    grad: &[f32],
    weight: &[f32],
    size: &Conv2dSize,
    phase: (usize, usize),
    (grad_x, accumulate): (&mut [f32], Accumulate),
) {
    let (stride, padding, (c, k)) = (size.options.stride, size.options.padding, size.channels);
    let taps = |kernel: usize, phase: usize| kernel.saturating_sub(phase).div_ceil(stride);
    let kernel = (taps(size.kernel.0, phase.0), taps(size.kernel.1, phase.1));
    // With stride 1 the first `padding` results would be gradients of the padding: they are skipped.
    let skipped = if stride == 1 { padding } else { 0 };
    let results = |input: usize, phase: usize| {
        (input + padding - skipped)
            .saturating_sub(phase)
            .div_ceil(stride)
    };
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
        padding: (kernel.0 - 1 - skipped, kernel.1 - 1 - skipped),
    };
    with_scratch(kernel.0 * kernel.1 * k * c, |turned| {
        turn(weight, size, phase, kernel, turned);
        if stride == 1 {
            convolve(
                &windows,
                grad,
                turned,
                c,
                grad_x,
                |y, values| match accumulate {
                    Accumulate::Replace => y.copy_from_slice(values),
                    Accumulate::Add => add_row(y, values),
                },
            );
        } else {
            with_scratch(size.batch * output.0 * output.1 * c, |values| {
                convolve(&windows, grad, turned, c, values, |y, values| {
                    y.copy_from_slice(values);
                });
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
        simd(
            #[inline(always)]
            || {
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
            },
        );
    });
}

/// `turned[u, v, k, c] = weight[phase + stride · (kernel − 1 − (u, v)), c, k]`.
pub(super) fn turn(
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
