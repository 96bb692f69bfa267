//! RMS norm on CUDA: one warp per row; layer norm's kernel for sums over rows computes the gradient of the scale.

use dfdx::tensor::Cuda;

use super::RmsNormKernel;
use crate::device::cuda::arithmetic;
use crate::device::{Backend, Buffer};
use crate::ops::gemm::Accumulate;
use crate::ops::layer_norm::cuda::{add_columns, over_rows};
use crate::ops::{PooledBuffer, Result};

impl RmsNormKernel for Cuda {
    fn rms_norm(
        &self,
        x: &PooledBuffer<Self>,
        gamma: &Buffer<Self>,
        eps: f32,
        keeps: bool,
    ) -> Result<(Buffer<Self>, Buffer<Self>)> {
        let features = self.buffer_len(gamma);
        let rows = self.buffer_len(x) / features;
        let (mut y, mut rstd) = (
            self.uninit_buffer(rows * features)?,
            self.uninit_buffer(rows)?,
        );
        let mut half = x.half_to_keep(keeps, features)?;
        over_rows("rms_norm_forward", rows)
            .args((&**x, gamma, half.as_mut(), &mut y, &mut rstd))
            .args((rows, features, eps, arithmetic()?))
            .run()?;
        x.keep_half(half)?;
        Ok((y, rstd))
    }

    fn rms_norm_backward(
        &self,
        x: &PooledBuffer<Self>,
        gamma: &Buffer<Self>,
        rstd: &Buffer<Self>,
        grad: &mut Buffer<Self>,
        grad_gamma: Option<(&mut Buffer<Self>, Accumulate)>,
    ) -> Result<()> {
        if let Some(grad_gamma) = grad_gamma {
            add_columns(self, Some((x, None, rstd)), grad, grad_gamma)?;
        }
        let features = self.buffer_len(gamma);
        let rows = self.buffer_len(grad) / features;
        over_rows("rms_norm_backward", rows)
            .args((&**x, x.only_half()?.as_deref(), gamma, rstd, grad))
            .args((rows, features, arithmetic()?))
            .run()?;
        Ok(())
    }
}
