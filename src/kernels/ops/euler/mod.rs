//! Euler–Maruyama with learned fields: all steps of a stochastic differential equation as one operation.
//!
//! `x_{i+1} = x_i + f(t_i, x_i) Δt + g(t_i, x_i) √Δt e_i` with `Δt = 1/N`, `t_i = i Δt` and noise e. Drift f and
//! diffusion g are two networks `(t, x) → H → H → 1` with tanh after the hidden layers. Samples are independent: on the
//! CPU each group of samples runs all steps on one thread. Backward traverses the steps in reverse with the hidden
//! values that forward saved; the gradient of the `(H, H)` weights is one product over all steps.
//!
//! # Shapes
//! `start: (B, 1)`, `noise: (B, N)`, result `(B, N)` without the start. Per field: weights `(2, H)`, `(H, H)`,
//! `(H, 1)` ([`super::Layout::Linear`]; the rows of the first are t and x), biases `(H)`, `(H)`, `(1)`.
//! # Work
//! FLOPs per sample and step: `2 (2 (2 + H + 1) H + 2 H + 1 + 10 H) + 5`, tanh as
//! [`Activation::Tanh`](super::Activation); backward twice the products, the biases, and 6 per hidden value.
//! # Source
//! Kloeden & Platen 1992, §9.1. PyTorch: `benches/peers/paths.py`, `NeuralSde`.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::{Flops, GradSlots, Kernels, Op, OpError, Pass, Result, Shape, Var};
use crate::device::{Backend, Buffer};

/// The sizes of an Euler–Maruyama simulation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EulerSize {
    /// Number of samples.
    pub batch: usize,
    /// Number of steps N.
    pub steps: usize,
    /// Number of units H of a hidden layer.
    pub hidden: usize,
}

impl EulerSize {
    /// Floating-point operations of a forward pass.
    pub fn forward_flop(&self) -> usize {
        let h = self.hidden;
        self.batch * self.steps * (2 * (2 * (h + 3) * h + 2 * h + 1 + 10 * h) + 5)
    }

    fn backward_flop(&self) -> usize {
        let h = self.hidden;
        self.batch * self.steps * (2 * (4 * (h + 3) * h + 2 * h + 1 + 6 * h) + 7)
    }
}

/// Weights and biases of a field (drift or diffusion), layer by layer: weight, bias, weight, bias, weight, bias.
pub type FieldParameters<T> = [T; 6];

/// Inputs of an Euler–Maruyama simulation.
#[derive(Debug)]
pub struct EulerInputs<D: Backend> {
    /// Initial value of every sample, `(B, 1)`.
    pub start: Var<D>,
    /// Noise of the steps, `(B, N)`.
    pub noise: Var<D>,
    /// The parameters of drift and diffusion.
    pub fields: [FieldParameters<Var<D>>; 2],
}

impl<D: Backend> EulerInputs<D> {
    /// The inputs that may need a gradient: the start, then the parameters of both fields.
    pub fn differentiable(&self) -> impl Iterator<Item = &Var<D>> {
        std::iter::once(&self.start).chain(self.fields.iter().flatten())
    }

    /// The parameters of drift and diffusion, in device memory.
    pub fn fields(&self) -> [FieldParameters<&Buffer<D>>; 2] {
        let fields = self.fields.each_ref();
        fields.map(|field| field.each_ref().map(Var::data))
    }
}

/// Kernels of [`euler_maruyama`] on one device.
pub trait EulerKernel: Backend {
    /// The path `(B, N)`, and the intermediate values that backward needs.
    fn euler_maruyama(
        &self,
        inputs: &EulerInputs<Self>,
        size: EulerSize,
    ) -> Result<(Buffer<Self>, Vec<Buffer<Self>>)>;

    /// Adds the gradients of the inputs to `slots`, for those that need one; `saved` is from forward.
    fn euler_maruyama_backward(
        &self,
        inputs: &EulerInputs<Self>,
        saved: &[Buffer<Self>],
        size: EulerSize,
        grad: &Buffer<Self>,
        slots: &mut GradSlots<'_, Self>,
    ) -> Result<()>;
}

/// The path `(B, N)` of a stochastic differential equation with learned drift and diffusion; see the module.
///
/// # Errors
/// [`OpError::Shape`] when the shapes do not fit together.
pub fn euler_maruyama<D: Kernels>(
    pass: &mut Pass<D>,
    start: &Var<D>,
    noise: &Var<D>,
    fields: &[FieldParameters<Var<D>>; 2],
) -> Result<Var<D>> {
    let size = check(start, noise, fields)?;
    let inputs = EulerInputs {
        start: start.clone(),
        noise: noise.clone(),
        fields: fields.clone(),
    };
    let (path, saved) = pass.device().euler_maruyama(&inputs, size)?;
    let differentiable: Vec<&Var<D>> = std::iter::once(start)
        .chain(fields.iter().flatten())
        .collect();
    let op = Op::new(
        "euler_maruyama",
        Flops::new(size.forward_flop(), size.backward_flop()),
        &differentiable,
    );
    pass.record_op(op, path, [size.batch, size.steps], move |slots, grad| {
        let device = slots.device().clone();
        device.euler_maruyama_backward(&inputs, &saved, size, grad, slots)
    })
}

fn check<D: Backend>(
    start: &Var<D>,
    noise: &Var<D>,
    fields: &[FieldParameters<Var<D>>; 2],
) -> Result<EulerSize> {
    let wrong = |message: String| Err(OpError::shape("euler_maruyama", message));
    let &[batch, steps] = noise.shape().dims() else {
        return wrong(format!("noise is (B, N), not {}", noise.shape()));
    };
    if start.shape().len() != batch || batch == 0 || steps == 0 {
        return wrong(format!(
            "start {} and noise {}",
            start.shape(),
            noise.shape()
        ));
    }
    let hidden = fields[0][1].shape().len();
    let wanted: FieldParameters<Shape> = [
        [2, hidden].into(),
        [hidden].into(),
        [hidden, hidden].into(),
        [hidden].into(),
        [hidden, 1].into(),
        [1].into(),
    ];
    for (found, wanted) in fields.iter().flat_map(|field| field.iter().zip(wanted)) {
        if found.shape() != wanted || hidden == 0 {
            return wrong(format!("{} where a field has {wanted}", found.shape()));
        }
    }
    Ok(EulerSize {
        batch,
        steps,
        hidden,
    })
}

#[cfg(test)]
mod tests;
