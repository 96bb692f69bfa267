//! Depthwise convolutions on the CPU: every channel is convolved separately; vectors hold neighbouring channels.
//!
//! If each channel has several results (K = n C), every input channel is repeated n times in a copy, so that input and
//! result have the same channels; the input's gradient is summed over the n copies.

mod plan;
mod rows;

use plan::Plan;
use rows::{Rows, WeightSums, padded};

use super::Conv2dSize;
use crate::ops::chunks::{for_rows, rows_per_chunk};
use crate::ops::gemm::{Accumulate, sum_partials};
use crate::ops::parallel::{MIN_PARALLEL_FLOP, for_each_chunk_if};
use crate::ops::scratch::with_scratch;
use crate::ops::simd::{dispatch_simd, f32_lanes, simd};

/// The largest number of parts of the results' rows whose weight gradients are computed separately and then summed.
const SEGMENTS: usize = 32;

/// `y = conv(x, weight) + bias`.
pub(super) fn forward(
    size: &Conv2dSize,
    x: &[f32],
    weight: &[f32],
    bias: Option<&[f32]>,
    y: &mut [f32],
) {
    with_repeated(size, x, |x| {
        let plan = Plan::forward(size, size.channels.1);
        let bias = bias.unwrap_or_default();
        convolve(size, &plan, (x, weight, bias), (y, Accumulate::Replace));
    });
}

/// The input's gradient: overwrites `grad_x` or is added to it, as `accumulate` says.
pub(super) fn backward_x(
    size: &Conv2dSize,
    grad: &[f32],
    weight: &[f32],
    (grad_x, accumulate): (&mut [f32], Accumulate),
) {
    let (plan, each) = (Plan::backward(size), size.group_channels().1);
    if each == 1 {
        return convolve(size, &plan, (grad, weight, &[]), (grad_x, accumulate));
    }
    with_scratch(grad_x.len() * each, |repeated| {
        convolve(
            size,
            &plan,
            (grad, weight, &[]),
            (repeated, Accumulate::Replace),
        );
        for_rows(grad_x, size.channels.0, |first, grad_x| {
            let repeated = &repeated[first * size.channels.1..];
            for (grad, repeated) in grad_x.iter_mut().zip(repeated.chunks_exact(each)) {
                let sum: f32 = repeated.iter().sum();
                *grad = match accumulate {
                    Accumulate::Replace => sum,
                    Accumulate::Add => *grad + sum,
                };
            }
        });
    });
}

/// The weight's gradient: overwrites `grad_weight` or is added to it, as `accumulate` says.
pub(super) fn backward_weight(
    size: &Conv2dSize,
    x: &[f32],
    grad: &[f32],
    (grad_weight, accumulate): (&mut [f32], Accumulate),
) {
    let (channels, rows) = (size.channels.1, size.batch * size.output.0);
    let tap = padded(channels);
    let plan = Plan::forward(size, tap);
    let len = grad_weight.len() / channels * tap;
    // More partial sums pay off only while they are short compared with the gradient of the results.
    let segments = (grad.len() / (4 * len)).clamp(1, SEGMENTS).min(rows);
    let each = rows.div_ceil(segments);
    let segments = rows.div_ceil(each);
    with_repeated(size, x, |x| {
        with_scratch(segments * len, |partials| {
            for_each_chunk_if(is_large(size), partials, len, |start, sums| {
                let first = start / len * each;
                sums.fill(0.0);
                dispatch_simd(WeightSums {
                    plan: &plan,
                    source: x,
                    grad,
                    rows: first..(first + each).min(rows),
                    sums,
                });
            });
            let (total, others) = partials.split_at_mut(len);
            sum_partials(total, Accumulate::Add, others);
            for (grad, total) in grad_weight
                .chunks_exact_mut(channels)
                .zip(total.chunks_exact(tap))
            {
                unpad(grad, total, accumulate);
            }
        });
    });
}

/// Writes the sums of one tap to its gradient or adds them to it. In `sums` the last vector has the last channels and
/// may repeat channels of the vector before ([`rows::WeightSums`]).
fn unpad(grad: &mut [f32], sums: &[f32], accumulate: Accumulate) {
    let whole = grad.len() / f32_lanes() * f32_lanes();
    let (first, rest) = grad.split_at_mut(whole);
    let last = if whole == 0 {
        &sums[..rest.len()]
    } else {
        &sums[sums.len() - rest.len()..]
    };
    for (grad, sum) in first
        .iter_mut()
        .chain(rest)
        .zip(sums[..whole].iter().chain(last))
    {
        *grad = match accumulate {
            Accumulate::Replace => *sum,
            Accumulate::Add => *grad + sum,
        };
    }
}

fn is_large(size: &Conv2dSize) -> bool {
    size.flop() >= MIN_PARALLEL_FLOP
}

fn convolve(
    size: &Conv2dSize,
    plan: &Plan,
    (source, weight, bias): (&[f32], &[f32], &[f32]),
    (target, accumulate): (&mut [f32], Accumulate),
) {
    let row = plan.target_row;
    for_each_chunk_if(
        is_large(size),
        target,
        rows_per_chunk(row) * row,
        |start, target| {
            dispatch_simd(Rows {
                plan,
                source,
                weight,
                first: start / row,
                target,
                bias,
                adds: accumulate.adds(),
            });
        },
    );
}

/// Calls `work` with a copy of `x` in which every channel is repeated once for each of its results; with `x` itself if
/// each channel has one result.
fn with_repeated(size: &Conv2dSize, x: &[f32], work: impl FnOnce(&[f32])) {
    let (channels, each) = (size.channels.0, size.group_channels().1);
    if each == 1 {
        return work(x);
    }
    with_scratch(x.len() * each, |repeated| {
        for_rows(repeated, channels * each, |first, repeated| {
            let x = &x[first * channels..];
            simd!({
                for (repeated, value) in repeated.chunks_exact_mut(each).zip(x) {
                    repeated.fill(*value);
                }
            });
        });
        work(repeated);
    });
}
