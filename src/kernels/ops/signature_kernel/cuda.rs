//! Losses on signature kernels on CUDA: one block per pair of paths, which computes the grid diagonal by diagonal.
//! Nothing is copied to the host; the real paths are copied to the device once.

use std::rc::Rc;

use cudarc::driver::{CudaSlice, DeviceSlice};
use dfdx::tensor::Cuda;

use super::{SignatureKernelLoss, SignatureKernelLossKernel};
use crate::device::cuda::{Launch, memory, scratch};
use crate::device::{Backend, Buffer};
use crate::ops::Result;
use crate::ops::path_batch::{cached_on_device, generated};

/// Largest number of threads of a block, as in `kernels.cu`: one for each row of the grid of 50 points at order 4; more
/// is not possible, as each thread needs many registers.
const MOST_THREADS: usize = 800;

/// Largest number of blocks of a launch: eight per multiprocessor of an H200, as many as its registers allow.
const MOST_BLOCKS: usize = 1056;

/// Most bytes of scratch memory for all blocks together, also limited to an eighth of the device's memory; a single
/// block may need more. Enough for a block on each multiprocessor of an H200 at 50 points and order 4.
const WORK: usize = 2 << 30;

/// The pairs of a batch, numbered as in `kernels.cu`, with the size of their grids and their weights in the loss.
struct Pairs {
    paths: CudaSlice<f64>,
    real: Rc<CudaSlice<f64>>,
    b: usize,
    r: usize,
    points: usize,
    order: u32,
    scale: f64,
    own_weight: f64,
    cross_weight: f64,
}

impl SignatureKernelLossKernel for Cuda {
    fn kernel_loss(
        &self,
        output: &Buffer<Self>,
        steps: usize,
        loss: &SignatureKernelLoss,
    ) -> Result<Buffer<Self>> {
        let pairs = Pairs::new(output, steps, loss)?;
        let values = pairs.values()?;
        let mut value = self.uninit_buffer(1)?;
        Launch::new("signature_kernel_loss")
            .args((&values, &mut value, pairs.b, pairs.r))
            .args((pairs.own_weight, pairs.cross_weight))
            .arg(loss.real_mean(pairs.b))
            .run()?;
        Ok(value)
    }

    fn kernel_loss_backward(
        &self,
        output: &Buffer<Self>,
        steps: usize,
        loss: &SignatureKernelLoss,
        dy: &Buffer<Self>,
        doutput: &mut Buffer<Self>,
    ) -> Result<()> {
        let pairs = Pairs::new(output, steps, loss)?;
        let slopes = pairs.slopes()?;
        Launch::new("signature_kernel_gather")
            .over(pairs.b * (pairs.points - 1))
            .args((&slopes, dy, doutput, pairs.b, pairs.r, pairs.points, steps))
            .run()?;
        Ok(())
    }
}

impl SignatureKernelLoss {
    /// The real paths `(count, points, 2)` on the device, copied at the first call.
    fn real_on_device(&self) -> Result<Rc<CudaSlice<f64>>> {
        cached_on_device(&self.on_device, || self.real.values().to_vec())
    }
}

impl Pairs {
    /// The pairs of the generated paths that the loss uses, with each other and with the real paths.
    fn new(output: &Buffer<Cuda>, steps: usize, loss: &SignatureKernelLoss) -> Result<Self> {
        let batch = output.len() / steps;
        let (b, points) = (batch.min(loss.paths), loss.real.points());
        let r = loss.real_count(b);
        let (own_weight, cross_weight) = loss.weights(b);
        Ok(Self {
            paths: generated(output, steps, (b, points))?,
            real: loss.real_on_device()?,
            b,
            r,
            points,
            order: loss.kernel.order,
            scale: -1.0 / loss.kernel.sigma,
            own_weight,
            cross_weight,
        })
    }

    fn count(&self) -> usize {
        self.b * (self.b - 1) / 2 + self.b * self.r
    }

    fn cells(&self) -> usize {
        (self.points - 1) << self.order
    }

    /// Threads of a block: one per row of a band. The grid's rows are split into as few equal bands as possible.
    fn threads(&self) -> usize {
        let bands = self.cells().div_ceil(MOST_THREADS);
        self.cells().div_ceil(bands).next_multiple_of(32)
    }

    /// The signature kernel of every pair.
    fn values(&self) -> Result<CudaSlice<f64>> {
        let threads = self.threads();
        let blocks = self.count().clamp(1, MOST_BLOCKS);
        let mut values = scratch(self.count())?;
        let area = self.cells() + self.points * self.points;
        let mut work = scratch::<f64>(blocks * area)?;
        let launch = Launch::new("signature_kernel_values")
            .blocks(blocks)
            .threads(threads)
            .shared(2 * threads * size_of::<f64>())
            .args((&self.paths, &*self.real, &mut work, &mut values));
        self.sizes(launch).arg(area).run()?;
        Ok(values)
    }

    /// For every pair, `(pairs, 2, points)`: the gradients of its weighted kernel with respect to the values of the
    /// first path's points and, if the second path is generated, of the second's; otherwise the second half is not
    /// written.
    fn slopes(&self) -> Result<CudaSlice<f64>> {
        let (threads, cells) = (self.threads(), self.cells());
        let grid = cells.div_ceil(threads) * (cells + threads - 1) * threads;
        let area = 2 * cells + grid + cells * (self.points - 1) + 2 * self.points * self.points;
        let (_, total) = memory()?;
        let work = WORK.min(usize::try_from(total / 8).unwrap_or(WORK));
        let fits = (work / size_of::<f64>() / area).clamp(1, MOST_BLOCKS);
        let blocks = self.count().clamp(1, fits);
        let mut work = scratch::<f64>(blocks * area)?;
        let mut slopes = scratch(self.count() * 2 * self.points)?;
        let launch = Launch::new("signature_kernel_slopes")
            .blocks(blocks)
            .threads(threads)
            .shared(4 * threads * size_of::<f64>())
            .args((&self.paths, &*self.real, &mut work, &mut slopes));
        self.sizes(launch)
            .args((self.own_weight, self.cross_weight, area))
            .run()?;
        Ok(slopes)
    }

    fn sizes(&self, launch: Launch) -> Launch {
        launch.args((self.b, self.r, self.points, self.order as usize, self.scale))
    }
}
