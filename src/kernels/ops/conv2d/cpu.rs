//! Convolution on the CPU: selects the algorithm by [`super::ConvAlgorithm`] and shape, and calls its implementation.

use dfdx::tensor::Cpu;

use super::algorithm::record_algorithm_use;
use super::direct::{by_rows, by_segments, convolve};
use super::windows::Windows;
use super::{Conv2dKernel, Conv2dSize, backward, depthwise, groups, winograd};
use crate::device::{Backend, Buffer};
use crate::ops::gemm::{Accumulate, Matrix, with_right_matrix};
use crate::ops::parallel::MIN_PARALLEL_FLOP;
use crate::ops::{PooledBuffer, Result};

/// The largest number of parts of a batch whose weight gradients are computed separately and then summed.
const SEGMENTS: usize = 8;
impl Conv2dKernel for Cpu {
    fn conv2d(
        &self,
        x: &PooledBuffer<Self>,
        weight: &PooledBuffer<Self>,
        bias: Option<&Buffer<Self>>,
        size: &Conv2dSize,
    ) -> Result<Buffer<Self>> {
        let mut y = self.uninit_buffer(size.output_shape().len())?;
        record_algorithm_use(if size.is_depthwise() {
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

/// `y = conv(x, weight) + bias`.
fn forward(size: &Conv2dSize, x: &[f32], weight: &[f32], bias: Option<&[f32]>, y: &mut [f32]) {
    if size.is_depthwise() {
        return depthwise::forward(size, x, weight, bias, y);
    }
    if size.options.groups > 1 {
        let (c, k) = size.group_channels();
        let (inputs, result) = ([(x, c), (weight, k)], (y, k, Accumulate::Replace));
        return groups::for_each_group(size, inputs, result, |group, own, [x, weight], y| {
            let bias = bias.map(|bias| &bias[group * k..][..k]);
            forward(own, x, weight, bias, y);
        });
    }
    if let Some(tile) = size.algorithm.tile(size) {
        return winograd::forward(tile, &winograd_shape(size), x, weight, bias, y);
    }
    let k = size.channels.1;
    let large = size.flop() >= MIN_PARALLEL_FLOP;
    let weight = Matrix::new(weight, weight.len() / k, k);
    with_right_matrix(size.arithmetic, weight, large, |weight| {
        convolve(
            &windows(size),
            x,
            weight,
            large,
            y,
            |y, values| match bias {
                Some(bias) => biased(y, values, bias),
                None => y.copy_from_slice(values),
            },
        );
    });
}

/// The input's gradient: overwrites `grad_x` or is added to it, as `accumulate` says.
fn backward_x(
    size: &Conv2dSize,
    grad: &[f32],
    weight: &[f32],
    (grad_x, accumulate): (&mut [f32], Accumulate),
) {
    if size.is_depthwise() {
        return depthwise::backward_x(size, grad, weight, (grad_x, accumulate));
    }
    if size.options.groups > 1 {
        let (c, k) = size.group_channels();
        let (inputs, result) = ([(grad, k), (weight, k)], (grad_x, c, accumulate));
        return groups::for_each_group(size, inputs, result, |_, own, [grad, weight], grad_x| {
            backward_x(own, grad, weight, (grad_x, Accumulate::Replace));
        });
    }
    if let Some(tile) = size.algorithm.tile(size) {
        let shape = winograd_shape(size);
        let turned = backward::rotated_taps(weight, size);
        return winograd::backward_x(tile, &shape, grad, &turned, (grad_x, accumulate));
    }
    if size.options.stride == 1 {
        backward::backward_stride_one(grad, weight, size, (grad_x, accumulate));
    } else {
        backward::backward_strided(grad, weight, size, (grad_x, accumulate));
    }
}

/// The weight's gradient: overwrites `grad_weight` or is added to it, as `accumulate` says.
fn backward_weight(
    size: &Conv2dSize,
    x: &[f32],
    grad: &[f32],
    (grad_weight, accumulate): (&mut [f32], Accumulate),
) {
    if size.is_depthwise() {
        return depthwise::backward_weight(size, x, grad, (grad_weight, accumulate));
    }
    if size.options.groups > 1 {
        let (c, k) = size.group_channels();
        let (inputs, result) = ([(x, c), (grad, k)], (grad_weight, k, accumulate));
        return groups::for_each_group(size, inputs, result, |_, own, [x, grad], grad_weight| {
            backward_weight(own, x, grad, (grad_weight, Accumulate::Replace));
        });
    }
    if let Some(tile) = size.algorithm.tile(size) {
        let shape = winograd_shape(size);
        return winograd::backward_weight(tile, &shape, x, grad, (grad_weight, accumulate));
    }
    let windows = windows(size);
    let (c, k) = size.channels;
    let parallel = size.flop() >= MIN_PARALLEL_FLOP;
    let segments = if parallel {
        size.batch.min(SEGMENTS)
    } else {
        1
    };
    // Partial weight gradients, which must be stored and summed, pay off only if they are smaller than input and
    // result.
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
        parallel: size.flop() >= MIN_PARALLEL_FLOP,
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
        arithmetic: size.arithmetic,
    }
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
