//! Dropout on CUDA: the CPU's mask, computed from its key in forward and again in backward, never stored.

use cudarc::driver::{CudaSlice, DeviceSlice};
use dfdx::tensor::Cuda;

use super::philox::BLOCK;
use super::{DropoutKernel, Mask};
use crate::device::cuda::Launch;
use crate::device::{Backend, Buffer};
use crate::ops::{GradSlots, OpError, Var};

/// Random words per counter.
const WORDS: usize = 4;

impl DropoutKernel for Cuda {
    fn dropout(&self, x: &Buffer<Self>, mask: Mask) -> Result<Buffer<Self>, OpError> {
        let mut y = self.zeros_buffer(self.buffer_len(x))?;
        dropout_add(self, x, &mut y, mask)?;
        Ok(y)
    }

    fn dropout_backward(
        &self,
        mask: Mask,
        dy: Buffer<Self>,
        (input, slots): (&Var<Self>, &mut GradSlots<'_, Self>),
    ) -> Result<(), OpError> {
        dropout_add(self, &dy, slots.of(input)?, mask)
    }
}

/// Adds the kept values of `x`, scaled, to `y`.
fn dropout_add(
    device: &Cuda,
    x: &Buffer<Cuda>,
    y: &mut Buffer<Cuda>,
    mask: Mask,
) -> Result<(), OpError> {
    let n = device.buffer_len(x);
    let counters = n.div_ceil(BLOCK) * (BLOCK / WORDS);
    Launch::new("dropout_add")
        .over(counters)
        .read(x)
        .write(y)
        .u64(mask.key)
        .u32(mask.threshold)
        .float(mask.scale)
        .size(counters)
        .size(n)
        .run()?;
    Ok(())
}

/// Kept values, scaled, and zeros elsewhere, from `values` or, without them, in place.
pub(in crate::ops) fn drop_some(
    values: Option<&CudaSlice<f32>>,
    dropped: &mut CudaSlice<f32>,
    mask: Mask,
) -> Result<(), OpError> {
    let n = dropped.len();
    let counters = n.div_ceil(BLOCK) * (BLOCK / WORDS);
    Launch::new("dropout_replace")
        .over(counters)
        .read_if(values)
        .write(dropped)
        .u64(mask.key)
        .u32(mask.threshold)
        .float(mask.scale)
        .size(counters)
        .size(n)
        .run()?;
    Ok(())
}
