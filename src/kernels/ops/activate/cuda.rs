//! Activations on CUDA: one pass forward, one backward.

use dfdx::tensor::Cuda;

use super::ActivateKernel;
use crate::device::cuda::Launch;
use crate::device::{Backend, Buffer};
use crate::ops::{Activation, OpError};

impl ActivateKernel for Cuda {
    fn activate(&self, x: &Buffer<Self>, activation: Activation) -> Result<Buffer<Self>, OpError> {
        let n = self.buffer_len(x);
        let mut y = self.zeros_buffer(n)?;
        Launch::new("activate_forward")
            .over_tiles(n)
            .read(x)
            .write(&mut y)
            .size(n)
            .int(activation.code())
            .run()?;
        Ok(y)
    }

    fn activate_backward(
        &self,
        kept: &Buffer<Self>,
        grad: &mut Buffer<Self>,
        activation: Activation,
    ) -> Result<(), OpError> {
        let n = self.buffer_len(kept);
        Launch::new("activate_backward")
            .over_tiles(n)
            .read(kept)
            .write(grad)
            .size(n)
            .int(activation.code())
            .run()?;
        Ok(())
    }
}
