//! Convolution by im2col and cuBLAS products: the window of every result (the input values that it reads) is copied to
//! a row of a matrix `(B H' W', kh kw C)`, for a part of the batch at a time.
//!
//! The columns of each group of channels are contiguous, and the groups are one batched product.
//!
//! `Y = windows · W`; `∇W = windowsᵀ · ∇Y`, written or added; `∇windows = ∇Y · Wᵀ`, from which every pixel sums its
//! gradient. The parts of the batch depend on shapes only and run one after another, so that the order of sums is
//! fixed.

use cudarc::driver::CudaSlice;
use dfdx::tensor::Cuda;

use crate::device::cuda::{Launch, Product, THREADS, scratch};
use crate::device::{Buffer, DeviceError};
use crate::ops::{Conv2dOptions, Conv2dSize, PooledBuffer};

/// Largest number of values of a matrix of windows (256 MiB); a single image may exceed it.
pub(super) const MOST_VALUES: usize = 1 << 26;

/// CUDA's limit of blocks along the second axis of a grid.
const MOST_BLOCKS: usize = 65_535;

/// `y = conv(x, weight)` without a bias; `most_values` limits the matrix of windows, as [`MOST_VALUES`] does.
pub(super) fn forward(
    x: &Buffer<Cuda>,
    weight: &PooledBuffer<Cuda>,
    size: &Conv2dSize,
    y: &mut Buffer<Cuda>,
    most_values: usize,
) -> Result<(), DeviceError> {
    let (row, k, groups) = (row_len(size), size.channels.1, size.options.groups);
    let part = part(size, most_values);
    let mut windows = scratch::<f32>(part * results(size) * row)?;
    for (first, images) in parts(size, part) {
        write_windows(x, size, (first, images), &mut windows)?;
        let start = first * results(size) * k;
        Product {
            strides: [row / groups, k / groups, k / groups],
            rows: [row, k, k],
            ..Product::new(images * results(size), k / groups, row / groups)
        }
        .batched(groups)
        .run_with_offsets((&windows, 0), (weight, 0), (y, start))?;
    }
    Ok(())
}

pub(super) fn backward_weight(
    x: &Buffer<Cuda>,
    grad: &PooledBuffer<Cuda>,
    size: &Conv2dSize,
    (grad_weight, adds): (&mut Buffer<Cuda>, bool),
    most_values: usize,
) -> Result<(), DeviceError> {
    let (row, k, groups) = (row_len(size), size.channels.1, size.options.groups);
    let part = part(size, most_values);
    let mut windows = scratch::<f32>(part * results(size) * row)?;
    for (first, images) in parts(size, part) {
        write_windows(x, size, (first, images), &mut windows)?;
        let start = first * results(size) * k;
        Product {
            strides: [row / groups, k / groups, k / groups],
            rows: [row, k, k],
            ..Product::new(row / groups, k / groups, images * results(size))
        }
        .batched(groups)
        .transposed_a()
        .adding(adds || first > 0)
        .run_with_offsets((&windows, 0), (grad, start), (grad_weight, 0))?;
    }
    Ok(())
}

pub(super) fn backward_x(
    grad: &PooledBuffer<Cuda>,
    weight: &PooledBuffer<Cuda>,
    size: &Conv2dSize,
    (grad_x, adds): (&mut Buffer<Cuda>, bool),
    most_values: usize,
) -> Result<(), DeviceError> {
    let (row, k, groups) = (row_len(size), size.channels.1, size.options.groups);
    let (height, width) = size.input;
    let part = part(size, most_values);
    let mut windows = scratch::<f32>(part * results(size) * row)?;
    for (first, images) in parts(size, part) {
        let start = first * results(size) * k;
        Product {
            strides: [k / groups, k / groups, row / groups],
            rows: [k, k, row],
            ..Product::new(images * results(size), row / groups, k / groups)
        }
        .batched(groups)
        .transposed_b()
        .run_with_offsets((grad, start), (weight, 0), (&mut windows, 0))?;
        let across = (width * size.channels.0).div_ceil(THREADS);
        let launch = Launch::new("conv2d_gather")
            .grid([images * height, across.min(MOST_BLOCKS), 1])
            .args((&windows, &mut *grad_x, first));
        let launch = with_size_args(launch, size, size.options.groups);
        launch.arg(adds).run()?;
    }
    Ok(())
}

/// Copies the windows of `images` images, from image `first` on, to the rows of the matrix `windows`.
fn write_windows(
    x: &Buffer<Cuda>,
    size: &Conv2dSize,
    (first, images): (usize, usize),
    windows: &mut CudaSlice<f32>,
) -> Result<(), DeviceError> {
    let (height, width) = size.input;
    let values = size.output.1 * size.kernel.1 * size.channels.0;
    let launch = Launch::new("conv2d_windows")
        .grid([images * size.output.0, size.kernel.0, 1])
        .threads(values.next_multiple_of(32).min(THREADS))
        .read_from(x, first * height * width * size.channels.0)
        .arg(windows);
    with_size_args(launch, size, size.options.groups).run()
}

/// Number of result pixels per image: the rows of its matrix of windows.
fn results(size: &Conv2dSize) -> usize {
    size.output.0 * size.output.1
}

fn row_len(size: &Conv2dSize) -> usize {
    size.kernel.0 * size.kernel.1 * size.channels.0
}

/// Number of images per part: as many as fit into a matrix of `most_values` values, at least one.
fn part(size: &Conv2dSize, most_values: usize) -> usize {
    let image = results(size) * row_len(size);
    (most_values / image.max(1)).clamp(1, size.batch.max(1))
}

/// First image and number of images of every part of the batch, for parts of `part` images.
fn parts(size: &Conv2dSize, part: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
    let batch = size.batch;
    (0..batch)
        .step_by(part)
        .map(move |first| (first, part.min(batch - first)))
}

/// Adds the sizes, the trailing arguments that most convolution kernels share; `last` is the number of result channels
/// or of groups.
pub(super) fn with_size_args(launch: Launch, size: &Conv2dSize, last: usize) -> Launch {
    let Conv2dOptions {
        stride,
        padding,
        dilation,
        ..
    } = size.options;
    let (input, output, kernel) = (size.input, size.output, size.kernel);
    launch
        .args((input.0, input.1, size.channels.0, output.0, output.1))
        .args((kernel.0, kernel.1, stride, padding, dilation, last))
}
