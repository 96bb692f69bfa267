//! Upsampling on CUDA: one thread per output value forward, one per input value backward, which gathers the gradients
//! of the outputs that the input enters.

use dfdx::tensor::Cuda;

use super::UpsampleKernel;
use crate::device::cuda::{Launch, THREADS};
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::gemm::Accumulate;

impl UpsampleKernel for Cuda {
    fn upsample_bilinear(
        &self,
        x: &Buffer<Self>,
        (b, h, w, c): (usize, usize, usize, usize),
    ) -> Result<Buffer<Self>> {
        let mut y = self.uninit_buffer(4 * b * h * w * c)?;
        Launch::new("upsample_forward")
            .grid([2 * b * h, (2 * w * c).div_ceil(THREADS), 1])
            .args((x, &mut y, h, w, c))
            .run()?;
        Ok(y)
    }

    fn upsample_bilinear_backward(
        &self,
        (b, h, w, c): (usize, usize, usize, usize),
        dy: &Buffer<Self>,
        (dx, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        Ok(Launch::new("upsample_backward")
            .grid([b * h, (w * c).div_ceil(THREADS), 1])
            .args((dy, dx, h, w, c, accumulate))
            .run()?)
    }

    fn upsample_nearest(
        &self,
        x: &Buffer<Self>,
        (_, _, w, c): (usize, usize, usize, usize),
        factor: usize,
    ) -> Result<Buffer<Self>> {
        let n = factor * factor * self.buffer_len(x);
        let mut y = self.uninit_buffer(n)?;
        Launch::new("upsample_nearest_forward")
            .over(n)
            .args((x, &mut y, n, w, c, factor))
            .run()?;
        Ok(y)
    }

    fn upsample_nearest_backward(
        &self,
        (_, _, w, c): (usize, usize, usize, usize),
        factor: usize,
        dy: &Buffer<Self>,
        (dx, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let n = self.buffer_len(dx);
        Ok(Launch::new("upsample_nearest_backward")
            .over(n)
            .args((dy, dx, n, w, c, factor, accumulate))
            .run()?)
    }
}
