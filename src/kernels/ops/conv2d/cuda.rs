//! Convolution on CUDA: by cuDNN if it is installed and supports the size, otherwise by im2col and matrix products.
//! Depthwise convolutions are computed by Fieldtrial's own kernels.

mod depthwise;
mod library;
mod windows;

use dfdx::tensor::Cuda;
use windows::MOST_VALUES;

use super::{Conv2dKernel, Conv2dSize};
use crate::device::{Backend, Buffer};
use crate::ops::gemm::Accumulate;
use crate::ops::{PooledBuffer, Result};

impl Conv2dKernel for Cuda {
    fn conv2d(
        &self,
        x: &PooledBuffer<Self>,
        weight: &PooledBuffer<Self>,
        bias: Option<&Buffer<Self>>,
        size: &Conv2dSize,
    ) -> Result<Buffer<Self>> {
        let mut y = self.uninit_buffer(size.output_shape().len())?;
        if size.is_depthwise() {
            depthwise::forward(x, weight, bias, size, &mut y)?;
        } else if !library::forward(x, weight, bias, size, &mut y)? {
            windows::forward(x, weight, size, &mut y, MOST_VALUES)?;
            library::add_bias(bias, size, &mut y)?;
        }
        Ok(y)
    }

    fn conv2d_backward_x(
        &self,
        grad_output: &PooledBuffer<Self>,
        weight: &PooledBuffer<Self>,
        size: &Conv2dSize,
        (grad_x, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let adds = accumulate.adds();
        if size.is_depthwise() {
            depthwise::backward_x(grad_output, weight, size, (grad_x, adds))?;
        } else if !library::backward_x(grad_output, weight, size, (&mut *grad_x, adds))? {
            windows::backward_x(grad_output, weight, size, (grad_x, adds), MOST_VALUES)?;
        }
        Ok(())
    }

    fn conv2d_backward_weight(
        &self,
        x: &PooledBuffer<Self>,
        grad_output: &PooledBuffer<Self>,
        size: &Conv2dSize,
        (grad_weight, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let adds = accumulate.adds();
        if size.is_depthwise() {
            depthwise::backward_weight(x, grad_output, size, (grad_weight, adds))?;
        } else if !library::backward_weight(x, grad_output, size, (&mut *grad_weight, adds))? {
            let half = x.only_half()?;
            let widened = half.map(|half| library::widened(self, &half)).transpose()?;
            let x = widened.as_ref().unwrap_or(x);
            windows::backward_weight(x, grad_output, size, (grad_weight, adds), MOST_VALUES)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
