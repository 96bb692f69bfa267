//! Linear layer at the end of a residual branch: `y = residual + x · W + b`.

use super::super::{Activation, Flops, Kernels, Op, OpError, Pass, PooledBuffer, Result, Var};
use super::{check, work};

/// `residual + x · weight + bias`; the product is added to the residual directly, without a pass of its own.
///
/// FLOPs: as [`super::linear`], and 1 per result forward, 1 backward where the residual needs a gradient.
///
/// # Shapes
/// `(rows…, F_out)` from `residual` of this shape, `x: (rows…, F_in)`, `weight: (F_in, F_out)`, `bias: (F_out)`.
/// # Errors
/// [`OpError::Shape`] when the shapes do not agree.
/// # Source
/// PyTorch `residual + torch.nn.functional.linear(x, weight, bias)` with the weight transposed.
pub fn linear_residual<D: Kernels>(
    pass: &mut Pass<D>,
    residual: &Var<D>,
    x: &Var<D>,
    weight: &Var<D>,
    bias: &Var<D>,
) -> Result<Var<D>> {
    let size = check(x, weight, Some(bias))?;
    let shape = x.shape().with_last(size.outputs);
    if residual.shape() != shape {
        let message = format!("a residual {} for {shape}", residual.shape());
        return Err(OpError::shape("linear_residual", message));
    }
    let device = pass.device().clone();
    let data =
        device.linear_plus_residual(residual.data(), x.held(), weight.held(), bias.data(), size)?;
    let mut count = work(size, &[x, weight, bias], Activation::Identity);
    let backward = usize::from(residual.needs_grad()) * shape.len();
    count += Flops::new(shape.len(), backward);
    let kept = pass.keep(x, weight)?;
    let inputs = [residual, x, weight, bias];
    let op = Op::new("linear_residual", count, &inputs);
    let residual = residual.without_values(&device)?;
    let [x, weight, bias] = [&kept, weight, bias].map(Var::clone);
    pass.record_op_owned(op, data, shape, move |slots, grad| {
        let grad = PooledBuffer::<D>::new(grad);
        if bias.needs_grad() {
            device.bias_backward(&grad, slots.entry(&bias)?)?;
        }
        if weight.needs_grad() {
            device.linear_backward_weight(x.held(), &grad, size, slots.entry(&weight)?, false)?;
        }
        if x.needs_grad() {
            device.linear_backward_x(&grad, weight.held(), size, slots.entry(&x)?)?;
        }
        if residual.needs_grad() {
            return slots.put(&residual, grad.into_buffer(&device)?);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing;

    #[test]
    fn values_and_gradients_are_those_of_pytorch() {
        // x = torch.tensor([[1., -2., .5], [0., 3., -1.]]); w = torch.tensor([[.1, .2, .3], [-.4, .5, .6]])
        // b = torch.tensor([.5, -1.]); r = torch.tensor([[1., 2.], [-3., .25]])
        // (r + F.linear(x, w, b)).backward(torch.tensor([[1., -1.], [2., .5]]))
        let (y, grads) = testing::backward(
            &[
                (&[1.0, 2.0, -3.0, 0.25], [2, 2].into()),
                (&[1.0, -2.0, 0.5, 0.0, 3.0, -1.0], [2, 3].into()),
                (&[0.1, -0.4, 0.2, 0.5, 0.3, 0.6], [3, 2].into()),
                (&[0.5, -1.0], [2].into()),
            ],
            &[1.0, -1.0, 2.0, 0.5],
            |pass, v| linear_residual(pass, &v[0], &v[1], &v[2], &v[3]),
        );
        testing::assert_close(&y, &[1.35, -0.1, -2.2, 0.15], 1e-6);
        testing::assert_close(&grads[0], &[1.0, -1.0, 2.0, 0.5], 0.0);
        testing::assert_close(&grads[1], &[0.5, -0.3, -0.3, 0.0, 0.65, 0.9], 1e-6);
        testing::assert_close(&grads[2], &[1.0, -1.0, 4.0, 3.5, -1.5, -1.0], 1e-6);
        testing::assert_close(&grads[3], &[3.0, -0.5], 1e-6);
    }

    #[test]
    fn the_residual_and_the_input_may_be_one_value() {
        testing::check_gradients(&[[3, 4].into(), [4, 4].into(), [4].into()], |pass, v| {
            linear_residual(pass, &v[0], &v[0], &v[1], &v[2])
        });
    }

    #[test]
    fn a_residual_of_another_shape_is_refused() {
        let device = testing::device();
        let [r, x, w, b] = [vec![2, 4], vec![2, 3], vec![3, 5], vec![5]].map(|dims| {
            let values = vec![0.0; dims.iter().product()];
            match *dims {
                [a, b] => Var::constant(&device, values, [a, b]).unwrap(),
                _ => Var::constant(&device, values, [dims[0]]).unwrap(),
            }
        });
        let error = linear_residual(&mut Pass::inference(&device), &r, &x, &w, &b).unwrap_err();
        assert_eq!(
            error.to_string(),
            "linear_residual: a residual (2, 4) for (2, 5)"
        );
    }
}
