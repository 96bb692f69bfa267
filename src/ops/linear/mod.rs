//! Linear layer with fused activation: `y = act(x · W + b)`; also the 1×1 convolution. [`linear_residual`] ends a
//! residual branch, [`linear_transposed`] goes through a weight the other way.
//!
//! # Shapes
//! `x: (rows…, F_in)`, `weight: (F_in, F_out)` ([`super::Layout::Linear`]), `bias: (F_out)`, result `(rows…, F_out)`.
//! # Work
//! `2 rows F_in F_out` forward, plus `rows F_out` for a bias and the activation's; backward the same again for each of
//! x and weight that needs a gradient, and `rows F_out` for the bias.
//! # Source
//! PyTorch `torch.nn.functional.linear` with the weight transposed, followed by the activation.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod residual;
mod transposed;

pub use residual::linear_residual;
pub use transposed::linear_transposed;

use super::{Activation, Kernels, OpError, Pass, Var, Work};
use crate::device::{Backend, Buffer};

/// The three sizes of a linear layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinearSize {
    /// Number of rows.
    pub rows: usize,
    /// Features in.
    pub inputs: usize,
    /// Features out.
    pub outputs: usize,
}

/// Linear layers on one device.
pub trait LinearKernel: Backend {
    /// `act(x · W + b)`, and with `keep` the values before the activation, which backward needs.
    fn linear(
        &self,
        _x: &Buffer<Self>,
        _weight: &Buffer<Self>,
        _bias: Option<&Buffer<Self>>,
        _size: LinearSize,
        _activation: Activation,
        _keep: bool,
    ) -> Result<(Buffer<Self>, Option<Buffer<Self>>), OpError> {
        Err(OpError::unsupported::<Self>("linear"))
    }

    /// `residual + x · W + b`.
    fn linear_onto(
        &self,
        _residual: &Buffer<Self>,
        _x: &Buffer<Self>,
        _weight: &Buffer<Self>,
        _bias: &Buffer<Self>,
        _size: LinearSize,
    ) -> Result<Buffer<Self>, OpError> {
        Err(OpError::unsupported::<Self>("linear_residual"))
    }

    /// The gradient before the activation: `grad_output · act'(before)`.
    fn activation_backward(
        &self,
        _before: &Buffer<Self>,
        _grad_output: &Buffer<Self>,
        _activation: Activation,
    ) -> Result<Buffer<Self>, OpError> {
        Err(OpError::unsupported::<Self>("activation"))
    }

    /// [`LinearKernel::activation_backward`] and, from its result, [`LinearKernel::bias_backward`].
    fn activation_bias_backward(
        &self,
        before: &Buffer<Self>,
        grad_output: &Buffer<Self>,
        activation: Activation,
        grad_bias: &mut Buffer<Self>,
    ) -> Result<Buffer<Self>, OpError> {
        let grad = self.activation_backward(before, grad_output, activation)?;
        self.bias_backward(&grad, grad_bias)?;
        Ok(grad)
    }

    /// `grad_x += grad · Wᵀ`.
    fn linear_backward_x(
        &self,
        _grad: &Buffer<Self>,
        _weight: &Buffer<Self>,
        _size: LinearSize,
        _grad_x: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        Err(OpError::unsupported::<Self>("linear"))
    }

    /// `grad_weight += xᵀ · grad`.
    fn linear_backward_weight(
        &self,
        _x: &Buffer<Self>,
        _grad: &Buffer<Self>,
        _size: LinearSize,
        _grad_weight: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        Err(OpError::unsupported::<Self>("linear"))
    }

    /// `grad_bias[k] += Σ_rows grad[row, k]`; convolutions use it too.
    fn bias_backward(
        &self,
        _grad: &Buffer<Self>,
        _grad_bias: &mut Buffer<Self>,
    ) -> Result<(), OpError> {
        Err(OpError::unsupported::<Self>("bias"))
    }
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
) -> Result<Var<D>, OpError> {
    let size = check(x, weight, bias)?;
    let inputs: Vec<&Var<D>> = [x, weight].into_iter().chain(bias).collect();
    let keep = activation != Activation::Identity
        && pass.is_recording()
        && inputs.iter().any(|v| v.needs_grad());
    let device = pass.device().clone();
    let (data, before) = device.linear(
        x.data(),
        weight.data(),
        bias.map(Var::data),
        size,
        activation,
        keep,
    )?;
    let (saved_x, saved_weight, saved_bias) = (x.clone(), weight.clone(), bias.cloned());
    let shape = x.shape().with_last(size.outputs);
    pass.finish(
        "linear",
        work(size, &inputs, activation),
        data,
        shape,
        &inputs,
        move |slots, grad_output| {
            let bias = saved_bias.as_ref().filter(|bias| bias.needs_grad());
            let owned = match (&before, bias) {
                (Some(before), Some(bias)) => {
                    let grad_bias = slots.of(bias)?;
                    let (dy, act) = (grad_output, activation);
                    Some(device.activation_bias_backward(before, dy, act, grad_bias)?)
                }
                (Some(before), None) => {
                    Some(device.activation_backward(before, grad_output, activation)?)
                }
                (None, Some(bias)) => {
                    device.bias_backward(grad_output, slots.of(bias)?)?;
                    None
                }
                (None, None) => None,
            };
            let grad = owned.as_ref().unwrap_or(grad_output);
            if saved_weight.needs_grad() {
                device.linear_backward_weight(
                    saved_x.data(),
                    grad,
                    size,
                    slots.of(&saved_weight)?,
                )?;
            }
            if saved_x.needs_grad() {
                device.linear_backward_x(grad, saved_weight.data(), size, slots.of(&saved_x)?)?;
            }
            Ok(())
        },
    )
}

fn check<D: Backend>(
    x: &Var<D>,
    weight: &Var<D>,
    bias: Option<&Var<D>>,
) -> Result<LinearSize, OpError> {
    let &[inputs, outputs] = weight.shape().dims() else {
        return Err(OpError::shape(
            "linear",
            format!("a weight has two dimensions, not {}", weight.shape()),
        ));
    };
    if x.shape().last() != inputs {
        return Err(OpError::shape(
            "linear",
            format!("{} rows meet a weight {}", x.shape(), weight.shape()),
        ));
    }
    if let Some(bias) = bias.filter(|bias| bias.shape().len() != outputs) {
        return Err(OpError::shape(
            "linear",
            format!("a bias {} for {outputs} outputs", bias.shape()),
        ));
    }
    Ok(LinearSize {
        rows: x.shape().rows(),
        inputs,
        outputs,
    })
}

fn work<D: Backend>(size: LinearSize, inputs: &[&Var<D>], activation: Activation) -> Work {
    let outputs = size.rows * size.outputs;
    let product = 2 * outputs * size.inputs;
    let (forward, backward) = activation.flop();
    let biased = usize::from(inputs.len() == 3) * outputs;
    let products = usize::from(inputs[0].needs_grad()) + usize::from(inputs[1].needs_grad());
    Work::new(
        product + biased + forward * outputs,
        products * product + biased + backward * outputs,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing;

    const ALL: [Activation; 5] = [
        Activation::Identity,
        Activation::Silu,
        Activation::Relu,
        Activation::Tanh,
        Activation::Gelu,
    ];

    #[test]
    fn values_and_gradients_are_those_of_pytorch() {
        // x = torch.tensor([[1., -2., .5], [0., 3., -1.]], requires_grad=True)
        // w = torch.tensor([[.1, .2, .3], [-.4, .5, .6]], requires_grad=True)  # [out, in]
        // b = torch.tensor([.5, -1.], requires_grad=True)
        // y = F.gelu(F.linear(x, w, b)); y.backward(torch.tensor([[1., -1.], [2., .5]]))
        let (y, grads) = testing::backward(
            &[
                (&[1.0, -2.0, 0.5, 0.0, 3.0, -1.0], [2, 3].into()),
                (&[0.1, -0.4, 0.2, 0.5, 0.3, 0.6], [3, 2].into()),
                (&[0.5, -1.0], [2].into()),
            ],
            &[1.0, -1.0, 2.0, 0.5],
            |pass, v| linear(pass, &v[0], &v[1], Some(&v[2]), Activation::Gelu),
        );
        testing::assert_close(
            &y,
            &[0.222_890_72, -0.037_515_31, 0.630_515_7, -0.046_017_23],
            1e-6,
        );
        testing::assert_close(
            &grads[0],
            &[
                0.047_015_99,
                0.190_883_56,
                0.275_150_18,
                0.119_884_23,
                0.513_078_4,
                0.738_081_8,
            ],
            1e-6,
        );
        testing::assert_close(
            &grads[1],
            &[
                0.768_164_75,
                0.074_501_22,
                4.583_058_4,
                0.481_712_82,
                -1.655_713_6,
                -0.172_987_8,
            ],
            1e-6,
        );
        testing::assert_close(&grads[2], &[2.807_960_5, 0.284_739_6], 1e-6);
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        for activation in ALL {
            testing::check_gradients(&[[3, 5].into(), [5, 17].into(), [17].into()], |pass, v| {
                linear(pass, &v[0], &v[1], Some(&v[2]), activation)
            });
        }
        testing::check_gradients(&[[1, 3, 2, 1].into(), [1, 3].into()], |pass, v| {
            linear(pass, &v[0], &v[1], None, Activation::Identity)
        });
    }

    #[test]
    fn a_batch_is_its_samples() {
        testing::check_batch(
            4,
            &[[4, 5, 3].into(), [3, 17].into(), [17].into()],
            |pass, v| linear(pass, &v[0], &v[1], Some(&v[2]), Activation::Silu),
        );
    }

    #[test]
    fn one_and_two_threads_give_the_same_bits() {
        // The second shape cuts the weight gradient's rows, the first its depth, the third the result's columns.
        for (rows, inputs, outputs) in [(6000, 17, 33), (700, 131, 65), (32, 300, 501)] {
            testing::check_threads(
                &[
                    [rows, inputs].into(),
                    [inputs, outputs].into(),
                    [outputs].into(),
                ],
                |pass, v| linear(pass, &v[0], &v[1], Some(&v[2]), Activation::Silu),
            );
        }
    }

    #[test]
    fn sums_over_rows_are_those_of_the_host() {
        // From 16,385 rows on a GPU cuts rows into pieces; the sizes before leave parts of warps and blocks over.
        let sizes = [(1, 1), (3, 33), (31, 1025), (1025, 3), (700, 31)];
        for (rows, columns) in sizes.into_iter().chain([(16_385, 1), (20_011, 33)]) {
            let device = testing::device();
            let grad = testing::filled(rows * columns, 1);
            let mut sums = device.upload(vec![1.5; columns]).unwrap();
            device
                .bias_backward(&device.upload(grad.clone()).unwrap(), &mut sums)
                .unwrap();
            let column = |c| grad.iter().skip(c).step_by(columns);
            let expected = |c| 1.5 + column(c).map(|v| f64::from(*v)).sum::<f64>();
            let expected: Vec<f32> = (0..columns).map(|c| expected(c) as f32).collect();
            // The CPU adds 1024 rows one after another in single precision.
            testing::assert_close(&device.download(&sums).unwrap(), &expected, 1e-4);
        }
    }

    #[test]
    fn values_are_those_of_the_host_whatever_is_left_over() {
        for (rows, inputs, outputs) in [(1, 1, 1025), (33, 3, 31), (1025, 2, 1), (5, 31, 600)] {
            let [x, weight, bias] = [rows * inputs, inputs * outputs, outputs]
                .map(|len| testing::filled(len, len as u64));
            let leaves: [(&[f32], _); 3] = [
                (&x, [rows, inputs].into()),
                (&weight, [inputs, outputs].into()),
                (&bias, [outputs].into()),
            ];
            let value = |row: usize, column: usize| {
                let terms = (0..inputs).map(|i| x[row * inputs + i] * weight[i * outputs + column]);
                terms.sum::<f32>() + bias[column]
            };
            let expected: Vec<f32> = (0..rows * outputs)
                .map(|i| value(i / outputs, i % outputs).max(0.0))
                .collect();
            let relu = |pass: &mut Pass<_>, v: &[Var<_>]| {
                linear(pass, &v[0], &v[1], Some(&v[2]), Activation::Relu)
            };
            testing::assert_close(&testing::forward(&leaves, relu), &expected, 1e-5);
            // With what backward keeps.
            let (y, _) = testing::backward(&leaves, &vec![1.0; expected.len()], relu);
            testing::assert_close(&y, &expected, 1e-5);
        }
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let device = testing::device();
        let x = Var::constant(&device, vec![0.0; 6], [2, 3]).unwrap();
        let weight = Var::constant(&device, vec![0.0; 8], [4, 2]).unwrap();
        let error = linear(
            &mut Pass::inference(&device),
            &x,
            &weight,
            None,
            Activation::Identity,
        )
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "linear: (2, 3) rows meet a weight (4, 2)"
        );
    }
}
