//! Broadcast operations on CUDA: one thread per value of the result.

use dfdx::tensor::Cuda;

use super::{BroadcastKernel, Combine};
use crate::device::cuda::Launch;
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::gemm::Accumulate;

impl BroadcastKernel for Cuda {
    fn broadcast(
        &self,
        x: &Buffer<Self>,
        y: &Buffer<Self>,
        [_, positions, inner]: [usize; 3],
        how: Combine,
    ) -> Result<Buffer<Self>> {
        let n = self.buffer_len(x);
        let mut z = self.uninit_buffer(n)?;
        Launch::new("broadcast_forward")
            .over_tiles(n)
            .args((x, y, &mut z, n, positions, inner, how == Combine::Multiply))
            .run()?;
        Ok(z)
    }

    fn sum_positions(
        &self,
        a: &Buffer<Self>,
        b: Option<&Buffer<Self>>,
        [_, positions, inner]: [usize; 3],
        factor: f32,
        (sums, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let n = self.buffer_len(sums);
        Ok(Launch::new("broadcast_sums")
            .over(n)
            .args((a, b, sums, n, positions, inner))
            .args((factor, accumulate))
            .run()?)
    }

    fn spread(
        &self,
        y: &Buffer<Self>,
        [_, positions, inner]: [usize; 3],
        factor: f32,
        (x, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let n = self.buffer_len(x);
        Ok(Launch::new("broadcast_spread")
            .over_tiles(n)
            .args((y, x, n, positions, inner))
            .args((factor, accumulate))
            .run()?)
    }
}
