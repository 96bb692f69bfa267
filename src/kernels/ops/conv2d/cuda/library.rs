//! Convolution by cuDNN, which needs weights as `(K, kh, kw, C/groups)`: weights are transposed before the call, their
//! gradient after it.
//!
//! In 16-bit arithmetic, input and weight are rounded and zero-padded to a multiple of eight channels; cuDNN sums in
//! `f32` and writes 16-bit results, to which bias and existing gradients are added in `f32`.
//!
//! `forward`, `backward_x` and `backward_weight` return false, with the result untouched, if cuDNN does not support the
//! convolution.

use std::rc::Rc;

use cudarc::driver::{CudaSlice, DeviceSlice};
use dfdx::tensor::Cuda;

use crate::device::cuda::{
    Argument, Convolution, ConvolutionPlan, Direction, Factor, Launch, arithmetic, scratch,
};
use crate::device::{Backend, Buffer, DeviceError};
use crate::ops::{Conv2dSize, PooledBuffer};

/// Rows and columns of the part of the weight matrix that one CUDA block transposes.
const TILE: usize = 32;

/// `y = conv(x, weight) + bias`.
pub(super) fn forward(
    x: &PooledBuffer<Cuda>,
    weight: &PooledBuffer<Cuda>,
    bias: Option<&Buffer<Cuda>>,
    size: &Conv2dSize,
    y: &mut Buffer<Cuda>,
) -> Result<bool, DeviceError> {
    let Some(plan) = convolution(size).plan(Direction::Forward)? else {
        return Ok(false);
    };
    if !plan.is_half() {
        let filter = filter(weight, &plan, size)?;
        return Ok(plan.run::<f32, _, _, _>(&**x, &*filter, y)? && {
            add_bias(bias, size, y)?;
            true
        });
    }
    let (c, k) = plan.channels;
    let filter = filter_half(weight, &plan, size)?;
    let mut half = scratch::<u16>(results(size) * k)?;
    let x = halved(x, pixels(size), size.channels.0, c)?;
    Ok(plan.run::<u16, _, _, _>(&*x, &*filter, &mut half)? && {
        widen(&half, bias, y, (size.channels.1, k), false)?;
        true
    })
}

pub(super) fn backward_x(
    grad: &PooledBuffer<Cuda>,
    weight: &PooledBuffer<Cuda>,
    size: &Conv2dSize,
    (grad_x, adds): (&mut Buffer<Cuda>, bool),
) -> Result<bool, DeviceError> {
    let Some(plan) = convolution(size).plan(Direction::BackwardX)? else {
        return Ok(false);
    };
    if !plan.is_half() {
        let filter = filter(weight, &plan, size)?;
        if !adds {
            return plan.run::<f32, _, _, _>(&*filter, &**grad, grad_x);
        }
        let n = pixels(size) * size.channels.0;
        let mut own = scratch::<f32>(n)?;
        return Ok(plan.run::<f32, _, _, _>(&*filter, &**grad, &mut own)? && {
            Launch::new("update_add_scaled")
                .over(n)
                .args((grad_x, &own, 1.0_f32, n))
                .run()?;
            true
        });
    }
    let (c, k) = plan.channels;
    let filter = filter_half(weight, &plan, size)?;
    let grad = halved(grad, results(size), size.channels.1, k)?;
    let mut half = scratch::<u16>(pixels(size) * c)?;
    Ok(plan.run::<u16, _, _, _>(&*filter, &*grad, &mut half)? && {
        widen(&half, None, grad_x, (size.channels.0, c), adds)?;
        true
    })
}

pub(super) fn backward_weight(
    x: &PooledBuffer<Cuda>,
    grad: &PooledBuffer<Cuda>,
    size: &Conv2dSize,
    (grad_weight, adds): (&mut Buffer<Cuda>, bool),
) -> Result<bool, DeviceError> {
    let Some(plan) = convolution(size).plan(Direction::BackwardWeight)? else {
        return Ok(false);
    };
    let (c, k) = plan.channels;
    if !plan.is_half() {
        let mut filter = scratch::<f32>(rows(&plan, size) * k)?;
        return Ok(plan.run::<f32, _, _, _>(&**x, &**grad, &mut filter)? && {
            tiled("conv2d_add_filter", &filter, grad_weight, &plan, size)
                .args((rows(&plan, size), adds))
                .run()?;
            true
        });
    }
    let x = halved(x, pixels(size), size.channels.0, c)?;
    let grad = halved(grad, results(size), size.channels.1, k)?;
    let mut filter = scratch::<u16>(rows(&plan, size) * k)?;
    Ok(plan.run::<u16, _, _, _>(&*x, &*grad, &mut filter)? && {
        tiled("conv2d_add_filter_half", &filter, grad_weight, &plan, size)
            .args((c / size.options.groups, rows(&plan, size), adds))
            .arg(arithmetic()?)
            .run()?;
        true
    })
}

fn convolution(size: &Conv2dSize) -> Convolution {
    Convolution {
        batch: size.batch,
        input: size.input,
        output: size.output,
        kernel: size.kernel,
        channels: size.channels,
        stride: size.options.stride,
        padding: size.options.padding,
        dilation: size.options.dilation,
        groups: size.options.groups,
    }
}

/// The weight in cuDNN's layout; cached until the weight changes.
fn filter(
    weight: &PooledBuffer<Cuda>,
    plan: &ConvolutionPlan,
    size: &Conv2dSize,
) -> Result<Rc<CudaSlice<f32>>, DeviceError> {
    let (rows, k) = (rows(plan, size), plan.channels.1);
    weight.rounded().filter.get([rows, k], || {
        let mut filter = scratch(rows * k)?;
        tiled("conv2d_filter", &**weight, &mut filter, plan, size)
            .arg(rows)
            .run()?;
        Ok(filter)
    })
}

/// The weight in cuDNN's layout, rounded to 16 bits and zero-padded; cached until the weight changes.
fn filter_half(
    weight: &PooledBuffer<Cuda>,
    plan: &ConvolutionPlan,
    size: &Conv2dSize,
) -> Result<Rc<CudaSlice<u16>>, DeviceError> {
    let (rows, k) = (rows(plan, size), plan.channels.1);
    let key = (arithmetic()?, [rows, k]);
    weight.rounded().half_filter.get(key, || {
        let mut filter = scratch(rows * k)?;
        tiled("conv2d_filter_half", &**weight, &mut filter, plan, size)
            .args((plan.channels.0 / size.options.groups, k, rows))
            .arg(arithmetic()?)
            .run()?;
        Ok(filter)
    })
}

/// Launch of kernel `name` over 32 × 32 tiles of the weight matrix `(kh kw C', K')`, C' and K' the padded channels,
/// with the leading arguments that all kernels that convert between the two weight layouts share.
fn tiled<A, B>(
    name: &'static str,
    from: impl Argument<A>,
    to: impl Argument<B>,
    plan: &ConvolutionPlan,
    size: &Conv2dSize,
) -> Launch {
    let (c, k) = (size.group_channels().0, size.channels.1);
    let across = rows(plan, size).div_ceil(TILE);
    Launch::new(name)
        .grid([across, plan.channels.1.div_ceil(TILE), 1])
        .args((from, to, c, k))
}

/// `x` as `pixels` rows of `channels` values, rounded to 16 bits, each row zero-padded to `padded` values.
fn halved(
    x: &PooledBuffer<Cuda>,
    pixels: usize,
    channels: usize,
    padded: usize,
) -> Result<Rc<CudaSlice<u16>>, DeviceError> {
    if channels == padded {
        return Ok(x.half(0, pixels * channels)?.0);
    }
    let n = pixels * padded;
    let mut half = scratch(n)?;
    Launch::new("conv2d_halve")
        .over_tiles(n)
        .args((&**x, &mut half, n, channels, padded, arithmetic()?))
        .run()?;
    Ok(Rc::new(half))
}

/// The values of `half`, converted from 16 bits to `f32`; for values that are kept in 16 bits only.
pub(super) fn widened(device: &Cuda, half: &CudaSlice<u16>) -> Result<Buffer<Cuda>, DeviceError> {
    let mut values = device.uninit_buffer(half.len())?;
    widen(half, None, &mut values, (1, 1), false)?;
    Ok(values)
}

/// Converts rows of `padded` 16-bit values to rows of `channels` `f32` values, adds the bias, and writes the sums to
/// `y` or, with `adds`, adds them to it.
fn widen(
    half: &CudaSlice<u16>,
    bias: Option<&Buffer<Cuda>>,
    y: &mut Buffer<Cuda>,
    (channels, padded): (usize, usize),
    adds: bool,
) -> Result<(), DeviceError> {
    let n = half.len() / padded * channels;
    Launch::new("conv2d_widen")
        .over_tiles(n)
        .args((half, bias, y, n, channels, padded, adds, arithmetic()?))
        .run()
}

fn pixels(size: &Conv2dSize) -> usize {
    size.batch * size.input.0 * size.input.1
}

fn results(size: &Conv2dSize) -> usize {
    size.batch * size.output.0 * size.output.1
}

/// Number of weights per output channel in cuDNN's layout, padding included.
fn rows(plan: &ConvolutionPlan, size: &Conv2dSize) -> usize {
    size.kernel.0 * size.kernel.1 * (plan.channels.0 / size.options.groups)
}

pub(super) fn add_bias(
    bias: Option<&Buffer<Cuda>>,
    size: &Conv2dSize,
    y: &mut Buffer<Cuda>,
) -> Result<(), DeviceError> {
    let Some(bias) = bias else { return Ok(()) };
    let n = size.output_shape().len();
    Launch::new("conv2d_add_bias")
        .over_tiles(n)
        .args((bias, y, n, size.channels.1))
        .run()
}
