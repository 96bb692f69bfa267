//! Dropout on CUDA: the CPU's mask, computed from its key in forward and again in backward, never stored.

use dfdx::tensor::Cuda;

use super::philox::BLOCK;
use super::{DropoutKernel, Mask};
use crate::device::cuda::Launch;
use crate::device::{Backend, Buffer};
use crate::ops::OpError;

/// Random words per counter.
const WORDS: usize = 4;

impl DropoutKernel for Cuda {
    fn dropout(&self, x: &Buffer<Self>, mask: Mask) -> Result<Buffer<Self>, OpError> {
        let mut y = self.zeros_buffer(self.buffer_len(x))?;
        self.dropout_backward(mask, x, &mut y)?;
        Ok(y)
    }

    fn dropout_backward(
        &self,
        mask: Mask,
        dy: &Buffer<Self>,
        dx: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        let n = self.buffer_len(dy);
        let counters = n.div_ceil(BLOCK) * (BLOCK / WORDS);
        Launch::new("dropout_add")
            .over(counters)
            .read(dy)
            .write(dx)
            .u64(mask.key)
            .u32(mask.threshold)
            .float(mask.scale)
            .size(counters)
            .size(n)
            .run()?;
        Ok(())
    }
}
