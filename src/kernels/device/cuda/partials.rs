//! [`Partials`]: sums over many values by two launches, in an order that depends on their number only.

use cudarc::driver::CudaSlice;
use dfdx::tensor::Cuda;

use super::{Launch, THREADS, downloaded, scratch};
use crate::device::{Backend, Buffer, DeviceError};

/// Most blocks that share a sum: four for each multiprocessor of the largest GPUs.
const MOST_BLOCKS: usize = 528;

/// One `double` for each block of a kernel that sums; the block writes it.
#[derive(Debug)]
pub struct Partials {
    values: CudaSlice<f64>,
    blocks: usize,
}

impl Partials {
    /// Memory for the partial sums over `items`, of which a block takes `items_per_block` at a time and comes back for
    /// more where there are more than all blocks take at once.
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

    /// For a kernel whose threads take one value each, two at least before another block is worth its start.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`].
    pub fn of_values(values: usize) -> Result<Self, DeviceError> {
        Self::new(values, 2 * THREADS)
    }

    /// The blocks to launch.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Where the blocks write.
    pub fn values(&mut self) -> &mut CudaSlice<f64> {
        &mut self.values
    }

    /// The sum times `factor`, as one value on the device.
    ///
    /// # Errors
    /// What the driver answers.
    pub fn total(self, device: &Cuda, factor: f64) -> Result<Buffer<Cuda>, DeviceError> {
        let mut total = device.zeros_buffer(1)?;
        Launch::new("device_total")
            .read(&self.values)
            .size(self.blocks)
            .double(factor)
            .write(&mut total)
            .run()?;
        Ok(total)
    }

    /// The sum on the host; waits for the device.
    ///
    /// # Errors
    /// What the driver answers, for anything that was queued before.
    pub fn downloaded(self) -> Result<f64, DeviceError> {
        Ok(downloaded(&self.values)?.iter().take(self.blocks).sum())
    }
}
