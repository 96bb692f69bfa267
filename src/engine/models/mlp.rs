//! [`Mlp`]: a multi-layer perceptron.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::device::Backend;
use crate::layers::{Init, Linear};
use crate::ops::{Activation, Kernels, Module, Parameter, Pass, Path, Result, Var};

/// A multi-layer perceptron: `depth` hidden layers of `hidden` units, then a linear layer to the outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct MlpSpec {
    /// Units of each hidden layer.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub hidden: usize,
    /// Number of hidden layers.
    #[schemars(range(min = 0, max = 1_000_000))]
    pub depth: usize,
    /// Function after each hidden layer.
    pub activation: MlpActivation,
}

/// The function after each hidden layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MlpActivation {
    /// `x · sigmoid(x)`.
    #[default]
    Silu,
    /// `max(x, 0)`.
    Relu,
    /// Hyperbolic tangent.
    Tanh,
    /// `x · Φ(x)`, exact.
    Gelu,
}

impl From<MlpActivation> for Activation {
    fn from(activation: MlpActivation) -> Self {
        match activation {
            MlpActivation::Silu => Self::Silu,
            MlpActivation::Relu => Self::Relu,
            MlpActivation::Tanh => Self::Tanh,
            MlpActivation::Gelu => Self::Gelu,
        }
    }
}

impl Default for MlpSpec {
    fn default() -> Self {
        Self {
            hidden: 64,
            depth: 3,
            activation: MlpActivation::default(),
        }
    }
}

impl MlpSpec {
    /// The model with initial values from `init`.
    pub fn build<D: Kernels>(
        &self,
        init: &mut Init<'_, D>,
        inputs: usize,
        outputs: usize,
    ) -> Result<Mlp<D>> {
        let layers = self
            .sizes(inputs, outputs)
            .map(|(inputs, outputs)| Linear::new(init, inputs, outputs));
        Ok(Mlp {
            layers: layers.collect::<Result<_, _>>()?,
            activation: self.activation.into(),
        })
    }

    /// Number of parameters; `None` on overflow.
    pub fn parameters(&self, inputs: usize, outputs: usize) -> Option<usize> {
        let linear = |inputs: usize, outputs: usize| inputs.checked_add(1)?.checked_mul(outputs);
        if self.depth == 0 {
            return linear(inputs, outputs);
        }
        let inner = linear(self.hidden, self.hidden)?.checked_mul(self.depth - 1)?;
        linear(inputs, self.hidden)?
            .checked_add(inner)?
            .checked_add(linear(self.hidden, outputs)?)
    }

    /// Floating-point operations of a forward pass of one sample, by a formula that equals the operations' own counts.
    pub fn forward_flops(&self, inputs: usize, outputs: usize) -> f64 {
        let (activation, _) = Activation::from(self.activation).forward_backward_flop();
        let (hidden, depth) = (self.hidden as f64, self.depth as f64);
        let linear = |inputs: f64, outputs: f64| (2.0 * inputs + 1.0) * outputs;
        let (inputs, outputs) = (inputs as f64, outputs as f64);
        if self.depth == 0 {
            return linear(inputs, outputs);
        }
        let inner = (depth - 1.0) * linear(hidden, hidden);
        linear(inputs, hidden)
            + inner
            + linear(hidden, outputs)
            + depth * hidden * activation as f64
    }

    /// Names of the parameters, in the order in which [`Mlp`] visits them.
    pub fn parameter_names(&self) -> Vec<String> {
        let of_layer =
            |layer| ["weight", "bias"].map(|name| format!("layers.{}.{name}", 2 * layer));
        (0..=self.depth).flat_map(of_layer).collect()
    }

    /// Numbers of inputs and outputs of every layer.
    fn sizes(&self, inputs: usize, outputs: usize) -> impl Iterator<Item = (usize, usize)> {
        let (hidden, depth) = (self.hidden, self.depth);
        let width = move |index: usize| match index {
            0 => inputs,
            _ if index > depth => outputs,
            _ => hidden,
        };
        (0..=depth).map(move |index| (width(index), width(index + 1)))
    }
}

/// A multi-layer perceptron; see [`MlpSpec`].
///
/// # Source
/// A PyTorch `nn.Sequential` with the name `layers`; activations count as layers in it: `layers.0`, `layers.2`, ….
#[derive(Debug)]
pub struct Mlp<D: Backend> {
    layers: Vec<Linear<D>>,
    activation: Activation,
}

impl<D: Kernels> Mlp<D> {
    /// The outputs `(B, outputs)` for `x: (B, inputs)`.
    pub fn forward(&self, pass: &mut Pass<D>, x: &Var<D>) -> Result<Var<D>> {
        let mut h = x.clone();
        for (index, layer) in self.layers.iter().enumerate() {
            let is_last = index + 1 == self.layers.len();
            let activation = if is_last {
                Activation::Identity
            } else {
                self.activation
            };
            h = layer.forward(pass, &h, activation)?;
        }
        Ok(h)
    }
}

impl<D: Backend> Module<D> for Mlp<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        let path = path.join("layers");
        for (index, layer) in self.layers.iter_mut().enumerate() {
            layer.visit(&path.join(2 * index), visit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::checkpoint;
    use crate::models::testing::{init, loss_and_gradients, norm};
    use crate::ops::testing::parse_numbers;
    use crate::ops::{count_parameters, testing};
    use crate::testing::spec;

    #[test]
    fn sizes_have_their_count() {
        // The paper's size; without hidden layers, a linear model.
        for (settings, outputs, count) in [("", 1, 8_769), ("depth = 0", 2, 12)] {
            let spec: MlpSpec = spec(settings);
            let model = spec.build(&mut init(&testing::device()), 5, outputs);
            assert_eq!(count_parameters(&mut model.unwrap()), count);
        }
    }

    /// Compares the formula with the operations' own counts.
    #[test]
    fn flops_by_formula_are_those_that_the_operations_count() {
        let device = testing::device();
        let activations = [
            MlpActivation::Silu,
            MlpActivation::Relu,
            MlpActivation::Tanh,
            MlpActivation::Gelu,
        ];
        for (hidden, depth) in [(64, 3), (8, 1), (5, 0)] {
            for activation in activations {
                let spec = MlpSpec {
                    hidden,
                    depth,
                    activation,
                };
                let model = spec.build(&mut init(&device), 5, 2).unwrap();
                let x = Var::constant(&device, vec![0.5; 3 * 5], [3, 5]).unwrap();
                let mut pass = Pass::inference(&device);
                model.forward(&mut pass, &x).unwrap();
                let counted = pass.work().forward as f64 / 3.0;
                let formula = spec.forward_flops(5, 2);
                assert!(
                    (formula - counted).abs() < 1e-9,
                    "{spec:?}: {formula} {counted}"
                );
            }
        }
        // In the paper's model, 2 × 8,576 are multiplications and additions of the matrix products.
        let products = [5 * 64, 64 * 64, 64 * 64, 64];
        assert_eq!(products.iter().sum::<usize>(), 8_576);
        let paper = MlpSpec::default().forward_flops(5, 1);
        let (activation, _) = Activation::Silu.forward_backward_flop();
        let beside = 193.0 + 192.0 * activation as f64;
        assert!((paper - (2.0 * 8_576.0 + beside)).abs() < 1e-9, "{paper}");
    }

    #[test]
    fn names_without_a_model_are_those_of_the_model() {
        let device = testing::device();
        for depth in [0, 2] {
            let spec = MlpSpec {
                depth,
                ..MlpSpec::default()
            };
            let mut model = spec.build(&mut init(&device), 5, 1).unwrap();
            let tensors = checkpoint::snapshot(&device, &mut model).unwrap();
            let names: Vec<String> = tensors.into_iter().map(|tensor| tensor.name).collect();
            assert_eq!(names, spec.parameter_names());
        }
    }

    /// ```python
    /// m = nn.Sequential(nn.Linear(2, 3), act(), nn.Linear(3, 3), act(), nn.Linear(3, 1))
    /// for k, p in enumerate(m.parameters()):
    ///     p.data = torch.sin(torch.arange(p.numel(), dtype=torch.float64) * .37 + k).float().reshape(p.shape)
    /// y = m(torch.tensor([[.5, -1.], [2., .3]])); loss = (y ** 2).mean(); loss.backward()
    /// print(loss, m[0].weight.grad.norm(), m[2].bias.grad)
    /// ```
    fn check(activation: &str, expected: &[f64]) {
        let (y, weight_norm, bias) = (&expected[..2], expected[2], &expected[3..]);
        let device = testing::device();
        let settings = format!("hidden = 3, depth = 2, activation = '{activation}'");
        let spec: MlpSpec = spec(&settings);
        let mut model = spec.build(&mut init(&device), 2, 1).unwrap();
        let mut tensors = checkpoint::snapshot(&device, &mut model).unwrap();
        for (k, tensor) in tensors.iter_mut().enumerate() {
            for (index, value) in tensor.values.iter_mut().enumerate() {
                *value = (index as f64 * 0.37 + k as f64).sin() as f32;
            }
        }
        checkpoint::restore(&device, &mut model, &tensors).unwrap();
        let x = Var::constant(&device, vec![0.5, -1.0, 2.0, 0.3], [2, 2]).unwrap();
        let zeros = Var::constant(&device, vec![0.0; 2], [2, 1]).unwrap();
        let (loss, gradients) = loss_and_gradients(&device, &mut model, &zeros, |model, pass| {
            model.forward(pass, &x)
        });
        let expected = f64::midpoint(y[0] * y[0], y[1] * y[1]);
        assert!(
            (loss / expected - 1.0).abs() < 1e-5,
            "{loss} instead of {expected}"
        );
        let found = norm(&gradients["layers.0.weight"]);
        assert!(
            (found / weight_norm - 1.0).abs() < 1e-4,
            "{found} instead of {weight_norm}"
        );
        for (found, expected) in gradients["layers.2.bias"].iter().zip(bias) {
            let error = (f64::from(*found) - expected).abs();
            assert!(error < 1e-5 * expected.abs().max(0.1), "{found} {expected}");
        }
    }

    #[test]
    fn all_activations_give_the_loss_and_gradients_of_pytorch() {
        // Expected: both outputs, the norm of the first weight's gradient, the gradient of the second bias.
        for (activation, values) in [
            (
                "silu",
                "-0.86468327 -3.5362759 7.465192 3.389795 -0.08107726 -0.04673972",
            ),
            ("relu", "-1.7728229 -4.0561032 8.260844 4.411345 0 0"),
            (
                "tanh",
                "-0.048306167 0.093349457 0.01884949 0.008951105 0.002683071 0.004182152",
            ),
            (
                "gelu",
                "-1.1660243 -3.9349992 8.137519 3.871885 0.08790086 -0.1491206",
            ),
        ] {
            check(activation, &parse_numbers(values));
        }
    }
}
