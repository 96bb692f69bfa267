//! Group norm on CUDA: one block per group of an image, one launch forward, one backward and one for the sums over
//! the batch. Groups too large for a block's cache are cut into pieces, whose moments and sums an earlier launch computes.

use dfdx::tensor::Cuda;

use super::{GroupNormInputs, GroupNormKernel, GroupNormSize};
use crate::device::cuda::{Launch, arithmetic, scratch};
use crate::device::{Backend, Buffer};
use crate::ops::{GradSlots, Result, Var};

/// Number of values of a group that a block's cache holds.
const CACHED: usize = 65_536;

/// Number of values of a piece; also the group size from which groups are cut when groups alone would leave most of a
/// GPU idle.
const PIECE: usize = 16_384;

/// Number of blocks that keeps a GPU busy.
const BUSY: usize = 128;

/// The grid over the groups of all images and the pieces of their positions.
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
            // About eight values for each thread.
            threads: (piece * width / 8).next_multiple_of(32).clamp(64, 1024),
        }
    }

    fn launch(&self, name: &'static str) -> Launch {
        Launch::new(name)
            .grid([self.groups, self.pieces, 1])
            .threads(self.threads)
    }
}

/// Adds the size arguments of every kernel: positions, channels, channels of a group.
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
        let mut y = self.spare_buffer(n)?;
        let mut half = input.x.half_to_keep(keeps, size.channels)?;
        let mut statistics = self.spare_buffer(2 * grid.groups)?;
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
        let (grad_x, accumulate) = slots.target(Some(x))?;
        let grid = Grid::new(size);
        let half = input.x.only_half()?;
        let read = |name| {
            let launch = grid.launch(name);
            let launch = launch.args((&**input.x, half.as_deref(), &grad_output));
            given(launch, input).arg(statistics)
        };
        let mut sums = self.spare_buffer(2 * size.batch * size.channels)?;
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

    // Eight channels per block, about eight samples per thread.
    fn group_norm_collect(
        &self,
        sums: &Buffer<Self>,
        size: GroupNormSize,
        [gamma, beta, shift]: [Option<&Var<Self>>; 3],
        slots: &mut GradSlots<'_, Self>,
    ) -> Result<()> {
        let mut launch = Launch::new("group_norm_collect").arg(sums);
        // In the order in which the kernel writes them: only the first use of an array may replace its content.
        for var in [shift, gamma, beta] {
            launch = launch.args(slots.target(var)?);
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

/// Adds γ, β and the shift, which are the arguments of every kernel after the images.
fn given(launch: Launch, input: &GroupNormInputs<'_, Cuda>) -> Launch {
    launch.args((input.gamma, input.beta, input.shift))
}
