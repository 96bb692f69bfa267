//! Layer norm on CUDA: one warp per row; gradients of scale and offset as partial sums of groups of rows.

use dfdx::tensor::Cuda;

use super::{LayerNormKernel, RowStatistics};
use crate::device::cuda::{Launch, arithmetic, scratch};
use crate::device::{Backend, Buffer};
use crate::ops::gemm::Accumulate;
use crate::ops::{PooledBuffer, Result};

/// Rows per block of 128 threads.
pub(in crate::ops) const ROWS: usize = 4;

/// Largest number of blocks; each loops over rows.
const MOST_BLOCKS: usize = 1 << 16;

/// Number of rows in a group, whose columns one block sums; larger if there would be too many groups.
const GROUP_ROWS: usize = 64;

/// Largest number of groups: their partial sums are added sequentially.
const MOST_GROUPS: usize = 256;

impl LayerNormKernel for Cuda {
    fn layer_norm(
        &self,
        x: &PooledBuffer<Self>,
        gamma: &Buffer<Self>,
        beta: &Buffer<Self>,
        eps: f32,
        keeps: bool,
    ) -> Result<(Buffer<Self>, RowStatistics<Self>)> {
        let features = self.buffer_len(gamma);
        let rows = self.buffer_len(x) / features;
        let mut y = self.uninit_buffer(rows * features)?;
        let (mut mean, mut rstd) = (self.uninit_buffer(rows)?, self.uninit_buffer(rows)?);
        let mut half = x.half_to_keep(keeps, features)?;
        over_rows("layer_norm_forward", rows)
            .args((&**x, gamma, beta, half.as_mut()))
            .args((&mut y, &mut mean, &mut rstd, rows))
            .args((features, eps, arithmetic()?))
            .run()?;
        x.keep_half(half)?;
        Ok((y, RowStatistics { mean, rstd }))
    }

    fn layer_norm_backward(
        &self,
        x: &PooledBuffer<Self>,
        gamma: &Buffer<Self>,
        saved: &RowStatistics<Self>,
        dy: &Buffer<Self>,
        dx: Option<(&mut Buffer<Self>, Accumulate)>,
    ) -> Result<[Buffer<Self>; 2]> {
        let features = self.buffer_len(gamma);
        if let Some((dx, accumulate)) = dx {
            let rows = self.buffer_len(dy) / features;
            over_rows("layer_norm_backward_x", rows)
                .args((&**x, x.only_half()?.as_deref(), gamma))
                .args((&saved.mean, &saved.rstd, dy, dx, rows, features))
                .args((accumulate, arithmetic()?))
                .run()?;
        }
        let normalised: Normalised<'_> = (x, Some(&saved.mean), &saved.rstd);
        let mut of_gamma = self.uninit_buffer(features)?;
        let mut of_beta = self.uninit_buffer(features)?;
        let replace = Accumulate::Replace;
        add_columns(self, Some(normalised), dy, (&mut of_gamma, replace))?;
        add_columns(self, None, dy, (&mut of_beta, replace))?;
        Ok([of_gamma, of_beta])
    }
}

/// A launch with one warp per row.
pub(in crate::ops) fn over_rows(name: &'static str, rows: usize) -> Launch {
    Launch::new(name)
        .threads(32 * ROWS)
        .blocks(rows.div_ceil(ROWS).clamp(1, MOST_BLOCKS))
}

/// An input, the means of its rows (`None` for RMS norm), and the factors by which the rows were normalised.
type Normalised<'a> = (
    &'a PooledBuffer<Cuda>,
    Option<&'a Buffer<Cuda>>,
    &'a Buffer<Cuda>,
);

/// Writes to `grad`, or adds, the sum over rows of `dy`, or of `dy` times the normalised input if `input` is given.
pub(in crate::ops) fn add_columns(
    device: &Cuda,
    input: Option<Normalised<'_>>,
    dy: &Buffer<Cuda>,
    (grad, accumulate): (&mut Buffer<Cuda>, Accumulate),
) -> Result<()> {
    let features = device.buffer_len(grad);
    let rows = device.buffer_len(dy) / features;
    let groups = rows.div_ceil(GROUP_ROWS).clamp(1, MOST_GROUPS);
    let mut partials = scratch::<f32>(if groups == 1 { 0 } else { groups * features })?;
    let half = match input {
        Some((x, ..)) => x.only_half()?,
        None => None,
    };
    Launch::new("layer_norm_columns")
        .grid([features.div_ceil(32), groups, 1])
        .arg(input.map(|(x, ..)| &**x))
        .arg(half.as_deref())
        .arg(input.and_then(|(_, mean, _)| mean))
        .args((input.map(|(.., rstd)| rstd), dy, &mut partials, &mut *grad))
        .args((rows, rows.div_ceil(groups), features, accumulate))
        .arg(arithmetic()?)
        .run()?;
    if groups > 1 {
        Launch::new("layer_norm_add_groups")
            .over(features)
            .args((&partials, grad, groups, features, accumulate))
            .run()?;
    }
    Ok(())
}
