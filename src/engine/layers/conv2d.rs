//! [`Conv2d`]: a 2D convolution.

use super::Init;
use crate::device::Backend;
use crate::ops::{
    self, Conv2dOptions, ConvAlgorithm, Kernels, Layout, Module, Parameter, Pass, Path, Result, Var,
};

/// A convolution with a square kernel and a bias, on images `(B, H, W, C)`.
///
/// # Source
/// PyTorch `nn.Conv2d`, with its initial values: weight and bias uniform in `±1 / √(C · size²)`.
#[derive(Debug)]
pub struct Conv2d<D: Backend> {
    weight: Parameter<D>,
    bias: Parameter<D>,
    options: Conv2dOptions,
    algorithm: ConvAlgorithm,
}

impl<D: Kernels> Conv2d<D> {
    /// A convolution from `inputs` to `outputs` channels with a kernel of `size × size`.
    pub fn new(
        init: &mut Init<'_, D>,
        inputs: usize,
        outputs: usize,
        size: usize,
        options: Conv2dOptions,
    ) -> Result<Self> {
        let (shape, fan_in) = ([outputs, inputs, size, size].into(), inputs * size * size);
        let (weight, bias) = init.weight_and_bias(shape, Layout::Convolution, fan_in)?;
        Ok(Self {
            weight,
            bias,
            options,
            algorithm: init.convolution(),
        })
    }

    /// A 3×3 convolution with padding 1, which keeps height and width.
    pub fn same(init: &mut Init<'_, D>, inputs: usize, outputs: usize) -> Result<Self> {
        let options = Conv2dOptions {
            padding: 1,
            ..Conv2dOptions::default()
        };
        Self::new(init, inputs, outputs, 3, options)
    }

    /// A 1×1 convolution: the same linear layer at every pixel.
    pub fn pointwise(init: &mut Init<'_, D>, inputs: usize, outputs: usize) -> Result<Self> {
        Self::new(init, inputs, outputs, 1, Conv2dOptions::default())
    }

    /// Applies the convolution: `(B, H', W', outputs)` from `x: (B, H, W, inputs)`.
    pub fn forward(&self, pass: &mut Pass<D>, x: &Var<D>) -> Result<Var<D>> {
        let bias = self.bias.var();
        let weight = self.weight.var();
        ops::conv2d_with_algorithm(self.algorithm, pass, x, &weight, Some(&bias), self.options)
    }
}

impl<D: Backend> Module<D> for Conv2d<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        visit(path.join("weight").as_str(), &mut self.weight);
        visit(path.join("bias").as_str(), &mut self.bias);
    }
}
