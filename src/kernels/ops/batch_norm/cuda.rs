//! Batch norm on CUDA. Sums over rows take two launches: the first sums pieces of the rows, with neighbouring threads
//! on neighbouring channels; the second has a block for each channel, which adds the sums of the pieces.

use std::rc::Rc;

use cudarc::driver::CudaSlice;
use dfdx::tensor::Cuda;

use super::{BatchNormInputs, BatchNormKernel, BatchNormSize};
use crate::device::cuda::{Launch, arithmetic};
use crate::device::{Backend, Buffer};
use crate::ops::{PooledBuffer, Result};

/// Smallest number of rows per piece, and largest number of pieces.
const PIECE: usize = 32;
const MOST_PIECES: usize = 1024;

/// Number of rows per piece of an array with `rows` rows.
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
        let mut partial = self.uninit_buffer(2 * pieces * channels)?;
        Launch::new("batch_norm_partial_moments")
            .over(pieces * channels)
            .args((x, &mut partial, rows, channels, piece, pieces))
            .run()?;
        let mut mean = self.uninit_buffer(channels)?;
        let mut rstd = self.uninit_buffer(channels)?;
        let mut variance = self.uninit_buffer(channels)?;
        Launch::new("batch_norm_moments")
            .blocks(channels)
            .args((&partial, &mut mean, &mut rstd, &mut variance, rows))
            .args((channels, piece, pieces, eps))
            .run()?;
        Ok([mean, rstd, variance])
    }

    fn inverse_deviation(&self, variance: &Buffer<Self>, eps: f32) -> Result<Buffer<Self>> {
        let n = self.buffer_len(variance);
        let mut rstd = self.uninit_buffer(n)?;
        Launch::new("batch_norm_rstd")
            .over(n)
            .args((variance, &mut rstd, n, eps))
            .run()?;
        Ok(rstd)
    }

    fn batch_norm(&self, inputs: &BatchNormInputs<'_, Self>, keeps: bool) -> Result<Buffer<Self>> {
        let (n, channels) = (self.buffer_len(inputs.x), inputs.size.channels);
        let mut y = self.uninit_buffer(n)?;
        let mut half = inputs.x.half_to_keep(keeps, channels)?;
        Launch::new("batch_norm_forward")
            .over_tiles(n)
            .args((&**inputs.x, half.as_mut(), inputs.mean, inputs.rstd))
            .args((
                inputs.gamma,
                inputs.beta,
                inputs.shift.map(|shift| &**shift),
            ))
            .args((&mut y, n, channels, inputs.activation, arithmetic()?))
            .run()?;
        inputs.x.keep_half(half)?;
        Ok(y)
    }

    fn batch_norm_sums(
        &self,
        inputs: &BatchNormInputs<'_, Self>,
        y: Option<&PooledBuffer<Self>>,
        grad: &mut Buffer<Self>,
    ) -> Result<[Buffer<Self>; 2]> {
        let BatchNormSize { rows, channels } = inputs.size;
        let piece = piece(rows);
        let pieces = rows.div_ceil(piece);
        let mut partial = self.uninit_buffer(2 * pieces * channels)?;
        let half = inputs.x.only_half()?;
        let [y_half, shift_half] = [only_half(y)?, only_half(inputs.shift)?];
        Launch::new("batch_norm_partial_sums")
            .over(pieces * channels)
            .args((grad, &**inputs.x, half.as_deref()))
            .args((y.map(|y| &**y), y_half.as_deref()))
            .args((inputs.mean, inputs.rstd, inputs.gamma, inputs.beta))
            .arg(inputs.shift.map(|shift| &**shift))
            .args((shift_half.as_deref(), &mut partial, rows, channels))
            .args((piece, pieces, inputs.activation, arithmetic()?))
            .run()?;
        let mut of_beta = self.uninit_buffer(channels)?;
        let mut of_gamma = self.uninit_buffer(channels)?;
        Launch::new("batch_norm_sums")
            .blocks(channels)
            .args((&partial, inputs.rstd, &mut of_beta, &mut of_gamma))
            .args((channels, pieces))
            .run()?;
        Ok([of_beta, of_gamma])
    }

    fn batch_norm_backward(
        &self,
        inputs: &BatchNormInputs<'_, Self>,
        sums: Option<&[Buffer<Self>; 2]>,
        grad: &mut Buffer<Self>,
        into: Option<&mut Buffer<Self>>,
    ) -> Result<()> {
        let BatchNormSize { rows, channels } = inputs.size;
        let (n, half) = (self.buffer_len(grad), inputs.x.only_half()?);
        Ok(Launch::new("batch_norm_backward")
            .over_tiles(n)
            .args((grad, into, &**inputs.x, half.as_deref()))
            .args((inputs.mean, inputs.rstd, inputs.gamma))
            .arg(sums.map(|[of_beta, _]| of_beta))
            .args((sums.map(|[_, of_gamma]| of_gamma), n, rows, channels))
            .arg(arithmetic()?)
            .run()?)
    }
}

/// [`PooledBuffer::only_half`] of an optional array: its values if they are stored in 16 bits only, else `None`.
fn only_half(values: Option<&PooledBuffer<Cuda>>) -> Result<Option<Rc<CudaSlice<u16>>>> {
    values.map_or(Ok(None), PooledBuffer::only_half)
}
