//! RMS norm on CUDA: one warp per row; the gradient of the scale by the sums over rows of layer norm.

use dfdx::tensor::Cuda;

use super::RmsNormKernel;
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::gemm::Accumulate;
use crate::ops::layer_norm::cuda::{add_columns, over_rows};

impl RmsNormKernel for Cuda {
    fn rms_norm(
        &self,
        x: &Buffer<Self>,
        gamma: &Buffer<Self>,
        eps: f32,
    ) -> Result<(Buffer<Self>, Buffer<Self>)> {
        let features = self.buffer_len(gamma);
        let rows = self.buffer_len(x) / features;
        let (mut y, mut rstd) = (
            self.spare_buffer(rows * features)?,
            self.spare_buffer(rows)?,
        );
        over_rows("rms_norm_forward", rows)
            .args((x, gamma, &mut y, &mut rstd, rows, features, eps))
            .run()?;
        Ok((y, rstd))
    }

    fn rms_norm_backward(
        &self,
        x: &Buffer<Self>,
        gamma: &Buffer<Self>,
        rstd: &Buffer<Self>,
        grad: &mut Buffer<Self>,
        grad_gamma: Option<(&mut Buffer<Self>, Accumulate)>,
    ) -> Result<()> {
        if let Some(grad_gamma) = grad_gamma {
            add_columns(self, Some((x, None, rstd)), grad, grad_gamma)?;
        }
        let features = self.buffer_len(gamma);
        let rows = self.buffer_len(x) / features;
        over_rows("rms_norm_backward", rows)
            .args((x, gamma, rstd, grad, rows, features))
            .run()?;
        Ok(())
    }
}
