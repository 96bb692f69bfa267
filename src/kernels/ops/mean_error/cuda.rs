//! Mean errors on CUDA: one f64 sum per block, then their mean; nothing is copied to the host.

use dfdx::tensor::Cuda;

use super::{ErrorTerm, MeanErrorKernel};
use crate::device::cuda::{Launch, Partials};
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::gemm::Accumulate;

impl MeanErrorKernel for Cuda {
    fn mean_error(
        &self,
        term: ErrorTerm,
        x: &Buffer<Self>,
        target: &Buffer<Self>,
    ) -> Result<Buffer<Self>> {
        let n = self.buffer_len(x);
        let mut partials = Partials::of_values(n)?;
        Launch::new("mean_error_forward")
            .blocks(partials.blocks())
            .args((x, target, partials.values(), n))
            .args(in_kernel(term))
            .run()?;
        Ok(partials.total(self, 1.0 / n as f64)?)
    }

    fn mean_error_backward(
        &self,
        term: ErrorTerm,
        x: &Buffer<Self>,
        target: &Buffer<Self>,
        dy: &Buffer<Self>,
        (dx, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let n = self.buffer_len(x);
        Launch::new("mean_error_backward")
            .over(n)
            .args((x, target, dy, dx, n, accumulate))
            .args(in_kernel(term))
            .run()?;
        Ok(())
    }
}

/// The term's number and its delta, as the kernels read them.
fn in_kernel(term: ErrorTerm) -> (i32, f32) {
    match term {
        ErrorTerm::Squared => (0, 0.0),
        ErrorTerm::Absolute => (1, 0.0),
        ErrorTerm::Huber { delta } => (2, delta),
    }
}
