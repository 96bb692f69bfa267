//! Concatenation on CUDA: forward copies in the order of the result, backward in that of the inputs.

use dfdx::tensor::Cuda;

use super::ConcatKernel;
use crate::device::cuda::Launch;
use crate::device::{Backend, Buffer};
use crate::ops::OpError;
use crate::ops::gemm::Accumulate;

impl ConcatKernel for Cuda {
    fn concat(
        &self,
        a: &Buffer<Self>,
        b: &Buffer<Self>,
        (wa, wb): (usize, usize),
    ) -> Result<Buffer<Self>, OpError> {
        let n = self.buffer_len(a) + self.buffer_len(b);
        let mut y = self.zeros_buffer(n)?;
        Launch::new("concat_forward")
            .over_tiles(n)
            .read(a)
            .read(b)
            .write(&mut y)
            .size(n)
            .u32(wa as u32)
            .u32(wb as u32)
            .run()?;
        Ok(y)
    }

    fn concat_backward(
        &self,
        grad_output: &Buffer<Self>,
        total: usize,
        offset: usize,
        width: usize,
        // The CUDA kernels only add.
        (grad, _): (&mut Buffer<Self>, Accumulate),
    ) -> Result<(), OpError> {
        let n = self.buffer_len(grad);
        Ok(Launch::new("concat_backward")
            .over_tiles(n)
            .read(grad_output)
            .write(grad)
            .size(n)
            .u32(total as u32)
            .u32(offset as u32)
            .u32(width as u32)
            .run()?)
    }
}
