//! Weighted sums and distances on CUDA. A distance is returned to the host, so it waits for the device.

use dfdx::tensor::Cuda;

use super::BlendKernel;
use crate::device::cuda::{Launch, Partials};
use crate::device::{Backend, Buffer};
use crate::ops::Result;

impl BlendKernel for Cuda {
    fn blend(&self, x: &Buffer<Self>, a: f32, z: &Buffer<Self>, b: f32) -> Result<Buffer<Self>> {
        let n = self.buffer_len(x);
        let mut y = self.uninit_buffer(n)?;
        Launch::new("blend_forward")
            .over(n)
            .args((x, a, z, b, &mut y, n))
            .run()?;
        Ok(y)
    }

    fn distance(&self, x: &Buffer<Self>, z: &Buffer<Self>) -> Result<f64> {
        let n = self.buffer_len(x);
        let mut partials = Partials::of_values(n)?;
        Launch::new("blend_distance")
            .blocks(partials.blocks())
            .args((x, z, partials.values(), n))
            .run()?;
        Ok(partials.downloaded()?.sqrt())
    }
}
