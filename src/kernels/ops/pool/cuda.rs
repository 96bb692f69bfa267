//! Pooling on CUDA: one thread per output forward, one per input backward, which gathers from the windows that cover
//! the input.

use dfdx::tensor::Cuda;

use super::{Pool, PoolKernel, PoolSize};
use crate::device::cuda::Launch;
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::gemm::Accumulate;

impl PoolKernel for Cuda {
    fn pool(
        &self,
        x: &Buffer<Self>,
        size: &PoolSize,
        pool: Pool,
        keep: bool,
    ) -> Result<(Buffer<Self>, Option<Buffer<Self>>)> {
        let n = size.output().len();
        let mut y = self.uninit_buffer(n)?;
        let mut places = keep.then(|| self.uninit_buffer(n)).transpose()?;
        let launch = Launch::new("pool_forward")
            .over(n)
            .args((x, &mut y, places.as_mut(), n));
        sizes(launch, size).arg(pool == Pool::Max).run()?;
        Ok((y, places))
    }

    fn pool_backward(
        &self,
        dy: &Buffer<Self>,
        places: Option<&Buffer<Self>>,
        size: &PoolSize,
        (dx, accumulate): (&mut Buffer<Self>, Accumulate),
    ) -> Result<()> {
        let n = self.buffer_len(dx);
        let launch = Launch::new("pool_backward")
            .over(n)
            .args((dy, places, dx, n));
        Ok(sizes(launch, size).arg(accumulate).run()?)
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
    sizes.into_iter().fold(launch, Launch::arg)
}
