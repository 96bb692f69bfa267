//! Pooling on CUDA: one thread per output forward, per input backward, where it gathers from the windows that cover it.

use dfdx::tensor::Cuda;

use super::{Pool, PoolKernel, PoolSize};
use crate::device::cuda::Launch;
use crate::device::{Backend, Buffer};
use crate::ops::OpError;
use crate::ops::gemm::Accumulate;

impl PoolKernel for Cuda {
    fn pool(
        &self,
        x: &Buffer<Self>,
        size: &PoolSize,
        pool: Pool,
        keep: bool,
    ) -> Result<(Buffer<Self>, Option<Buffer<Self>>), OpError> {
        let n = size.output().len();
        let mut y = self.zeros_buffer(n)?;
        let mut places = keep.then(|| self.zeros_buffer(n)).transpose()?;
        let launch = Launch::new("pool_forward")
            .over(n)
            .read(x)
            .write(&mut y)
            .write_if(places.as_mut())
            .size(n);
        sizes(launch, size)
            .int(i32::from(pool == Pool::Max))
            .run()?;
        Ok((y, places))
    }

    fn pool_backward(
        &self,
        dy: &Buffer<Self>,
        places: Option<&Buffer<Self>>,
        size: &PoolSize,
        // The CUDA kernels only add.
        (dx, _): (&mut Buffer<Self>, Accumulate),
    ) -> Result<(), OpError> {
        let n = self.buffer_len(dx);
        let launch = Launch::new("pool_backward")
            .over(n)
            .read(dy)
            .read_if(places)
            .write(dx)
            .size(n);
        Ok(sizes(launch, size).run()?)
    }
}

fn sizes(launch: Launch, size: &PoolSize) -> Launch {
    let (_, height, width, channels) = size.image;
    let options = size.options;
    let sizes = [
        height,
        width,
        channels,
        size.windows.0,
        size.windows.1,
        options.kernel,
        options.stride,
        options.padding,
    ];
    sizes
        .into_iter()
        .fold(launch, |launch, size| launch.u32(size as u32))
}
