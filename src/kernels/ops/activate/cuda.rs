//! Activations on CUDA: one pass forward, one backward.

use dfdx::tensor::Cuda;

use super::ActivateKernel;
use crate::device::cuda::Launch;
use crate::device::{Backend, Buffer};
use crate::ops::{Activation, Result};

impl ActivateKernel for Cuda {
    fn activate(&self, x: &Buffer<Self>, activation: Activation) -> Result<Buffer<Self>> {
        let n = self.buffer_len(x);
        let mut y = self.uninit_buffer(n)?;
        Launch::new("activate_forward")
            .over_tiles(n)
            .args((x, &mut y, n, activation))
            .run()?;
        Ok(y)
    }

    fn activate_backward(
        &self,
        kept: &Buffer<Self>,
        grad: &mut Buffer<Self>,
        activation: Activation,
    ) -> Result<()> {
        let n = self.buffer_len(kept);
        Launch::new("activate_backward")
            .over_tiles(n)
            .args((kept, grad, n, activation))
            .run()?;
        Ok(())
    }
}
