//! SiLU: `y = x · sigmoid(x)`. The smallest operation; read it first.
//!
//! # Work
//! 4 per value forward (`exp`, sum, quotient, product), 8 backward.
//! # Source
//! PyTorch `torch.nn.functional.silu`.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::{Activation, Kernels, OpError, Pass, Var, Work};
use crate::device::{Backend, Buffer};

/// SiLU on one device.
pub trait SiluKernel: Backend {
    /// `x · sigmoid(x)`.
    fn silu(&self, x: &Buffer<Self>) -> Result<Buffer<Self>, OpError>;

    /// Adds `grad_output · d silu(x)/dx` to `grad_x`.
    fn silu_backward(
        &self,
        x: &Buffer<Self>,
        grad_output: &Buffer<Self>,
        grad_x: &mut Buffer<Self>,
    ) -> Result<(), OpError>;
}

/// `y = x · sigmoid(x)`, elementwise, for any shape.
pub fn silu<D: Kernels>(pass: &mut Pass<D>, x: &Var<D>) -> Result<Var<D>, OpError> {
    let data = pass.device().silu(x.data())?;
    let (forward, backward) = Activation::Silu.flop();
    let (n, saved) = (x.shape().len(), x.clone());
    pass.finish(
        "silu",
        Work::new(forward * n, backward * n),
        data,
        x.shape(),
        &[x],
        move |slots, grad_output| {
            let device = slots.device().clone();
            device.silu_backward(saved.data(), grad_output, slots.of(&saved)?)
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing;

    #[test]
    fn values_and_gradient_are_those_of_pytorch() {
        // x = torch.tensor([-3., -.5, 0., 1., 4.], requires_grad=True)
        // y = torch.nn.functional.silu(x); y.backward(torch.tensor([1., -2., 3., .5, 1.]))
        let (y, grads) = testing::backward(
            &[(&[-3.0, -0.5, 0.0, 1.0, 4.0], [5].into())],
            &[1.0, -2.0, 3.0, 0.5, 1.0],
            |pass, x| silu(pass, &x[0]),
        );
        testing::assert_close(
            &y,
            &[-0.142_277_6, -0.188_770_35, 0.0, 0.731_058_6, 3.928_055_3],
            1e-6,
        );
        testing::assert_close(
            &grads[0],
            &[-0.088_104_1, -0.520_077_3, 1.5, 0.463_835_24, 1.052_664_6],
            1e-6,
        );
    }
}
