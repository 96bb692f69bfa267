//! Paths in time on CUDA.
#![allow(
    clippy::cast_possible_wrap,
    reason = "sizes of what lies in a GPU's memory; kernels count within a path in 32 bits"
)]

use cudarc::driver::CudaSlice;
use dfdx::tensor::Cuda;

use super::PathBatch;
use crate::device::Buffer;
use crate::device::cuda::{Launch, scratch};
use crate::ops::OpError;

/// `(count, points, 2)`: [`PathBatch::generated`], then [`PathBatch::first`], on the device.
pub(in crate::ops) fn generated(
    outputs: &Buffer<Cuda>,
    steps: usize,
    (count, points): (usize, usize),
) -> Result<CudaSlice<f64>, OpError> {
    let mut paths = scratch(count * points * PathBatch::CHANNELS)?;
    Launch::new("path_batch_generated")
        .over(count * points)
        .read(outputs)
        .write(&mut paths)
        .number(count)
        .number(points)
        .number(steps)
        .run()?;
    Ok(paths)
}
