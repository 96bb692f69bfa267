//! Multi-layer perceptron.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::device::Backend;
use crate::layers::{Init, Linear, linear_count};
use crate::ops::{Activation, Kernels, Module, OpError, Parameter, Pass, Path, Var};

/// A multi-layer perceptron: `depth` hidden layers of `hidden` units, then a linear layer to the outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct MlpSpec {
    /// Units of each hidden layer.
    pub hidden: usize,
    /// Number of hidden layers.
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
    /// Values that types cannot rule out, as sentences about their keys; empty when all is well.
    pub fn check(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        if self.hidden == 0 {
            mistakes.push("`hidden` must be at least 1".to_owned());
        }
        mistakes
    }

    /// The model with initial values from `init`.
    pub fn build<D: Kernels>(
        &self,
        init: &mut Init<'_, D>,
        inputs: usize,
        outputs: usize,
    ) -> Result<Mlp<D>, OpError> {
        let layers = self
            .sizes(inputs, outputs)
            .map(|(inputs, outputs)| Linear::new(init, inputs, outputs));
        Ok(Mlp {
            layers: layers.collect::<Result<_, _>>()?,
            activation: self.activation.into(),
        })
    }

    /// Number of values of all parameters.
    pub fn parameter_count(&self, inputs: usize, outputs: usize) -> usize {
        self.sizes(inputs, outputs)
            .map(|(inputs, outputs)| linear_count(inputs, outputs))
            .sum()
    }

    /// Inputs and outputs of every layer.
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
/// PyTorch `nn.Sequential` named `layers`, in which activations count: `layers.0`, `layers.2`, ….
#[derive(Debug)]
pub struct Mlp<D: Backend> {
    layers: Vec<Linear<D>>,
    activation: Activation,
}

impl<D: Kernels> Mlp<D> {
    /// `(B, outputs)` from `x: (B, inputs)`.
    pub fn forward(&self, pass: &mut Pass<D>, x: &Var<D>) -> Result<Var<D>, OpError> {
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
