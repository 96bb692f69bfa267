//! Batch norm on CUDA: sums in pieces of rows, neighbouring threads taking neighbouring channels, then piece after piece.

use dfdx::tensor::Cuda;

use super::{BatchNormKernel, BatchNormSize, BatchNormValues};
use crate::device::cuda::Launch;
use crate::device::{Backend, Buffer};
use crate::ops::{Activation, Result};

/// Fewest rows of a piece, and most pieces.
const PIECE: usize = 32;
const MOST_PIECES: usize = 1024;

/// Rows of a piece.
fn piece(rows: usize) -> usize {
    PIECE.max(rows.div_ceil(MOST_PIECES))
}

impl BatchNormKernel for Cuda {
    fn batch_moments(
        &self,
        x: &Buffer<Self>,
        BatchNormSize { rows, channels }: BatchNormSize,
        eps: f32,
    ) -> Result<[Buffer<Self>; 3]> {
        let piece = piece(rows);
        let pieces = rows.div_ceil(piece);
        let mut partial = self.zeros_buffer(2 * pieces * channels)?;
        Launch::new("batch_norm_partial_moments")
            .over(pieces * channels)
            .args((x, &mut partial, rows, channels, piece, pieces))
            .run()?;
        let mut mean = self.zeros_buffer(channels)?;
        let mut rstd = self.zeros_buffer(channels)?;
        let mut variance = self.zeros_buffer(channels)?;
        Launch::new("batch_norm_moments")
            .over(channels)
            .args((&partial, &mut mean, &mut rstd, &mut variance, rows))
            .args((channels, piece, pieces, eps))
            .run()?;
        Ok([mean, rstd, variance])
    }

    fn inverse_deviation(&self, variance: &Buffer<Self>, eps: f32) -> Result<Buffer<Self>> {
        let n = self.buffer_len(variance);
        let mut rstd = self.zeros_buffer(n)?;
        Launch::new("batch_norm_rstd")
            .over(n)
            .args((variance, &mut rstd, n, eps))
            .run()?;
        Ok(rstd)
    }

    fn batch_norm(
        &self,
        x: &Buffer<Self>,
        values: &BatchNormValues<'_, Self>,
        shift: Option<&Buffer<Self>>,
        activation: Activation,
        BatchNormSize { channels, .. }: BatchNormSize,
    ) -> Result<Buffer<Self>> {
        let n = self.buffer_len(x);
        let mut y = self.zeros_buffer(n)?;
        Launch::new("batch_norm_forward")
            .over_tiles(n)
            .args((x, values.mean, values.rstd, values.gamma, values.beta))
            .args((shift, &mut y, n, channels, activation))
            .run()?;
        Ok(y)
    }

    fn batch_norm_sums(
        &self,
        grad: &mut Buffer<Self>,
        x: &Buffer<Self>,
        y: Option<&Buffer<Self>>,
        values: &BatchNormValues<'_, Self>,
        shift: Option<&Buffer<Self>>,
        activation: Activation,
        BatchNormSize { rows, channels }: BatchNormSize,
    ) -> Result<[Buffer<Self>; 2]> {
        let piece = piece(rows);
        let pieces = rows.div_ceil(piece);
        let mut partial = self.zeros_buffer(2 * pieces * channels)?;
        Launch::new("batch_norm_partial_sums")
            .over(pieces * channels)
            .args((grad, x, y, values.mean, values.rstd, values.gamma))
            .args((values.beta, shift, &mut partial, rows, channels))
            .args((piece, pieces, activation))
            .run()?;
        let mut of_beta = self.zeros_buffer(channels)?;
        let mut of_gamma = self.zeros_buffer(channels)?;
        Launch::new("batch_norm_sums")
            .over(channels)
            .args((&partial, values.rstd, &mut of_beta, &mut of_gamma))
            .args((channels, pieces))
            .run()?;
        Ok([of_beta, of_gamma])
    }

    fn batch_norm_backward(
        &self,
        grad: &mut Buffer<Self>,
        into: Option<&mut Buffer<Self>>,
        x: &Buffer<Self>,
        values: &BatchNormValues<'_, Self>,
        sums: Option<&[Buffer<Self>; 2]>,
        BatchNormSize { rows, channels }: BatchNormSize,
    ) -> Result<()> {
        let n = self.buffer_len(x);
        Ok(Launch::new("batch_norm_backward")
            .over_tiles(n)
            .args((grad, into, x, values.mean, values.rstd, values.gamma))
            .arg(sums.map(|[of_beta, _]| of_beta))
            .args((sums.map(|[_, of_gamma]| of_gamma), n, rows, channels))
            .run()?)
    }
}
