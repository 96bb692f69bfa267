//! A small network applied to every point of a sequence, its outputs concatenated to the point, as one operation.
//!
//! `y = [x, relu(relu(x · W₁ + b₁) · W₂ + b₂) · W₃ + b₃]`. Points are many and layers narrow: a vector of points goes
//! through all layers while its values are in the L1 cache, and backward recomputes them instead of reading saved
//! values. If the device has no fused kernel, or x needs a gradient, the operation is composed of three [`linear()`]
//! and one [`concat()`].
//!
//! # Shapes
//! `x: (rows…, F_in)`; weights `(F_in, H₁)`, `(H₁, H₂)`, `(H₂, F_out)` ([`super::Layout::Linear`]), each with its bias;
//! result `(rows…, F_in + F_out)`.
//! # Work
//! That of the three linear layers, two of them with ReLU, and of the concatenation.
//! # Source
//! PyTorch `nn.Sequential` of `nn.Conv1d(…, kernel_size=1)` and `nn.ReLU`, then `torch.cat`.

mod cpu;

use super::{Activation, Flops, Kernels, Op, OpError, Pass, Result, Shape, Var, concat, linear};
use crate::device::{Backend, Buffer};

/// Weight and bias of every layer, in order.
pub type PointwiseLayers<T> = [[T; 2]; 3];

/// Number of points and layer widths of a [`pointwise_network`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointwiseSize {
    /// Number of points.
    pub rows: usize,
    /// Number of input features, of features of both hidden layers, and of outputs.
    pub widths: [usize; 4],
}

impl PointwiseSize {
    /// Numbers of inputs and outputs of each layer.
    pub fn layers(&self) -> [(usize, usize); 3] {
        let [inputs, first, second, outputs] = self.widths;
        [(inputs, first), (first, second), (second, outputs)]
    }

    /// Number of features of a row of the result.
    pub fn columns(&self) -> usize {
        self.widths[0] + self.widths[3]
    }

    fn work(&self) -> Flops {
        let [inputs, first, second, outputs] = self.widths;
        let products: usize = self.layers().iter().map(|(i, o)| 2 * i * o).sum();
        let biases = first + second + outputs;
        // FLOPs per point: no gradient of x is computed; each ReLU and each value of the result costs 1.
        let backward = 2 * products - 2 * inputs * first + biases + first + second;
        Flops::new(
            self.rows * (products + biases),
            self.rows * (backward + self.columns()),
        )
    }
}

/// Kernels of [`pointwise_network`] on one device.
pub trait PointwiseKernel: Backend {
    /// Whether the device has these kernels; on other devices the network is composed of other operations.
    const IS_FUSED: bool = false;

    /// The result, `(rows, F_in + F_out)`.
    fn pointwise_network(
        &self,
        _x: &Buffer<Self>,
        _layers: PointwiseLayers<&Buffer<Self>>,
        _size: PointwiseSize,
    ) -> Result<Buffer<Self>> {
        Err(OpError::unsupported::<Self>("pointwise_network"))
    }

    /// The gradients of the weights and biases of all layers; `_grad` is that of the result.
    fn pointwise_network_backward(
        &self,
        _x: &Buffer<Self>,
        _layers: PointwiseLayers<&Buffer<Self>>,
        _size: PointwiseSize,
        _grad: &Buffer<Self>,
    ) -> Result<PointwiseLayers<Buffer<Self>>> {
        Err(OpError::unsupported::<Self>("pointwise_network"))
    }
}

#[cfg(feature = "cuda")]
impl PointwiseKernel for dfdx::tensor::Cuda {}

/// x concatenated with the network's outputs; see the module.
///
/// # Errors
/// [`OpError::Shape`] when the shapes do not fit each other.
pub fn pointwise_network<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    layers: &PointwiseLayers<Var<D>>,
) -> Result<Var<D>> {
    let size = check(x, layers)?;
    if !D::IS_FUSED || x.needs_grad() {
        return composed(pass, x, layers);
    }
    let y = pass
        .device()
        .pointwise_network(x.data(), data(layers), size)?;
    let (x, kept) = (x.clone(), layers.clone());
    let inputs: Vec<&Var<D>> = layers.iter().flatten().collect();
    let op = Op::new("pointwise_network", size.work(), &inputs);
    pass.record_op(
        op,
        y,
        x.shape().with_last(size.columns()),
        move |slots, grad| {
            let device = slots.device().clone();
            let found = device.pointwise_network_backward(x.data(), data(&kept), size, grad)?;
            for (parameter, grad) in kept.iter().flatten().zip(found.into_iter().flatten()) {
                if parameter.needs_grad() {
                    slots.put(parameter, grad)?;
                }
            }
            Ok(())
        },
    )
}

fn composed<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    [first, second, third]: &PointwiseLayers<Var<D>>,
) -> Result<Var<D>> {
    let h = linear(pass, x, &first[0], Some(&first[1]), Activation::Relu)?;
    let h = linear(pass, &h, &second[0], Some(&second[1]), Activation::Relu)?;
    let h = linear(pass, &h, &third[0], Some(&third[1]), Activation::Identity)?;
    concat(pass, x, &h)
}

fn data<D: Backend>(layers: &PointwiseLayers<Var<D>>) -> PointwiseLayers<&Buffer<D>> {
    layers
        .each_ref()
        .map(|layer| layer.each_ref().map(Var::data))
}

fn check<D: Backend>(x: &Var<D>, layers: &PointwiseLayers<Var<D>>) -> Result<PointwiseSize> {
    let bias = |layer: usize| layers[layer][1].shape().len();
    let size = PointwiseSize {
        rows: x.shape().rows(),
        widths: [x.shape().last(), bias(0), bias(1), bias(2)],
    };
    for ([weight, bias], (inputs, outputs)) in layers.iter().zip(size.layers()) {
        let (weight, bias) = (weight.shape(), bias.shape());
        if weight != Shape::from([inputs, outputs]) || outputs == 0 {
            let message = format!("weight {weight} and bias {bias} behind {inputs} features");
            return Err(OpError::shape("pointwise_network", message));
        }
    }
    Ok(size)
}

#[cfg(test)]
mod tests;
