//! Mean squared error.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::gemm::Accumulate;
use super::{Kernels, Op, OpError, Pass, Result, Var, Work};
use crate::device::{Backend, Buffer};

/// Kernels of [`mse`] on one device.
pub trait MseKernel: Backend {
    /// One value: the mean of `(x - target)²`, summed in f64 over fixed chunks.
    fn mse(&self, x: &Buffer<Self>, target: &Buffer<Self>) -> Result<Buffer<Self>>;

    /// Adds `2 dy (x - target) / n` to `dx`, or replaces `dx` by it if the device can; with `x` and `target` exchanged it is
    /// the target's gradient.
    fn mse_backward(
        &self,
        x: &Buffer<Self>,
        target: &Buffer<Self>,
        dy: &Buffer<Self>,
        dx: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()>;
}

/// The mean over all values of `(x - target)²`.
///
/// Work: 3 per value forward; 3 backward for each of the two that needs a gradient.
///
/// # Shapes
/// `(1)` from `x` and `target` of one shape.
/// # Errors
/// [`OpError::Shape`] when the shapes differ or are empty.
/// # Source
/// PyTorch `F.mse_loss(x, target)`, summed in f64.
pub fn mse<D: Kernels>(pass: &mut Pass<D>, x: &Var<D>, target: &Var<D>) -> Result<Var<D>> {
    if x.shape() != target.shape() || x.shape().is_empty() {
        let message = format!("x {} and target {} do not fit", x.shape(), target.shape());
        return Err(OpError::shape("mse", message));
    }
    let loss = pass.device().mse(x.data(), target.data())?;
    let values = x.shape().len();
    let backward = [x, target]
        .into_iter()
        .filter(|var| var.needs_grad())
        .count()
        * 3
        * values;
    let (a, b) = (x.clone(), target.clone());
    let op = Op::new("mse", Work::new(3 * values, backward), [x, target]);
    pass.finish(op, loss, [1], move |grads, dy| {
        let device = grads.device().clone();
        for (of, other) in [(&a, &b), (&b, &a)] {
            if of.needs_grad() {
                device.mse_backward(of.data(), other.data(), dy, grads.entry(of)?)?;
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
