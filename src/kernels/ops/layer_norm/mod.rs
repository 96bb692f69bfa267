//! Layer norm over the innermost dimension.

mod cpu;
#[cfg(feature = "cuda")]
pub(super) mod cuda;

use super::{Flops, Kernels, Op, OpError, Pass, PooledBuffer, Result, Var};
use crate::device::{Backend, Buffer};
use crate::ops::gemm::Accumulate;

/// Statistics of the rows that backward needs in addition to the input, one value per row.
#[derive(Debug)]
pub struct RowStatistics<D: Backend> {
    /// Mean of every row.
    pub mean: Buffer<D>,
    /// `1 / sqrt(variance + eps)` of every row.
    pub rstd: Buffer<D>,
}

/// Kernels of [`layer_norm`] on one device.
pub trait LayerNormKernel: Backend {
    /// The result, and what backward needs in addition to x. With `keeps`, x is also stored in the form in which
    /// [`super::SaveForBackward::saved_for_backward`] keeps it for backward.
    fn layer_norm(
        &self,
        x: &PooledBuffer<Self>,
        gamma: &Buffer<Self>,
        beta: &Buffer<Self>,
        eps: f32,
        keeps: bool,
    ) -> Result<(Buffer<Self>, RowStatistics<Self>)>;

    /// Writes the gradient of the input to `dx`, or adds it, unless `dx` is `None`; returns the gradients of scale and
    /// offset.
    fn layer_norm_backward(
        &self,
        x: &PooledBuffer<Self>,
        gamma: &Buffer<Self>,
        saved: &RowStatistics<Self>,
        dy: &Buffer<Self>,
        dx: Option<(&mut Buffer<Self>, Accumulate)>,
    ) -> Result<[Buffer<Self>; 2]>;
}

/// Normalises every row, then scales and shifts it: `y = (x - mean) / sqrt(var + eps) · gamma + beta`, with mean and
/// (biased) variance over the row.
///
/// FLOPs: 8 per value forward (mean 1, variance 3, result 4); backward 10 per value for `x`, 4 for `gamma`, 1 for
/// `beta`.
///
/// # Shapes
/// As `x: (…, F)`; `gamma`, `beta`: (F).
/// # Errors
/// [`OpError::Shape`] when `gamma` or `beta` does not have F values.
/// # Source
/// PyTorch `F.layer_norm(x, (F,), gamma, beta, eps)`.
pub fn layer_norm<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    gamma: &Var<D>,
    beta: &Var<D>,
    eps: f32,
) -> Result<Var<D>> {
    let shape = x.shape();
    for (name, affine) in [("gamma", gamma), ("beta", beta)] {
        if affine.shape().dims() != [shape.last()] {
            let message = format!("{name} {} does not fit x {shape}", affine.shape());
            return Err(OpError::shape("layer_norm", message));
        }
    }
    let (y, saved) = pass.device().layer_norm(
        x.held(),
        gamma.data(),
        beta.data(),
        eps,
        pass.is_recording(),
    )?;
    let per_value = |var: &Var<D>, count: usize| {
        if var.needs_grad() {
            count * shape.len()
        } else {
            0
        }
    };
    let work = Flops::new(
        8 * shape.len(),
        per_value(x, 10) + per_value(gamma, 4) + per_value(beta, 1),
    );
    let inputs = (pass.keep(x, gamma)?, gamma.clone(), beta.clone());
    let op = Op::new("layer_norm", work, [x, gamma, beta]);
    pass.record_op(op, y, shape, move |grads, dy| {
        let (x, gamma, beta) = inputs;
        let device = grads.device().clone();
        let dx = x.needs_grad().then(|| grads.entry(&x)).transpose()?;
        let sums = device.layer_norm_backward(x.held(), gamma.data(), &saved, dy, dx)?;
        for (var, sum) in [&gamma, &beta].into_iter().zip(sums) {
            if var.needs_grad() {
                grads.put(var, sum)?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
