//! Rows at every position, on CUDA: one thread per value; of sums, one per sum.

use dfdx::tensor::Cuda;

use super::{BroadcastKernel, Combine};
use crate::device::cuda::Launch;
use crate::device::{Backend, Buffer};
use crate::ops::OpError;
use crate::ops::gemm::Accumulate;

impl BroadcastKernel for Cuda {
    fn broadcast(
        &self,
        x: &Buffer<Self>,
        y: &Buffer<Self>,
        [_, positions, inner]: [usize; 3],
        how: Combine,
    ) -> Result<Buffer<Self>, OpError> {
        let n = self.buffer_len(x);
        let mut z = self.zeros_buffer(n)?;
        Launch::new("broadcast_forward")
            .over_tiles(n)
            .read(x)
            .read(y)
            .write(&mut z)
            .size(n)
            .u32(positions as u32)
            .u32(inner as u32)
            .int(i32::from(how == Combine::Multiply))
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
    ) -> Result<(), OpError> {
        let n = self.buffer_len(sums);
        Ok(Launch::new("broadcast_sums")
            .over(n)
            .read(a)
            .read_if(b)
            .write(sums)
            .size(n)
            .u32(positions as u32)
            .u32(inner as u32)
            .float(factor)
            .int(i32::from(accumulate == Accumulate::Add))
            .run()?)
    }

    fn spread(
        &self,
        y: &Buffer<Self>,
        [_, positions, inner]: [usize; 3],
        factor: f32,
        (x, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<(), OpError> {
        let n = self.buffer_len(x);
        Ok(Launch::new("broadcast_spread")
            .over_tiles(n)
            .read(y)
            .write(x)
            .size(n)
            .u32(positions as u32)
            .u32(inner as u32)
            .float(factor)
            .int(i32::from(accumulate == Accumulate::Add))
            .run()?)
    }
}
