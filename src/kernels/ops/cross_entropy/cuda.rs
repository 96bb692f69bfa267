//! Softmax cross-entropy on CUDA: one warp per row; nothing is copied to the host.

use cudarc::driver::CudaSlice;
use dfdx::tensor::Cuda;

use super::CrossEntropyKernel;
use crate::device::cuda::{Launch, Partials, uploaded};
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::gemm::Accumulate;

/// Rows per block of 128 threads.
const ROWS: usize = 4;

impl CrossEntropyKernel for Cuda {
    fn cross_entropy(
        &self,
        logits: &Buffer<Self>,
        classes: usize,
        labels: &[usize],
    ) -> Result<(Buffer<Self>, Buffer<Self>)> {
        let mut probabilities = self.spare_buffer(self.buffer_len(logits))?;
        let mut partials = Partials::new(labels.len(), ROWS)?;
        Launch::new("cross_entropy_forward")
            .threads(32 * ROWS)
            .blocks(partials.blocks())
            .args((logits, &on_device(labels)?, &mut probabilities))
            .args((partials.values(), labels.len(), classes))
            .run()?;
        let mean = partials.total(self, 1.0 / labels.len() as f64)?;
        Ok((mean, probabilities))
    }

    fn cross_entropy_backward(
        &self,
        probabilities: &Buffer<Self>,
        classes: usize,
        labels: &[usize],
        dy: &Buffer<Self>,
        (dlogits, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        Launch::new("cross_entropy_backward")
            .over(labels.len() * classes)
            .args((probabilities, &on_device(labels)?, dy, dlogits))
            .args((labels.len(), classes, accumulate))
            .run()?;
        Ok(())
    }
}

fn on_device(labels: &[usize]) -> Result<CudaSlice<u32>> {
    let labels: Vec<u32> = labels.iter().map(|&label| label as u32).collect();
    Ok(uploaded(&labels)?)
}
