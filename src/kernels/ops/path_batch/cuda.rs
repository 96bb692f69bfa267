//! Paths in time (series of times and values) on CUDA.

use std::cell::OnceCell;
use std::rc::Rc;

use cudarc::driver::CudaSlice;
use dfdx::tensor::Cuda;

use super::PathBatch;
use crate::device::Buffer;
use crate::device::cuda::{Launch, scratch, uploaded};
use crate::ops::Result;

/// The device copy of `values`, which the first call makes and caches in `known`.
pub(in crate::ops) fn cached_on_device(
    known: &OnceCell<Rc<CudaSlice<f64>>>,
    values: impl FnOnce() -> Vec<f64>,
) -> Result<Rc<CudaSlice<f64>>> {
    if let Some(known) = known.get() {
        return Ok(Rc::clone(known));
    }
    let values = Rc::new(uploaded(&values())?);
    Ok(Rc::clone(known.get_or_init(|| values)))
}

/// The paths `(count, points, 2)` of [`PathBatch::generated`], cut as by [`PathBatch::first`]; made on the device.
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
