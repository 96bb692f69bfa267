//! Product with a linear layer's transposed weight, `y = x · Wᵀ`, for blocks with tied weights.

use super::super::gemm::Accumulate;
use super::super::{Flops, Kernels, Op, OpError, Pass, PooledBuffer, Result, Var};
use super::LinearSize;

/// `x · weightᵀ` for a weight in the memory order of [`super::linear`], plus `residual` if there is one.
///
/// FLOPs: `2 rows F_in F_out` forward (and 1 per result with a residual); backward the same again for each of x and
/// weight that needs a gradient.
///
/// # Shapes
/// `(rows…, F_in)` from `x: (rows…, F_out)`, `weight: (F_in, F_out)` ([`crate::ops::Layout::Linear`]), and `residual`
/// with the shape of the result.
/// # Errors
/// [`OpError::Shape`] when the shapes do not agree.
/// # Source
/// PyTorch `residual + x @ weight` for `weight` as `nn.Linear` holds it, `[out, in]`.
pub fn linear_transposed<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    weight: &Var<D>,
    residual: Option<&Var<D>>,
) -> Result<Var<D>> {
    let size = check(x, weight, residual)?;
    let shape = x.shape().with_last(size.inputs);
    let device = pass.device().clone();
    let (mut y, accumulate) = match residual {
        Some(residual) => (residual.data().clone(), Accumulate::Add),
        None => (device.uninit_buffer(shape.len())?, Accumulate::Replace),
    };
    device.linear_backward_x(x.held(), weight.held(), size, (&mut y, accumulate))?;
    let inputs: Vec<&Var<D>> = [x, weight].into_iter().chain(residual).collect();
    let product = 2 * size.rows * size.inputs * size.outputs;
    let needed = |var: &Var<D>| usize::from(var.needs_grad());
    let sums = usize::from(residual.is_some()) * shape.len();
    let work = Flops::new(
        product + sums,
        (needed(x) + needed(weight)) * product + residual.map_or(0, needed) * sums,
    );
    let (x, weight, residual) = (x.clone(), weight.clone(), residual.cloned());
    let op = Op::new("linear_transposed", work, &inputs);
    pass.record_op_owned(op, y, shape, move |slots, grad| {
        let grad = &PooledBuffer::<D>::new(grad);
        if let Some(residual) = residual.as_ref().filter(|residual| residual.needs_grad()) {
            device.accumulate(grad, slots.of(residual)?)?;
        }
        if weight.needs_grad() {
            // The weight's gradient is that of a linear layer from F_in to F_out with input `grad` and output gradient
            // `x`.
            device.linear_backward_weight(grad, x.held(), size, slots.entry(&weight)?, false)?;
        }
        if x.needs_grad() {
            let identity = super::Activation::Identity;
            let (forward, _) = device.linear(grad, weight.held(), None, size, identity, false)?;
            slots.put(&x, forward)?;
        }
        Ok(())
    })
}

fn check<D: Kernels>(x: &Var<D>, weight: &Var<D>, residual: Option<&Var<D>>) -> Result<LinearSize> {
    let refuse = |message| Err(OpError::shape("linear_transposed", message));
    let &[inputs, outputs] = weight.shape().dims() else {
        return refuse(format!(
            "a weight has two dimensions, not {}",
            weight.shape()
        ));
    };
    if x.shape().last() != outputs {
        let message = format!("{} rows meet a weight {}", x.shape(), weight.shape());
        return refuse(message);
    }
    let shape = x.shape().with_last(inputs);
    if let Some(residual) = residual.filter(|residual| residual.shape() != shape) {
        return refuse(format!("a residual {} for {shape}", residual.shape()));
    }
    Ok(LinearSize {
        rows: x.shape().rows(),
        inputs,
        outputs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing;

    #[test]
    fn values_and_gradients_are_those_of_pytorch() {
        // w = torch.tensor([[.1, .2, .3], [-.4, .5, .6]])  # nn.Linear(3, 2).weight, [out, in]
        // x = torch.tensor([[1., -2.], [.5, 3.]]); r = torch.tensor([[.1, .2, .3], [1., -1., .5]])
        // (r + x @ w).backward(torch.tensor([[1., -1., 2.], [.5, 0., -3.]]))
        let (y, grads) = testing::backward(
            &[
                (&[1.0, -2.0, 0.5, 3.0], [2, 2].into()),
                (&[0.1, -0.4, 0.2, 0.5, 0.3, 0.6], [3, 2].into()),
                (&[0.1, 0.2, 0.3, 1.0, -1.0, 0.5], [2, 3].into()),
            ],
            &[1.0, -1.0, 2.0, 0.5, 0.0, -3.0],
            |pass, v| linear_transposed(pass, &v[0], &v[1], Some(&v[2])),
        );
        testing::assert_close(&y, &[1.0, -0.6, -0.6, -0.15, 0.6, 2.45], 1e-6);
        testing::assert_close(&grads[0], &[0.5, 0.3, -0.85, -2.0], 1e-6);
        testing::assert_close(&grads[1], &[1.25, -0.5, -1.0, 2.0, 0.5, -13.0], 1e-6);
        testing::assert_close(&grads[2], &[1.0, -1.0, 2.0, 0.5, 0.0, -3.0], 0.0);
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let device = testing::device();
        let x = Var::constant(&device, vec![0.0; 6], [2, 3]).unwrap();
        let weight = Var::constant(&device, vec![0.0; 8], [4, 2]).unwrap();
        let error =
            linear_transposed(&mut Pass::inference(&device), &x, &weight, None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "linear_transposed: (2, 3) rows meet a weight (4, 2)"
        );
    }
}
