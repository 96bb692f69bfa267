//! Mean squared error on CUDA: one f64 sum per block, then their mean; nothing is copied to the host.

use dfdx::tensor::Cuda;

use super::MseKernel;
use crate::device::cuda::{Launch, Partials};
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::gemm::Accumulate;

impl MseKernel for Cuda {
    fn mse(&self, x: &Buffer<Self>, target: &Buffer<Self>) -> Result<Buffer<Self>> {
        let n = self.buffer_len(x);
        let mut partials = Partials::of_values(n)?;
        Launch::new("mse_forward")
            .blocks(partials.blocks())
            .args((x, target, partials.values(), n))
            .run()?;
        Ok(partials.total(self, 1.0 / n as f64)?)
    }

    fn mse_backward(
        &self,
        x: &Buffer<Self>,
        target: &Buffer<Self>,
        dy: &Buffer<Self>,
        (dx, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let n = self.buffer_len(x);
        Launch::new("mse_backward")
            .over(n)
            .args((x, target, dy, dx, n, accumulate))
            .run()?;
        Ok(())
    }
}
