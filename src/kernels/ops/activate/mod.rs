//! An [`Activation`] of every value, `y = f(x)`. The smallest operation; read it first.
//!
//! # Formula
//! `silu`: `x · sigmoid(x)`; `relu`: `max(x, 0)`; `tanh`; `gelu`: `x · Φ(x)`, Φ being the distribution function of the
//! standard normal (exact, by `erf`); `sigmoid`: `1 / (1 + e⁻ˣ)`; `leaky_relu`: `x` above 0, else `0.01 x`; `softplus`:
//! `ln(1 + eˣ)`.
//! # Work
//! [`Activation::forward_backward_flop`] per value, but backward of `tanh` and `sigmoid` takes 3: it starts from the
//! result.
//! # Source
//! PyTorch's functions of these names in `torch.nn.functional`, with their default options.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::{Activation, Flops, GradSlots, Kernels, Op, Pass, Result, Var};
use crate::device::{Backend, Buffer};

/// Activations on one device.
pub trait ActivateKernel: Backend {
    /// `f(x)`.
    fn activate(&self, x: &Buffer<Self>, activation: Activation) -> Result<Buffer<Self>>;

    /// Multiplies `grad`, the gradient of the result, by `f'(x)`. `kept` is the result for `Relu`, `Tanh`, `Sigmoid`
    /// and `LeakyRelu`, and `x` for the others.
    fn activate_backward(
        &self,
        kept: &Buffer<Self>,
        grad: &mut Buffer<Self>,
        activation: Activation,
    ) -> Result<()>;
}

/// `y = f(x)`, elementwise, for any shape; recorded under [`Activation::name`]. `Identity` returns `x` itself and
/// records nothing.
///
/// Where the derivative follows from the result (`Relu`, `Tanh`, `Sigmoid`, `LeakyRelu`), the result is kept for
/// backward, which the next operation usually keeps too, and `x` can be freed; for the others `x` is kept.
///
/// # Errors
/// Errors of the device only: every shape is valid.
pub fn activate<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    activation: Activation,
) -> Result<Var<D>> {
    if activation == Activation::Identity {
        return Ok(x.clone());
    }
    let data = pass.device().activate(x.data(), activation)?;
    let n = x.shape().len();
    let (forward, backward) = match activation {
        Activation::Tanh | Activation::Sigmoid => (activation.forward_backward_flop().0, 3),
        _ => activation.forward_backward_flop(),
    };
    let op = Op::new(
        activation.name(),
        Flops::new(forward * n, backward * n),
        [x],
    );
    pass.record_op_keeping(op, data, x.shape(), |_, y| {
        let by_result = activation.has_slope_from_result();
        let kept = if by_result { y.clone() } else { x.clone() };
        // Only the token, which identifies the gradient of `x`, is kept, so that the memory of `x` can be freed.
        let token = x.token().clone();
        Ok(move |slots: &mut GradSlots<'_, D>, mut grad| {
            let device = slots.device().clone();
            device.activate_backward(kept.data(), &mut grad, activation)?;
            slots.put_by_token(&token, grad)
        })
    })
}

/// [`activate`] with [`Activation::Silu`].
///
/// # Errors
/// As [`activate`].
pub fn silu<D: Kernels>(pass: &mut Pass<D>, x: &Var<D>) -> Result<Var<D>> {
    activate(pass, x, Activation::Silu)
}

#[cfg(test)]
mod tests;
