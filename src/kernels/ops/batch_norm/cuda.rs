//! Batch norm on CUDA: sums in pieces of rows, neighbouring threads taking neighbouring channels, then piece after piece.

use dfdx::tensor::Cuda;

use super::{BatchNormKernel, BatchNormSize, BatchNormValues};
use crate::device::cuda::Launch;
use crate::device::{Backend, Buffer};
use crate::ops::{Activation, OpError};

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
    ) -> Result<[Buffer<Self>; 3], OpError> {
        let piece = piece(rows);
        let pieces = rows.div_ceil(piece);
        let mut partial = self.zeros_buffer(2 * pieces * channels)?;
        Launch::new("batch_norm_partial_moments")
            .over(pieces * channels)
            .read(x)
            .write(&mut partial)
            .size(rows)
            .u32(channels as u32)
            .u32(piece as u32)
            .u32(pieces as u32)
            .run()?;
        let mut mean = self.zeros_buffer(channels)?;
        let mut rstd = self.zeros_buffer(channels)?;
        let mut variance = self.zeros_buffer(channels)?;
        Launch::new("batch_norm_moments")
            .over(channels)
            .read(&partial)
            .write(&mut mean)
            .write(&mut rstd)
            .write(&mut variance)
            .size(rows)
            .u32(channels as u32)
            .u32(piece as u32)
            .u32(pieces as u32)
            .float(eps)
            .run()?;
        Ok([mean, rstd, variance])
    }

    fn inverse_deviation(
        &self,
        variance: &Buffer<Self>,
        eps: f32,
    ) -> Result<Buffer<Self>, OpError> {
        let n = self.buffer_len(variance);
        let mut rstd = self.zeros_buffer(n)?;
        Launch::new("batch_norm_rstd")
            .over(n)
            .read(variance)
            .write(&mut rstd)
            .size(n)
            .float(eps)
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
    ) -> Result<Buffer<Self>, OpError> {
        let n = self.buffer_len(x);
        let mut y = self.zeros_buffer(n)?;
        Launch::new("batch_norm_forward")
            .over_tiles(n)
            .read(x)
            .read(values.mean)
            .read(values.rstd)
            .read(values.gamma)
            .read(values.beta)
            .read_if(shift)
            .write(&mut y)
            .size(n)
            .u32(channels as u32)
            .int(activation.code())
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
    ) -> Result<[Buffer<Self>; 2], OpError> {
        let piece = piece(rows);
        let pieces = rows.div_ceil(piece);
        let mut partial = self.zeros_buffer(2 * pieces * channels)?;
        Launch::new("batch_norm_partial_sums")
            .over(pieces * channels)
            .write(grad)
            .read(x)
            .read_if(y)
            .read(values.mean)
            .read(values.rstd)
            .read(values.gamma)
            .read(values.beta)
            .read_if(shift)
            .write(&mut partial)
            .size(rows)
            .u32(channels as u32)
            .u32(piece as u32)
            .u32(pieces as u32)
            .int(activation.code())
            .run()?;
        let mut of_beta = self.zeros_buffer(channels)?;
        let mut of_gamma = self.zeros_buffer(channels)?;
        Launch::new("batch_norm_sums")
            .over(channels)
            .read(&partial)
            .read(values.rstd)
            .write(&mut of_beta)
            .write(&mut of_gamma)
            .u32(channels as u32)
            .u32(pieces as u32)
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
    ) -> Result<(), OpError> {
        let n = self.buffer_len(x);
        Ok(Launch::new("batch_norm_backward")
            .over_tiles(n)
            .write(grad)
            .write_if(into)
            .read(x)
            .read(values.mean)
            .read(values.rstd)
            .read(values.gamma)
            .read_if(sums.map(|[of_beta, _]| of_beta))
            .read_if(sums.map(|[_, of_gamma]| of_gamma))
            .size(n)
            .size(rows)
            .u32(channels as u32)
            .run()?)
    }
}
