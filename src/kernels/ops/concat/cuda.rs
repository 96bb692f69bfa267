//! Concatenation on CUDA: forward copies in the order of the result, backward in that of the inputs.

use dfdx::tensor::Cuda;

use super::ConcatKernel;
use crate::device::cuda::Launch;
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::gemm::Accumulate;

impl ConcatKernel for Cuda {
    fn concat(
        &self,
        a: &Buffer<Self>,
        b: &Buffer<Self>,
        (wa, wb): (usize, usize),
    ) -> Result<Buffer<Self>> {
        let n = self.buffer_len(a) + self.buffer_len(b);
        let mut y = self.uninit_buffer(n)?;
        Launch::new("concat_forward")
            .over_tiles(n)
            .args((a, b, &mut y, n, wa, wb))
            .run()?;
        Ok(y)
    }

    fn concat_backward(
        &self,
        grad_output: &Buffer<Self>,
        total: usize,
        offset: usize,
        width: usize,
        (grad, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let n = self.buffer_len(grad);
        Ok(Launch::new("concat_backward")
            .over_tiles(n)
            .args((grad_output, grad, n, total, offset, width, accumulate))
            .run()?)
    }
}
