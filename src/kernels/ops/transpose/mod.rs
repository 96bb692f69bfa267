//! Exchanges two dimensions: `y[o, c, r, i] = x[o, r, c, i]`.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::gemm::Accumulate;
use super::{Flops, Kernels, Op, OpError, Pass, Result, Shape, Var};
use crate::device::{Backend, Buffer};

/// Kernels of [`transpose`] on one device.
pub trait TransposeKernel: Backend {
    /// `y[o, c, r, i] = x[o, r, c, i]`, or adds it to `y`. `dims` are the numbers of o, r, c and i.
    fn transpose(
        &self,
        x: &Buffer<Self>,
        dims: [usize; 4],
        y: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()>;
}

/// Exchanges rows and columns of `x`, seen as `(outer, rows, columns, inner)`, and gives the result the shape `shape`.
///
/// Tokens and features of `(B, T, F)` are exchanged by `[B, T, F, 1]`; an image becomes a row with channels first by
/// `[B, H · W, C, 1]`, and squares of p × p pixels by `[B · H / p, p, W / p, p · C]`.
///
/// Work: none forward, 1 per value backward.
///
/// # Shapes
/// `shape`, of as many values as `x`.
/// # Errors
/// [`OpError::Shape`] when the numbers of values differ.
/// # Source
/// PyTorch `x.reshape(dims).transpose(1, 2).reshape(shape)`.
pub fn transpose<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    dims: [usize; 4],
    shape: impl Into<Shape>,
) -> Result<Var<D>> {
    let (shape, len) = (shape.into(), x.shape().len());
    if dims.iter().product::<usize>() != len || shape.len() != len || len == 0 {
        let message = format!("{} cannot be {dims:?} and then {shape}", x.shape());
        return Err(OpError::shape("transpose", message));
    }
    let device = pass.device().clone();
    let mut y = device.uninit_buffer(len)?;
    device.transpose(x.data(), dims, (&mut y, Accumulate::Replace))?;
    let ([outer, rows, columns, inner], input) = (dims, x.without_values(&device)?);
    let op = Op::new("transpose", Flops::new(0, len), [x]);
    pass.record_op(op, y, shape, move |slots, dy| {
        let device = slots.device().clone();
        let slot = slots.entry(&input)?;
        device.transpose(dy, [outer, columns, rows, inner], slot)
    })
}

#[cfg(test)]
mod tests;
