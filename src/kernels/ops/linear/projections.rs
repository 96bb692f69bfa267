//! Several linear layers that read the same inputs, computed together.

use super::super::{
    Activation, Flops, GradSlots, Kernels, Op, OpError, Pass, PooledBuffer, Result, Shape, Var,
};
use super::{LinearKernel, LinearSize, check, work};
use crate::base::text::count;
use crate::device::Buffer;

/// One layer: weight `(F_i, F_out)` and bias `(F_out)` for every input i.
pub type Projection<D> = Vec<[Var<D>; 2]>;

/// The result of every layer, and an optional buffer that backward needs in addition to inputs and layers.
pub(super) type ProjectionResults<D> = (Vec<Buffer<D>>, Option<Buffer<D>>);

/// Kernels of [`projections`] on one device. The default implementation computes each layer separately.
pub trait ProjectionsKernel: LinearKernel {
    /// The results of all layers, and an optional buffer for backward.
    fn projections(
        &self,
        inputs: &[Var<Self>],
        layers: &[Projection<Self>],
    ) -> Result<ProjectionResults<Self>> {
        let of_layer = |layer: &Projection<Self>| {
            let mut sum = self.uninit_buffer(0)?;
            for (input, (x, [weight, bias])) in inputs.iter().zip(layer).enumerate() {
                let size = check(x, weight, Some(bias))?;
                let (x, weight, bias) = (x.held(), weight.held(), bias.data());
                let next = if input == 0 {
                    let identity = Activation::Identity;
                    self.linear(x, weight, Some(bias), size, identity, false)?.0
                } else {
                    self.linear_plus_residual(&sum, x, weight, bias, size)?
                };
                Self::recycle(&mut std::mem::replace(&mut sum, next));
            }
            Ok(sum)
        };
        Ok((layers.iter().map(of_layer).collect::<Result<_>>()?, None))
    }

    /// Writes or adds the gradients of inputs, weights and biases to `slots`. `kept` is from
    /// [`ProjectionsKernel::projections`], `grads` are the gradients of the layers' results.
    fn projections_backward(
        &self,
        slots: &mut GradSlots<'_, Self>,
        inputs: &[Var<Self>],
        layers: &[Projection<Self>],
        _kept: Option<&PooledBuffer<Self>>,
        grads: &[PooledBuffer<Self>],
    ) -> Result<()> {
        for (layer, grad) in layers.iter().zip(grads).rev() {
            for (x, [weight, bias]) in inputs.iter().zip(layer) {
                let size = check(x, weight, Some(bias))?;
                if bias.needs_grad() {
                    self.bias_backward(grad, slots.entry(bias)?)?;
                }
                if weight.needs_grad() {
                    let slot = slots.entry(weight)?;
                    self.linear_backward_weight(x.held(), grad, size, slot, false)?;
                }
                if x.needs_grad() {
                    self.linear_backward_x(grad, weight.held(), size, slots.entry(x)?)?;
                }
            }
        }
        Ok(())
    }
}

/// `y_l = Σ_i (x_i · W_{l,i} + b_{l,i})` for every layer l. On a GPU each input needs one product for all layers,
/// instead of one per layer.
///
/// FLOPs: those of [`super::linear`] for every input of every layer, and forward 1 per result for each input after the
/// first.
///
/// # Shapes
/// Every result `(rows…, F_l)`, from `inputs[i]: (rows…, F_i)` and `layers[l][i]`: a weight `(F_i, F_l)` and a bias `(F_l)`.
/// # Errors
/// [`OpError::Shape`] when the shapes do not agree.
/// # Source
/// PyTorch `sum(torch.nn.functional.linear(x, w, b) for …)` for every layer, with weights transposed.
pub fn projections<D: Kernels>(
    pass: &mut Pass<D>,
    inputs: &[Var<D>],
    layers: &[Projection<D>],
) -> Result<Vec<Var<D>>> {
    let mut sum = Flops::default();
    let mut shapes: Vec<Shape> = Vec::with_capacity(layers.len());
    for layer in layers {
        let sizes = sizes(inputs, layer)?;
        let (Some(x), Some(first)) = (inputs.first(), sizes.first()) else {
            return Err(OpError::shape("projections", "no inputs"));
        };
        let shape = x.shape().with_last(first.outputs);
        for ((x, [weight, bias]), size) in inputs.iter().zip(layer).zip(&sizes) {
            sum += work(*size, &[x, weight, bias], Activation::Identity);
        }
        sum += Flops::new((sizes.len() - 1) * shape.len(), 0);
        shapes.push(shape);
    }
    let mut parameters: Vec<&Var<D>> = layers.iter().flatten().flatten().collect();
    parameters.sort_by_key(|parameter| parameter.key());
    if parameters
        .windows(2)
        .any(|pair| pair[0].key() == pair[1].key())
    {
        let message =
            "a weight or bias stands twice, so that its gradient would be written twice at once";
        return Err(OpError::shape("projections", message));
    }
    let device = pass.device().clone();
    let (results, kept) = device.projections(inputs, layers)?;
    let kept = kept.map(PooledBuffer::<D>::new);
    let results = results.into_iter().zip(shapes).collect();
    let all: Vec<&Var<D>> = inputs.iter().chain(parameters).collect();
    let op = Op::new("projections", sum, &*all);
    let (inputs, layers) = (inputs.to_vec(), layers.to_vec());
    pass.record_op_many(op, results, move |slots, grads| {
        let grads: Vec<PooledBuffer<D>> = grads.into_iter().map(PooledBuffer::new).collect();
        device.projections_backward(slots, &inputs, &layers, kept.as_ref(), &grads)
    })
}

/// The sizes of the products of one layer, one for each input.
fn sizes<D: Kernels>(inputs: &[Var<D>], layer: &Projection<D>) -> Result<Vec<LinearSize>> {
    let sized = |(x, [weight, bias]): (&Var<D>, &[Var<D>; 2])| check(x, weight, Some(bias));
    let sizes: Vec<LinearSize> = inputs.iter().zip(layer).map(sized).collect::<Result<_>>()?;
    let agree =
        |pair: &[LinearSize]| (pair[0].rows, pair[0].outputs) == (pair[1].rows, pair[1].outputs);
    let found = || {
        let (weights, inputs) = (count(layer.len(), "weight"), count(inputs.len(), "input"));
        format!("a layer of {weights} for {inputs}")
    };
    let error = |message: String| Err(OpError::shape("projections", message));
    if inputs.len() != layer.len() {
        return error(found());
    }
    if !sizes.windows(2).all(agree) {
        return error(format!("{}, which differ in rows or outputs", found()));
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::concat;
    use crate::ops::testing::{self, TestDevice};

    /// Two layers over two inputs. `v` has the inputs, then weight and bias by layer and input; the results are
    /// concatenated.
    fn two(pass: &mut Pass<TestDevice>, v: &[Var<TestDevice>]) -> Result<Var<TestDevice>> {
        let pair = |at: usize| [v[at].clone(), v[at + 1].clone()];
        let layers = [vec![pair(2), pair(4)], vec![pair(6), pair(8)]];
        let results = projections(pass, &v[..2], &layers)?;
        concat(pass, &results[0], &results[1])
    }

    #[test]
    fn values_and_gradients_are_those_of_pytorch() {
        // a = torch.tensor([[1., -2.], [.5, 3.]]); b = torch.tensor([[.25, 1., -1.], [2., 0., .5]])
        // y1 = F.linear(a, [[.1, -.4]], [.5]) + F.linear(b, [[.2, .3, -.6]], [-1.])
        // y2 = F.linear(a, [[1., .5], [-.25, 2.]], [.125, -.5]) + F.linear(b, [[.5, -1., 0.], [.75, .25, 1.5]], [1., 2.])
        // torch.autograd.backward([y1, y2], [[[1.], [-2.]], [[.5, -1.], [2., 3.]]]), each a tensor
        let (y, grads) = testing::backward(
            &[
                (&[1.0, -2.0, 0.5, 3.0], [2, 2].into()),
                (&[0.25, 1.0, -1.0, 2.0, 0.0, 0.5], [2, 3].into()),
                (&[0.1, -0.4], [2, 1].into()),
                (&[0.5], [1].into()),
                (&[0.2, 0.3, -0.6], [3, 1].into()),
                (&[-1.0], [1].into()),
                (&[1.0, -0.25, 0.5, 2.0], [2, 2].into()),
                (&[0.125, -0.5], [2].into()),
                (&[0.5, 0.75, -1.0, 0.25, 0.0, 1.5], [3, 2].into()),
                (&[1.0, 2.0], [2].into()),
            ],
            &[1.0, 0.5, -1.0, -2.0, 2.0, 3.0],
            two,
        );
        testing::assert_close(&y, &[1.35, 0.25, -3.8125, -1.55, 4.125, 9.625], 1e-6);
        let expected: [&[f32]; 10] = [
            &[0.85, -2.15, 1.05, 7.8],
            &[-0.3, -0.45, -2.1, 2.85, -1.85, 5.7],
            &[0.0, -8.0],
            &[-1.0],
            &[-3.75, 1.0, -2.0],
            &[-1.0],
            &[1.5, 0.5, 5.0, 11.0],
            &[2.5, 2.0],
            &[4.125, 5.75, 0.5, -1.0, 0.5, 2.5],
            &[2.5, 2.0],
        ];
        for (grad, expected) in grads.iter().zip(expected) {
            testing::assert_close(grad, expected, 1e-6);
        }
    }

    #[test]
    fn gradients_are_added_to_those_that_are_there() {
        // Both inputs are the same variable, whose gradient also has a term from another operation.
        let shapes = [[3, 4], [4, 5], [4, 5], [4, 5], [4, 5]].map(Shape::from);
        let biases = [5; 4].map(|len| Shape::from([len]));
        let f = |pass: &mut Pass<TestDevice>, v: &[Var<TestDevice>]| {
            let layer = |at: usize| {
                vec![
                    [v[at].clone(), v[at + 4].clone()],
                    [v[at + 1].clone(), v[at + 5].clone()],
                ]
            };
            let inputs = [v[0].clone(), v[0].clone()];
            let results = projections(pass, &inputs, &[layer(1), layer(3)])?;
            let both = concat(pass, &results[0], &results[1])?;
            concat(pass, &both, &v[0])
        };
        testing::check_gradients(&[&shapes[..], &biases[..]].concat(), f);
    }

    #[test]
    fn layers_that_do_not_fit_are_refused() {
        let device = testing::device();
        let constant = |shape: &[usize]| {
            let values = vec![0.0; shape.iter().product()];
            match *shape {
                [a, b] => Var::constant(&device, values, [a, b]).unwrap(),
                _ => Var::constant(&device, values, [shape[0]]).unwrap(),
            }
        };
        let inputs = [constant(&[2, 3]), constant(&[2, 3])];
        let (narrow, wide) = (
            [constant(&[3, 4]), constant(&[4])],
            [constant(&[3, 5]), constant(&[5])],
        );
        let refused = |layer: Projection<TestDevice>| {
            let error = projections(&mut Pass::inference(&device), &inputs, &[layer]);
            error.unwrap_err().to_string()
        };
        let expected =
            "projections: a layer of 2 weights for 2 inputs, which differ in rows or outputs";
        assert_eq!(refused(vec![narrow.clone(), wide]), expected);
        let expected = "projections: a layer of 1 weight for 2 inputs";
        assert_eq!(refused(vec![narrow.clone()]), expected);
        assert!(refused(vec![narrow.clone(), narrow]).contains("stands twice"));
    }
}
