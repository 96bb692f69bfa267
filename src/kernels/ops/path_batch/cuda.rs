//! Paths in time on CUDA.

use cudarc::driver::CudaSlice;
use dfdx::tensor::Cuda;

use super::PathBatch;
use crate::device::Buffer;
use crate::device::cuda::{Launch, scratch};
use crate::ops::Result;

/// `(count, points, 2)`: [`PathBatch::generated`], then [`PathBatch::first`], on the device.
pub(in crate::ops) fn generated(
    outputs: &Buffer<Cuda>,
    steps: usize,
    (count, points): (usize, usize),
) -> Result<CudaSlice<f64>> {
    let mut paths = scratch(count * points * PathBatch::CHANNELS)?;
    Launch::new("path_batch_generated")
        .over(count * points)
        .args((outputs, &mut paths, count, points, steps))
        .run()?;
    Ok(paths)
}
