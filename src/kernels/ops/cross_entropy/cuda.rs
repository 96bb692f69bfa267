//! Softmax cross-entropy on CUDA: one warp per row; nothing is copied to the host.

use cudarc::driver::CudaSlice;
use dfdx::tensor::Cuda;

use super::{ClassTargets, CrossEntropyKernel};
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
        targets: &ClassTargets,
    ) -> Result<(Buffer<Self>, Buffer<Self>)> {
        let rows = targets.labels.len();
        let mut probabilities = self.uninit_buffer(self.buffer_len(logits))?;
        let mut partials = Partials::new(rows, ROWS)?;
        let (own, spread) = shares_on_device(targets)?;
        Launch::new("cross_entropy_forward")
            .threads(32 * ROWS)
            .blocks(partials.blocks())
            .args((logits, &on_device(&targets.labels)?, &mut probabilities))
            .args((partials.values(), rows, targets.classes))
            .args((own.as_ref(), spread.as_ref()))
            .run()?;
        let mean = partials.total(self, 1.0 / targets.divisor)?;
        Ok((mean, probabilities))
    }

    fn cross_entropy_backward(
        &self,
        probabilities: &Buffer<Self>,
        targets: &ClassTargets,
        dy: &Buffer<Self>,
        (dlogits, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let (rows, classes) = (targets.labels.len(), targets.classes);
        let (own, spread) = shares_on_device(targets)?;
        let spread_sum = targets.shares.as_ref().map_or(0.0, |it| it.spread_sum);
        Launch::new("cross_entropy_backward")
            .over(rows * classes)
            .args((probabilities, &on_device(&targets.labels)?, dy, dlogits))
            .args((rows, classes, accumulate, targets.divisor as f32))
            .args((own.as_ref(), spread.as_ref(), spread_sum))
            .run()?;
        Ok(())
    }
}

/// The arrays `own` and `spread` of [`super::ClassTargetWeights`] in device memory.
type SharesOnDevice = (Option<CudaSlice<f32>>, Option<CudaSlice<f32>>);

/// Uploads the target weights of classes: none without smoothing and weights, no `spread` without smoothing.
fn shares_on_device(targets: &ClassTargets) -> Result<SharesOnDevice> {
    let Some(shares) = &targets.shares else {
        return Ok((None, None));
    };
    let spread = (shares.spread_sum > 0.0).then(|| uploaded(&shares.spread));
    Ok((Some(uploaded(&shares.own)?), spread.transpose()?))
}

fn on_device(labels: &[usize]) -> Result<CudaSlice<u32>> {
    let labels: Vec<u32> = labels.iter().map(|&label| label as u32).collect();
    Ok(uploaded(&labels)?)
}
