//! The mean error between values and their targets: squared, absolute or Huber's.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::gemm::Accumulate;
use super::{Flops, Kernels, Op, OpError, Pass, Result, Var};
use crate::device::{Backend, Buffer};

/// The error of a value whose difference from its target is d.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ErrorTerm {
    /// `d²`: the mean is PyTorch's `MSELoss`.
    Squared,
    /// `|d|`: the mean is PyTorch's `L1Loss`. Its slope at 0 is 0.
    Absolute,
    /// `½ d²` where `|d| ≤ delta`, else `delta (|d| − ½ delta)`: the mean is PyTorch's `HuberLoss`.
    Huber {
        /// The difference from which on the error is linear; above 0.
        delta: f32,
    },
}

impl ErrorTerm {
    /// The operation's name in profiles.
    fn name(self) -> &'static str {
        match self {
            Self::Squared => "mse",
            Self::Absolute => "l1",
            Self::Huber { .. } => "huber",
        }
    }

    /// Floating-point operations for each value of the forward pass.
    fn work(self) -> usize {
        match self {
            Self::Squared | Self::Absolute => 3,
            Self::Huber { .. } => 4,
        }
    }
}

/// Kernels of [`mean_error`] on one device.
pub trait MeanErrorKernel: Backend {
    /// One value: the mean of the errors, summed in f64 over fixed chunks.
    fn mean_error(
        &self,
        term: ErrorTerm,
        x: &Buffer<Self>,
        target: &Buffer<Self>,
    ) -> Result<Buffer<Self>>;

    /// Adds `dy e′(x - target) / n` to `dx`, e′ the slope of the error, or overwrites `dx` if the device can; with
    /// `x` and `target` exchanged, computes the target's gradient.
    fn mean_error_backward(
        &self,
        term: ErrorTerm,
        x: &Buffer<Self>,
        target: &Buffer<Self>,
        dy: &Buffer<Self>,
        dx: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()>;
}

/// The mean over all values of `(x - target)²`.
///
/// FLOPs: 3 per value forward; 3 backward for each input that needs a gradient.
///
/// # Shapes
/// `(1)` from `x` and `target` of one shape.
/// # Errors
/// [`OpError::Shape`] when the shapes differ or are empty.
/// # Source
/// PyTorch `F.mse_loss(x, target)`, summed in f64.
pub fn mse<D: Kernels>(pass: &mut Pass<D>, x: &Var<D>, target: &Var<D>) -> Result<Var<D>> {
    mean_error(pass, ErrorTerm::Squared, x, target)
}

/// The mean over all values of the error `term` of `x - target`.
///
/// FLOPs: 3 per value forward, 4 for Huber's error; 3 backward for each input that needs a gradient.
///
/// # Shapes
/// `(1)` from `x` and `target` of one shape.
/// # Errors
/// [`OpError::Shape`] when the shapes differ or are empty.
/// # Source
/// PyTorch `F.mse_loss`, `F.l1_loss` and `F.huber_loss(x, target, delta=delta)`; differences in f32, the rest summed in
/// f64.
pub fn mean_error<D: Kernels>(
    pass: &mut Pass<D>,
    term: ErrorTerm,
    x: &Var<D>,
    target: &Var<D>,
) -> Result<Var<D>> {
    let name = term.name();
    if x.shape() != target.shape() || x.shape().is_empty() {
        let message = format!("x {} and target {} do not fit", x.shape(), target.shape());
        return Err(OpError::shape(name, message));
    }
    let loss = pass.device().mean_error(term, x.data(), target.data())?;
    let values = x.shape().len();
    let backward = [x, target]
        .into_iter()
        .filter(|var| var.needs_grad())
        .count()
        * 3
        * values;
    let (a, b) = (x.clone(), target.clone());
    let work = Flops::new(term.work() * values, backward);
    pass.record_op(
        Op::new(name, work, [x, target]),
        loss,
        [1],
        move |grads, dy| {
            let device = grads.device().clone();
            for (of, other) in [(&a, &b), (&b, &a)] {
                if of.needs_grad() {
                    let slot = grads.entry(of)?;
                    device.mean_error_backward(term, of.data(), other.data(), dy, slot)?;
                }
            }
            Ok(())
        },
    )
}

#[cfg(test)]
mod tests;
