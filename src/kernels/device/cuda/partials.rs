//! [`Partials`]: reductions in two launches, in an order that depends only on the number of values.

use cudarc::driver::CudaSlice;
use dfdx::tensor::Cuda;

use super::{Launch, THREADS, downloaded, scratch};
use crate::device::{Backend, Buffer, DeviceError};

/// Largest number of blocks of a reduction: four for each multiprocessor of the largest GPUs.
const MOST_BLOCKS: usize = 528;

/// Partial sums: one `double` per block of the reducing kernel.
#[derive(Debug)]
pub struct Partials {
    values: CudaSlice<f64>,
    blocks: usize,
}

impl Partials {
    /// Memory for the partial sums over `items`, for one block per `items_per_block` up to `MOST_BLOCKS` blocks; the
    /// kernel must loop if the blocks do not cover all items.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`].
    pub fn new(items: usize, items_per_block: usize) -> Result<Self, DeviceError> {
        let blocks = items.div_ceil(items_per_block).clamp(1, MOST_BLOCKS);
        Ok(Self {
            values: scratch(blocks)?,
            blocks,
        })
    }

    /// As [`Partials::new`], for a kernel whose threads take one value at a time: one block for every `2 * THREADS`
    /// values.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`].
    pub fn of_values(values: usize) -> Result<Self, DeviceError> {
        Self::new(values, 2 * THREADS)
    }

    /// Number of blocks to launch.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// The array that the blocks write to.
    pub fn values(&mut self) -> &mut CudaSlice<f64> {
        &mut self.values
    }

    /// The sum times `factor`, as one value on the device.
    ///
    /// # Errors
    /// Errors of the driver.
    pub fn total(self, device: &Cuda, factor: f64) -> Result<Buffer<Cuda>, DeviceError> {
        let mut total = device.uninit_buffer(1)?;
        Launch::new("device_total")
            .args((&self.values, self.blocks, factor, &mut total))
            .run()?;
        Ok(total)
    }

    /// Copies the sum to the host; waits for the device.
    ///
    /// # Errors
    /// Errors of the driver, including those of work that was queued before.
    pub fn downloaded(self) -> Result<f64, DeviceError> {
        Ok(downloaded(&self.values)?.iter().take(self.blocks).sum())
    }
}
