//! RMS norm over the innermost dimension: layer norm without mean and offset.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::{Flops, Kernels, Op, OpError, Pass, PooledBuffer, Result, Var};
use crate::device::{Backend, Buffer};
use crate::ops::gemm::Accumulate;

/// Kernels of [`rms_norm`] on one device.
pub trait RmsNormKernel: Backend {
    /// The result, and `1 / sqrt(mean(x²) + eps)` of every row. With `keeps`, x is also stored in the form in which
    /// [`super::SaveForBackward::saved_for_backward`] keeps it for backward.
    fn rms_norm(
        &self,
        x: &PooledBuffer<Self>,
        gamma: &Buffer<Self>,
        eps: f32,
        keeps: bool,
    ) -> Result<(Buffer<Self>, Buffer<Self>)>;

    /// Turns `grad`, the gradient of the result, into that of the input, and writes the gradient of the scale to
    /// `grad_gamma`, or adds it; `None` if the scale needs no gradient.
    fn rms_norm_backward(
        &self,
        x: &PooledBuffer<Self>,
        gamma: &Buffer<Self>,
        rstd: &Buffer<Self>,
        grad: &mut Buffer<Self>,
        grad_gamma: Option<(&mut Buffer<Self>, Accumulate)>,
    ) -> Result<()>;
}

/// Divides every row by its root mean square, then scales it: `y = x / sqrt(mean(x²) + eps) · gamma`, with the mean
/// over the row.
///
/// Work: 4 per value forward (squares 2, result 2); backward 8 per value for `x`, 3 for `gamma`.
///
/// # Shapes
/// As `x: (…, F)`; `gamma`: (F).
/// # Errors
/// [`OpError::Shape`] when `gamma` does not have F values.
/// # Source
/// Zhang & Sennrich 2019; PyTorch `F.rms_norm(x, (F,), gamma, eps)`, `torch.nn.RMSNorm`.
pub fn rms_norm<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    gamma: &Var<D>,
    eps: f32,
) -> Result<Var<D>> {
    let shape = x.shape();
    if gamma.shape().dims() != [shape.last()] {
        let message = format!("gamma {} does not fit x {shape}", gamma.shape());
        return Err(OpError::shape("rms_norm", message));
    }
    let (y, rstd) = pass
        .device()
        .rms_norm(x.held(), gamma.data(), eps, pass.is_recording())?;
    let rstd = PooledBuffer::<D>::new(rstd);
    let per_value = 8 * usize::from(x.needs_grad()) + 3 * usize::from(gamma.needs_grad());
    let work = Flops::new(4 * shape.len(), per_value * shape.len());
    let (saved_x, saved_gamma) = (pass.keep(x, gamma)?, gamma.clone());
    let op = Op::new("rms_norm", work, [x, gamma]);
    pass.record_op_owned(op, y, shape, move |slots, mut grad| {
        let (x, gamma) = (saved_x, saved_gamma);
        let device = slots.device().clone();
        let needed = gamma
            .needs_grad()
            .then(|| slots.entry(&gamma))
            .transpose()?;
        device.rms_norm_backward(x.held(), gamma.data(), &rstd, &mut grad, needed)?;
        if x.needs_grad() {
            slots.put(&x, grad)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
