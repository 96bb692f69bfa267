//! SiLU on CUDA: one pass forward, one backward.

use dfdx::tensor::Cuda;

use super::SiluKernel;
use crate::device::cuda::Launch;
use crate::device::{Backend, Buffer};
use crate::ops::OpError;

impl SiluKernel for Cuda {
    fn silu(&self, x: &Buffer<Self>) -> Result<Buffer<Self>, OpError> {
        let n = self.buffer_len(x);
        let mut y = self.zeros_buffer(n)?;
        Launch::new("silu_forward")
            .over(n)
            .read(x)
            .write(&mut y)
            .size(n)
            .run()?;
        Ok(y)
    }

    fn silu_backward(
        &self,
        x: &Buffer<Self>,
        grad_output: &Buffer<Self>,
        grad_x: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        let n = self.buffer_len(x);
        Launch::new("silu_backward")
            .over(n)
            .read(x)
            .read(grad_output)
            .write(grad_x)
            .size(n)
            .run()?;
        Ok(())
    }
}
