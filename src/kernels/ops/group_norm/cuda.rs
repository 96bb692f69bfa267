//! Group norm on CUDA: one block per group of an image; one launch forward, and backward one, plus one for the sums
//! over the batch. Groups that are too large for a block are cut into pieces, whose moments and sums are computed by an
//! earlier launch.

use dfdx::tensor::Cuda;

use super::{GroupNormInputs, GroupNormKernel, GroupNormSize};
use crate::device::cuda::{Launch, arithmetic, scratch};
use crate::device::{Backend, Buffer};
use crate::ops::{GradSlots, Result, Var};

/// Largest number of values of a group that one block processes, since it reads them again from the cache.
const CACHED: usize = 65_536;

/// Approximate number of values of a piece. Groups with more values than this are cut even if a block's cache could
/// hold them, when the groups are too few to keep the GPU busy.
const PIECE: usize = 16_384;

/// Number of blocks from which on a GPU counts as busy.
const BUSY: usize = 128;

/// The grid of a launch: all groups of all images, by the pieces into which their positions are cut.
struct Grid {
    groups: usize,
    pieces: usize,
    /// Number of positions in a piece.
    piece: usize,
    threads: usize,
}

impl Grid {
    fn new(size: GroupNormSize) -> Self {
        let width = size.channels / size.groups;
        let (groups, values) = (size.batch * size.groups, size.positions * width);
        let is_cut = values > CACHED || (values > PIECE && groups < BUSY);
        // The second grid axis is limited to 65,535.
        let smallest = size.positions.div_ceil(1 << 15);
        let piece = if is_cut {
            (PIECE / width).max(smallest)
        } else {
            size.positions
        };
        Self {
            groups,
            pieces: size.positions.div_ceil(piece),
            piece,
            // About eight values per thread.
            threads: (piece * width / 8).next_multiple_of(32).clamp(64, 1024),
        }
    }

    fn launch(&self, name: &'static str) -> Launch {
        Launch::new(name)
            .grid([self.groups, self.pieces, 1])
            .threads(self.threads)
    }
}

/// Adds the size arguments that every kernel has: positions, channels, channels per group.
fn sized(launch: Launch, size: GroupNormSize) -> Launch {
    launch.args((size.positions, size.channels, size.channels / size.groups))
}

impl GroupNormKernel for Cuda {
    fn group_norm(
        &self,
        input: &GroupNormInputs<'_, Self>,
        keeps: bool,
    ) -> Result<(Buffer<Self>, Buffer<Self>)> {
        let (size, activation, bits) = (input.size, input.activation, arithmetic()?);
        let (n, grid) = (self.buffer_len(input.x), Grid::new(size));
        let mut y = self.uninit_buffer(n)?;
        let mut half = input.x.half_to_keep(keeps, size.channels)?;
        let mut statistics = self.uninit_buffer(2 * grid.groups)?;
        if grid.pieces == 1 {
            let launch = given(grid.launch("group_norm_forward").arg(&**input.x), input);
            let launch = launch.args((half.as_mut(), &mut statistics, &mut y));
            sized(launch, size).args((activation, bits)).run()?;
        } else {
            let mut moments = scratch::<f32>(2 * grid.groups * grid.pieces)?;
            let launch = grid
                .launch("group_norm_measure")
                .args((&**input.x, &mut moments));
            sized(launch, size).arg(grid.piece).run()?;
            let launch = given(grid.launch("group_norm_apply").arg(&**input.x), input);
            let launch = launch.args((half.as_mut(), &moments, &mut statistics, &mut y));
            sized(launch, size)
                .args((grid.piece, activation, bits))
                .run()?;
        }
        input.x.keep_half(half)?;
        Ok((y, statistics))
    }

    fn group_norm_backward(
        &self,
        input: &GroupNormInputs<'_, Self>,
        statistics: &Buffer<Self>,
        grad_output: Buffer<Self>,
        (x, slots): (&Var<Self>, &mut GradSlots<'_, Self>),
    ) -> Result<Buffer<Self>> {
        let (size, activation, bits) = (input.size, input.activation, arithmetic()?);
        let (grad_x, accumulate) = slots.kernel_grad_arg(Some(x))?;
        let grid = Grid::new(size);
        let half = input.x.only_half()?;
        let read = |name| {
            let launch = grid.launch(name);
            let launch = launch.args((&**input.x, half.as_deref(), &grad_output));
            given(launch, input).arg(statistics)
        };
        let mut sums = self.uninit_buffer(2 * size.batch * size.channels)?;
        if grid.pieces == 1 {
            let launch = read("group_norm_backward").args((&mut sums, grad_x, accumulate));
            sized(launch, size).args((activation, bits)).run()?;
            return Ok(sums);
        }
        let mut parts = scratch::<f32>(2 * size.batch * size.channels * grid.pieces)?;
        let launch = read("group_norm_backward_measure").arg(&mut parts);
        sized(launch, size)
            .args((grid.piece, activation, bits))
            .run()?;
        let launch = read("group_norm_backward_apply");
        let launch = launch.args((&parts, &mut sums, grad_x, accumulate));
        sized(launch, size)
            .args((grid.piece, activation, bits))
            .run()?;
        Ok(sums)
    }

    // Each block sums eight channels; each thread has about eight samples.
    fn group_norm_collect(
        &self,
        sums: &Buffer<Self>,
        size: GroupNormSize,
        [gamma, beta, shift]: [Option<&Var<Self>>; 3],
        slots: &mut GradSlots<'_, Self>,
    ) -> Result<()> {
        let mut launch = Launch::new("group_norm_collect").arg(sums);
        // In the order in which the kernel writes: if two gradients are the same array, only the first one may
        // overwrite it.
        for var in [shift, gamma, beta] {
            launch = launch.args(slots.kernel_grad_arg(var)?);
        }
        let width = size.channels.min(8);
        let lanes = size.batch.div_ceil(8).clamp(4, 1024 / width);
        Ok(launch
            .blocks(size.channels.div_ceil(width))
            .threads((lanes * width).next_multiple_of(32).min(1024))
            .args((size.batch, size.channels, width))
            .run()?)
    }
}

/// Adds γ, β and the shift, which follow the images in the arguments of every kernel.
fn given(launch: Launch, input: &GroupNormInputs<'_, Cuda>) -> Launch {
    launch.args((input.gamma, input.beta, input.shift))
}
