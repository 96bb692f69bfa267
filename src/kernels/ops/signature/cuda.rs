//! Signatures on CUDA: one block per path and one thread per entry. The gradients of a path's pieces do not depend on
//! each other: they have one block per piece.

use cudarc::driver::CudaSlice;
use dfdx::tensor::Cuda;

use super::{ProjectionInputs, SignatureProjectionKernel, SignatureSize};
use crate::device::cuda::{Launch, scratch};
use crate::device::{Backend, Buffer};
use crate::ops::{GradSlots, OpError, Result};

/// Largest shared memory of a block in bytes, on the GPUs that kernels are compiled for; the A100 has less.
const SHARED: usize = 227 << 10;

/// Largest number of `f32` values of increments that a block keeps in shared memory at a time.
const INCREMENTS: usize = 2048;

impl SignatureProjectionKernel for Cuda {
    fn signature_projection(
        &self,
        inputs: &ProjectionInputs<Self>,
        size: SignatureSize,
    ) -> Result<(Buffer<Self>, Vec<Buffer<Self>>)> {
        let (chunk, entries) = (chunk(size), size.entries());
        let mut signatures = self.uninit_buffer(size.values())?;
        let mut y = self.uninit_buffer(size.batch * (size.points - 1))?;
        Launch::new("signature_forward")
            .blocks(size.batch)
            .threads(threads(entries))
            .shared(shared(chunk * size.channels + 2 * entries)?)
            .args((inputs.path.data(), inputs.weight.data()))
            .args((inputs.bias.data(), &mut signatures, &mut y))
            .args((size.points, size.channels, entries, chunk))
            .run()?;
        Ok((y, vec![signatures]))
    }

    fn signature_projection_backward(
        &self,
        inputs: &ProjectionInputs<Self>,
        saved: &[Buffer<Self>],
        size: SignatureSize,
        grad: &Buffer<Self>,
        slots: &mut GradSlots<'_, Self>,
    ) -> Result<()> {
        let (adjoints, parts) = adjoints(inputs, &saved[0], size, grad)?;
        let pieces = piece_gradients(inputs, &saved[0], &adjoints, size)?;
        let elements = size.entries() + size.batch * size.points * size.channels;
        let launch = Launch::new("signature_gradients")
            .over(elements)
            .args((&parts, &pieces));
        let launch = launch.arg(slots.grad_if_needed(&inputs.path)?);
        let launch = launch.arg(slots.grad_if_needed(&inputs.weight)?);
        launch
            .arg(slots.grad_if_needed(&inputs.bias)?)
            .arg(size.batch)
            .args((size.points, size.channels, size.entries()))
            .run()?;
        Ok(())
    }
}

/// The gradients of the signatures of all prefixes, and for each path its share of the gradients of weight and bias.
fn adjoints(
    inputs: &ProjectionInputs<Cuda>,
    signatures: &Buffer<Cuda>,
    size: SignatureSize,
    grad: &Buffer<Cuda>,
) -> Result<(CudaSlice<f32>, CudaSlice<f32>)> {
    let (chunk, entries) = (chunk(size), size.entries());
    let mut adjoints = scratch(size.values())?;
    let mut parts = scratch(size.batch * (entries + 1))?;
    Launch::new("signature_adjoint")
        .blocks(size.batch)
        .threads(threads(entries))
        .shared(shared(
            chunk * size.channels + 2 * entries + entries / size.channels,
        )?)
        .args((inputs.path.data(), inputs.weight.data(), signatures))
        .args((grad, &mut adjoints, &mut parts, size.points))
        .args((size.channels, entries, chunk))
        .run()?;
    Ok((adjoints, parts))
}

/// The gradients of the increments of all pieces, `(B, T − 1, C)`.
fn piece_gradients(
    inputs: &ProjectionInputs<Cuda>,
    signatures: &Buffer<Cuda>,
    adjoints: &CudaSlice<f32>,
    size: SignatureSize,
) -> Result<CudaSlice<f32>> {
    let (pieces, entries) = (size.batch * (size.points - 1), size.entries());
    let mut gradients = scratch(pieces * size.channels)?;
    Launch::new("signature_piece_gradients")
        .blocks(pieces)
        .threads(32 * size.channels.clamp(4, 16))
        .shared(shared(
            size.channels + 2 * entries + entries / size.channels,
        )?)
        .args((inputs.path.data(), signatures, adjoints))
        .args((&mut gradients, size.points, size.channels, entries))
        .run()?;
    Ok(gradients)
}

/// Number of pieces whose increments a block keeps in shared memory at a time.
fn chunk(size: SignatureSize) -> usize {
    (INCREMENTS / size.channels).clamp(1, size.points - 1)
}

/// Threads of a block: one per signature entry, rounded up to whole warps, at least 128 and at most 1024.
fn threads(entries: usize) -> usize {
    entries.next_multiple_of(32).clamp(128, 1024)
}

/// Bytes of `numbers` values in the shared memory of a block.
///
/// # Errors
/// [`OpError::Shape`] when they exceed a block's shared memory; the signatures of existing models fit.
fn shared(numbers: usize) -> Result<usize> {
    let bytes = numbers.saturating_mul(size_of::<f32>());
    if bytes > SHARED {
        return Err(OpError::shape(
            "signature_projection",
            format!("signatures that need {bytes} bytes of a block's memory, which has {SHARED}"),
        ));
    }
    Ok(bytes)
}
