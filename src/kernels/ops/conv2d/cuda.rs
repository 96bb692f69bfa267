//! Convolution on CUDA: by cuDNN if it is installed and supports the size, otherwise by im2col and matrix products; depthwise
//! by own kernels.

mod depthwise;
mod library;
mod windows;

use dfdx::tensor::Cuda;
use windows::MOST_VALUES;

use super::{Conv2dKernel, Conv2dSize};
use crate::device::cuda::Launch;
use crate::device::{Backend, Buffer, DeviceError};
use crate::ops::OpError;
use crate::ops::gemm::Accumulate;

impl Conv2dKernel for Cuda {
    fn conv2d(
        &self,
        x: &Buffer<Self>,
        weight: &Buffer<Self>,
        bias: Option<&Buffer<Self>>,
        size: &Conv2dSize,
    ) -> Result<Buffer<Self>, OpError> {
        let mut y = self.zeros_buffer(size.output_shape().len())?;
        if size.is_depthwise() {
            depthwise::forward(x, weight, bias, size, &mut y)?;
        } else if !library::forward(x, weight, bias, size, &mut y)? {
            windows::forward(x, weight, size, &mut y, MOST_VALUES)?;
            add_bias(bias, size, &mut y)?;
        }
        Ok(y)
    }

    fn conv2d_backward_x(
        &self,
        grad_output: &Buffer<Self>,
        weight: &Buffer<Self>,
        size: &Conv2dSize,
        (grad_x, _): (&mut Buffer<Self>, Accumulate),
    ) -> Result<(), OpError> {
        if size.is_depthwise() {
            depthwise::backward_x(grad_output, weight, size, grad_x)?;
        } else if !library::backward_x(grad_output, weight, size, grad_x)? {
            windows::backward_x(grad_output, weight, size, grad_x, MOST_VALUES)?;
        }
        Ok(())
    }

    fn conv2d_backward_weight(
        &self,
        x: &Buffer<Self>,
        grad_output: &Buffer<Self>,
        size: &Conv2dSize,
        (grad_weight, _): (&mut Buffer<Self>, Accumulate),
    ) -> Result<(), OpError> {
        if size.is_depthwise() {
            depthwise::backward_weight(x, grad_output, size, grad_weight)?;
        } else if !library::backward_weight(x, grad_output, size, grad_weight)? {
            windows::backward_weight(x, grad_output, size, grad_weight, MOST_VALUES)?;
        }
        Ok(())
    }
}

fn add_bias(
    bias: Option<&Buffer<Cuda>>,
    size: &Conv2dSize,
    y: &mut Buffer<Cuda>,
) -> Result<(), DeviceError> {
    let Some(bias) = bias else { return Ok(()) };
    let n = size.output_shape().len();
    Launch::new("conv2d_add_bias")
        .over_tiles(n)
        .read(bias)
        .write(y)
        .size(n)
        .u32(size.channels.1 as u32)
        .run()
}

#[cfg(test)]
mod tests;
