//! Linear layer with fused activation, `y = act(x · W + b)`; also used as the 1×1 convolution. [`linear_residual`] adds
//! a residual, [`linear_transposed`] multiplies by the transposed weight, [`projections()`] computes several layers
//! that read the same inputs.
//!
//! # Shapes
//! `x: (rows…, F_in)`, `weight: (F_in, F_out)` ([`super::Layout::Linear`]), `bias: (F_out)`, result `(rows…, F_out)`.
//! # Work
//! FLOPs: `2 rows F_in F_out` forward, plus `rows F_out` for a bias and those of the activation; backward
//! `2 rows F_in F_out` for each of x and weight that needs a gradient, plus `rows F_out` for the bias and those of the
//! activation.
//! # Source
//! PyTorch `torch.nn.functional.linear` with the weight transposed, followed by the activation.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod projections;
mod residual;
mod transposed;

pub use projections::{Projection, ProjectionsKernel, projections};
pub use residual::linear_residual;
pub use transposed::linear_transposed;

use super::gemm::Accumulate;
use super::{Activation, Flops, Kernels, Op, OpError, Pass, PooledBuffer, Result, Var};
use crate::device::{Backend, Buffer};

/// The sizes of a linear layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinearSize {
    /// Number of rows.
    pub rows: usize,
    /// Number of input features.
    pub inputs: usize,
    /// Number of output features.
    pub outputs: usize,
}

/// Kernels of [`linear`] on one device.
pub trait LinearKernel: Backend {
    /// `act(x · W + b)`. With `keep` also what [`LinearKernel::linear_backward_activation`] needs: the values before
    /// the activation or, on the CPU, the activation's derivatives at these values.
    fn linear(
        &self,
        x: &PooledBuffer<Self>,
        weight: &PooledBuffer<Self>,
        bias: Option<&Buffer<Self>>,
        size: LinearSize,
        activation: Activation,
        keep: bool,
    ) -> Result<(Buffer<Self>, Option<PooledBuffer<Self>>)>;

    /// `residual + x · W + b`, without an activation.
    fn linear_plus_residual(
        &self,
        residual: &Buffer<Self>,
        x: &PooledBuffer<Self>,
        weight: &PooledBuffer<Self>,
        bias: &Buffer<Self>,
        size: LinearSize,
    ) -> Result<Buffer<Self>>;

    /// The gradient of the values before the activation, in the memory of `grad_output` if the device can; `kept` is
    /// from [`LinearKernel::linear`]. With a bias, also does [`LinearKernel::bias_backward`] with this gradient.
    fn linear_backward_activation(
        &self,
        kept: &PooledBuffer<Self>,
        grad_output: Buffer<Self>,
        activation: Activation,
        grad_bias: Option<(&mut Buffer<Self>, Accumulate)>,
    ) -> Result<PooledBuffer<Self>>;

    /// `grad_x = grad · Wᵀ` or `grad_x += grad · Wᵀ`.
    fn linear_backward_x(
        &self,
        grad: &PooledBuffer<Self>,
        weight: &PooledBuffer<Self>,
        size: LinearSize,
        grad_x: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()>;

    /// `grad_weight = xᵀ · grad` or `grad_weight += xᵀ · grad`. With `wants_squares` returns the sum of squares of the
    /// new `grad_weight`, or `None` if the device does not compute it in the same pass.
    fn linear_backward_weight(
        &self,
        x: &PooledBuffer<Self>,
        grad: &PooledBuffer<Self>,
        size: LinearSize,
        grad_weight: (&mut Buffer<Self>, Accumulate),
        wants_squares: bool,
    ) -> Result<Option<f64>>;

    /// `grad_bias[k] = Σ_rows grad[row, k]`, or added to it; convolutions call it too.
    fn bias_backward(
        &self,
        grad: &PooledBuffer<Self>,
        grad_bias: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()>;
}

/// `act(x · weight + bias)`; see the module.
///
/// # Errors
/// [`OpError::Shape`] when the innermost dimensions do not agree.
pub fn linear<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    weight: &Var<D>,
    bias: Option<&Var<D>>,
    activation: Activation,
) -> Result<Var<D>> {
    let size = check(x, weight, bias)?;
    let inputs: Vec<&Var<D>> = [x, weight].into_iter().chain(bias).collect();
    let keep = activation != Activation::Identity
        && pass.is_recording()
        && inputs.iter().any(|v| v.needs_grad());
    let device = pass.device().clone();
    let (data, kept) = device.linear(
        x.held(),
        weight.held(),
        bias.map(Var::data),
        size,
        activation,
        keep,
    )?;
    let (saved_x, saved_weight, saved_bias) =
        (pass.keep(x, weight)?, weight.clone(), bias.cloned());
    let shape = x.shape().with_last(size.outputs);
    let op = Op::new("linear", work(size, &inputs, activation), &inputs);
    pass.record_op_owned(op, data, shape, move |slots, grad_output| {
        let bias = saved_bias.as_ref().filter(|bias| bias.needs_grad());
        let grad_bias = bias.map(|bias| slots.entry(bias)).transpose()?;
        let grad = match (&kept, grad_bias) {
            (Some(kept), bias) => {
                device.linear_backward_activation(kept, grad_output, activation, bias)?
            }
            (None, bias) => {
                let grad = PooledBuffer::<D>::new(grad_output);
                bias.map_or(Ok(()), |bias| device.bias_backward(&grad, bias))?;
                grad
            }
        };
        if saved_weight.needs_grad() {
            let (x, wants_squares) = (saved_x.held(), slots.wants_squares());
            let slot = slots.entry(&saved_weight)?;
            let found = device.linear_backward_weight(x, &grad, size, slot, wants_squares)?;
            if let Some(squares) = found {
                slots.note_squares(&saved_weight, squares);
            }
        }
        if saved_x.needs_grad() {
            let grad_x = slots.entry(&saved_x)?;
            device.linear_backward_x(&grad, saved_weight.held(), size, grad_x)?;
        }
        Ok(())
    })
}

fn check<D: Backend>(x: &Var<D>, weight: &Var<D>, bias: Option<&Var<D>>) -> Result<LinearSize> {
    let &[inputs, outputs] = weight.shape().dims() else {
        let message = format!("a weight has two dimensions, not {}", weight.shape());
        return Err(OpError::shape("linear", message));
    };
    if x.shape().last() != inputs {
        let message = format!("{} rows meet a weight {}", x.shape(), weight.shape());
        return Err(OpError::shape("linear", message));
    }
    if let Some(bias) = bias.filter(|bias| bias.shape().len() != outputs) {
        let message = format!("a bias {} for {outputs} outputs", bias.shape());
        return Err(OpError::shape("linear", message));
    }
    Ok(LinearSize {
        rows: x.shape().rows(),
        inputs,
        outputs,
    })
}

fn work<D: Backend>(size: LinearSize, inputs: &[&Var<D>], activation: Activation) -> Flops {
    let outputs = size.rows * size.outputs;
    let product = 2 * outputs * size.inputs;
    let (forward, backward) = activation.forward_backward_flop();
    let biased = usize::from(inputs.len() == 3) * outputs;
    let products = usize::from(inputs[0].needs_grad()) + usize::from(inputs[1].needs_grad());
    Flops::new(
        product + biased + forward * outputs,
        products * product + biased + backward * outputs,
    )
}

#[cfg(test)]
mod tests;
