//! Sums: `a + b`, and `silu(a + b)` or `tanh(a + b)`, the end of a residual block, as one operation.
//!
//! # Work
//! 1 FLOP per value forward, 2 backward (one per input); with SiLU 5 and 10, with tanh 6 and 10.
//! # Source
//! PyTorch `a + b`, `torch.nn.functional.silu(a + b)`, `torch.tanh(a + b)`; without broadcasting.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::slots::{found, owe};
use super::var::Token;
use super::{Activation, Flops, GradSlots, Kernels, Op, OpError, Pass, PooledBuffer, Result, Var};
use crate::device::{Backend, Buffer};

/// Kernels of [`add`], [`add_silu`] and [`add_tanh`] on one device.
pub trait AddKernel: Backend {
    /// `act(a + b)`, and, if `keep` is set, the sum before the activation, which backward needs.
    fn add(
        &self,
        a: &Buffer<Self>,
        b: &Buffer<Self>,
        activation: Activation,
        keep: bool,
    ) -> Result<(Buffer<Self>, Option<Buffer<Self>>)>;

    /// Adds `grad_output · act'(before)` to the gradients of the `inputs` that need one; `before` is the sum
    /// that [`AddKernel::add`] kept, `None` for a plain sum.
    fn add_backward(
        &self,
        before: Option<&Buffer<Self>>,
        grad_output: Buffer<Self>,
        activation: Activation,
        inputs: [&Var<Self>; 2],
        slots: &mut GradSlots<'_, Self>,
    ) -> Result<()>;

    /// `grad += values`.
    fn accumulate(&self, values: &Buffer<Self>, grad: &mut Buffer<Self>) -> Result<()>;
}

impl<D: AddKernel> GradSlots<'_, D> {
    /// Makes `values` the gradient of `var`, or adds them to the existing one.
    pub fn put(&mut self, var: &Var<D>, values: Buffer<D>) -> Result<()> {
        debug_assert_eq!(self.device.buffer_len(&values), var.shape().len());
        self.put_by_token(var.token(), values)
    }

    /// As [`GradSlots::put`], for a closure that keeps only the token (key on the tape) of a `Var`, not its memory.
    pub(super) fn put_by_token(&mut self, token: &Token<D>, mut values: Buffer<D>) -> Result<()> {
        self.squares.forget(token);
        let (device, len) = (self.device, self.device.buffer_len(&values));
        let slot = found(self.gradients, token)?;
        if device.buffer_len(slot) == len {
            device.accumulate(&values, slot)?;
            D::recycle(&mut values);
        } else {
            *slot = values;
            owe(self.owed, token, len);
        }
        Ok(())
    }
}

/// `a + b`, elementwise, without broadcasting.
///
/// # Errors
/// [`OpError::Shape`] when the shapes differ.
pub fn add<D: Kernels>(pass: &mut Pass<D>, a: &Var<D>, b: &Var<D>) -> Result<Var<D>> {
    activated_sum(pass, a, b, Activation::Identity)
}

/// `silu(a + b)`, elementwise, without broadcasting.
///
/// # Errors
/// [`OpError::Shape`] when the shapes differ.
pub fn add_silu<D: Kernels>(pass: &mut Pass<D>, a: &Var<D>, b: &Var<D>) -> Result<Var<D>> {
    activated_sum(pass, a, b, Activation::Silu)
}

/// `tanh(a + b)`, elementwise, without broadcasting.
///
/// # Errors
/// [`OpError::Shape`] when the shapes differ.
pub fn add_tanh<D: Kernels>(pass: &mut Pass<D>, a: &Var<D>, b: &Var<D>) -> Result<Var<D>> {
    activated_sum(pass, a, b, Activation::Tanh)
}

fn activated_sum<D: Kernels>(
    pass: &mut Pass<D>,
    a: &Var<D>,
    b: &Var<D>,
    activation: Activation,
) -> Result<Var<D>> {
    let name = match activation {
        Activation::Silu => "add_silu",
        Activation::Tanh => "add_tanh",
        _ => "add",
    };
    if a.shape() != b.shape() {
        let message = format!("{} and {} have different shapes", a.shape(), b.shape());
        return Err(OpError::shape(name, message));
    }
    let needs_grad = pass.is_recording() && (a.needs_grad() || b.needs_grad());
    let device = pass.device().clone();
    let (data, before) = device.add(
        a.data(),
        b.data(),
        activation,
        needs_grad && activation != Activation::Identity,
    )?;
    let before = before.map(PooledBuffer::<D>::new);
    let (forward, backward) = activation.forward_backward_flop();
    let inputs = usize::from(a.needs_grad()) + usize::from(b.needs_grad());
    let n = a.shape().len();
    let work = Flops::new((1 + forward) * n, (inputs + backward) * n);
    let (saved_a, saved_b) = (a.without_values(&device)?, b.without_values(&device)?);
    let op = Op::new(name, work, [a, b]);
    pass.record_op_owned(op, data, a.shape(), move |slots, grad_output| {
        device.add_backward(
            before.as_deref(),
            grad_output,
            activation,
            [&saved_a, &saved_b],
            slots,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing;

    #[test]
    fn values_and_gradients_are_those_of_pytorch() {
        // a = torch.tensor([1., -2., .5], requires_grad=True); b = torch.tensor([0., 3., -1.], requires_grad=True)
        // y = F.silu(a + b); y.backward(torch.tensor([1., -1., 2.]))
        let leaves: [(&[f32], _); 2] = [
            (&[1.0, -2.0, 0.5], [3].into()),
            (&[0.0, 3.0, -1.0], [3].into()),
        ];
        let (y, grads) = testing::backward(&leaves, &[1.0, -1.0, 2.0], |pass, v| {
            add_silu(pass, &v[0], &v[1])
        });
        testing::assert_close(&y, &[0.731_058_6, 0.731_058_6, -0.188_770_34], 1e-6);
        testing::assert_close(
            &grads[0],
            &[0.927_670_54, -0.927_670_54, 0.520_077_65],
            1e-6,
        );
        testing::assert_close(
            &grads[1],
            &[0.927_670_54, -0.927_670_54, 0.520_077_65],
            1e-6,
        );
        let (y, grads) = testing::backward(&leaves, &[1.0, -1.0, 2.0], |pass, v| {
            add(pass, &v[0], &v[1])
        });
        testing::assert_close(&y, &[1.0, 1.0, -0.5], 0.0);
        testing::assert_close(&grads[1], &[1.0, -1.0, 2.0], 0.0);
        // torch.tanh(a + b).backward(torch.tensor([1., -1., 2.]))
        let (y, grads) = testing::backward(&leaves, &[1.0, -1.0, 2.0], |pass, v| {
            add_tanh(pass, &v[0], &v[1])
        });
        testing::assert_close(&y, &[0.761_594_2, 0.761_594_2, -0.462_117_17], 1e-6);
        testing::assert_close(&grads[0], &[0.419_974_3, -0.419_974_3, 1.572_895_4], 1e-6);
    }

    #[test]
    fn a_value_added_to_itself_gets_both_gradients() {
        let (_, grads) =
            testing::backward(&[(&[1.0, 2.0], [2].into())], &[1.0, -3.0], |pass, v| {
                add(pass, &v[0], &v[0])
            });
        assert_eq!(grads[0], [2.0, -6.0]);
    }

    #[test]
    fn one_input_alone_may_need_a_gradient() {
        let x = testing::random_values(1025, 1);
        let ones = vec![1.0; 1025];
        for constant_is_first in [true, false] {
            let (y, grads) = testing::backward(&[(&x, [1025].into())], &x, |pass, v| {
                let constant = Var::constant(pass.device(), ones.clone(), [1025])?;
                if constant_is_first {
                    add(pass, &constant, &v[0])
                } else {
                    add(pass, &v[0], &constant)
                }
            });
            testing::assert_close(&y, &x.iter().map(|x| 1.0 + x).collect::<Vec<_>>(), 0.0);
            assert_eq!(grads[0], x);
        }
    }
}
