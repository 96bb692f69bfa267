//! [`Linear`]: a fully connected layer.

use super::Init;
use crate::device::Backend;
use crate::ops::{self, Activation, Kernels, Layout, Module, Parameter, Pass, Path, Result, Var};

/// A linear layer `y = act(x Wᵀ + b)`.
///
/// # Source
/// PyTorch `nn.Linear`, with its initial values: weight and bias uniform in `±1 / √inputs`.
#[derive(Debug)]
pub struct Linear<D: Backend> {
    weight: Parameter<D>,
    bias: Parameter<D>,
}

impl<D: Kernels> Linear<D> {
    /// A layer from `inputs` to `outputs` features.
    pub fn new(init: &mut Init<'_, D>, inputs: usize, outputs: usize) -> Result<Self> {
        let shape = [outputs, inputs].into();
        let (weight, bias) = init.weight_and_bias(shape, Layout::Linear, inputs)?;
        Ok(Self { weight, bias })
    }

    /// A layer whose weight is uniform in `±√(6 / (inputs + outputs))` and whose bias is zero.
    ///
    /// # Source
    /// Glorot & Bengio 2010, §4.2.3; PyTorch `nn.init.xavier_uniform_`.
    pub fn xavier(init: &mut Init<'_, D>, inputs: usize, outputs: usize) -> Result<Self> {
        let bound = (6.0 / (inputs + outputs) as f32).sqrt();
        Ok(Self {
            weight: init.uniform([outputs, inputs].into(), Layout::Linear, bound)?,
            bias: init.constant([outputs].into(), 0.0)?,
        })
    }

    /// The same layer at every point of a sequence: PyTorch `nn.Conv1d` with kernel 1 and a weight `[outputs, inputs,
    /// 1]`.
    pub fn pointwise(init: &mut Init<'_, D>, inputs: usize, outputs: usize) -> Result<Self> {
        let shape = [outputs, inputs, 1].into();
        let (weight, bias) = init.weight_and_bias(shape, Layout::Linear, inputs)?;
        Ok(Self { weight, bias })
    }

    /// Weight `(inputs, outputs)` and bias `(outputs)`, for operations that need them separately.
    pub fn parameters(&self) -> [Var<D>; 2] {
        [self.weight.var(), self.bias.var()]
    }

    /// The weight in the layout of operations: `(inputs, outputs)`.
    pub fn weight(&self) -> Var<D> {
        self.weight.var()
    }

    /// Applies the layer and the activation: `(…, outputs)` from `x: (…, inputs)`.
    pub fn forward(
        &self,
        pass: &mut Pass<D>,
        x: &Var<D>,
        activation: Activation,
    ) -> Result<Var<D>> {
        let bias = self.bias.var();
        ops::linear(pass, x, &self.weight.var(), Some(&bias), activation)
    }

    /// `residual + x Wᵀ + b`, `(…, outputs)` from `x: (…, inputs)`.
    pub fn forward_onto(
        &self,
        pass: &mut Pass<D>,
        residual: &Var<D>,
        x: &Var<D>,
    ) -> Result<Var<D>> {
        ops::linear_residual(pass, residual, x, &self.weight.var(), &self.bias.var())
    }

    /// `x W`, the transposed layer without bias: `(…, inputs)` from `x: (…, outputs)`; added to `residual` if given.
    pub fn transposed(
        &self,
        pass: &mut Pass<D>,
        x: &Var<D>,
        residual: Option<&Var<D>>,
    ) -> Result<Var<D>> {
        ops::linear_transposed(pass, x, &self.weight.var(), residual)
    }
}

impl<D: Backend> Module<D> for Linear<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        visit(path.join("weight").as_str(), &mut self.weight);
        visit(path.join("bias").as_str(), &mut self.bias);
    }
}
