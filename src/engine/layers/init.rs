//! [`Init`]: initial values of parameters.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

use crate::device::Backend;
use crate::ops::{ConvAlgorithm, Layout, Parameter, Result, Shape};

/// Creates the parameters of a model: contains the device, the random stream of initial values, and the algorithm of
/// convolutions.
///
/// Values are drawn on one thread, parameter by parameter and in PyTorch's order within each, so that they depend only
/// on the stream. Distributions are those of PyTorch, the random numbers differ.
#[derive(Debug)]
pub struct Init<'a, D: Backend> {
    device: &'a D,
    rng: ChaCha8Rng,
    convolution: ConvAlgorithm,
}

impl<'a, D: Backend> Init<'a, D> {
    /// Creates parameters on `device`, with initial values drawn from `rng`.
    pub fn new(device: &'a D, rng: ChaCha8Rng) -> Self {
        let convolution = ConvAlgorithm::Auto;
        Self {
            device,
            rng,
            convolution,
        }
    }

    /// Sets the algorithm that the model's convolutions use; the default is [`ConvAlgorithm::Auto`].
    #[must_use]
    pub fn with_convolution(self, convolution: ConvAlgorithm) -> Self {
        Self {
            convolution,
            ..self
        }
    }

    /// The device on which parameters are created.
    pub fn device(&self) -> &'a D {
        self.device
    }

    /// The algorithm that the model's convolutions use.
    pub fn convolution(&self) -> ConvAlgorithm {
        self.convolution
    }

    /// Weight and bias of a linear layer or convolution with `fan_in` inputs per output: both uniform in
    /// `±1 / √fan_in`, the weight first.
    pub fn weight_and_bias(
        &mut self,
        weight: Shape,
        layout: Layout,
        fan_in: usize,
    ) -> Result<(Parameter<D>, Parameter<D>)> {
        let bound = 1.0 / (fan_in as f32).sqrt();
        let bias = [weight.dims()[0]].into();
        let weight = self.uniform(weight, layout, bound)?;
        Ok((weight, self.uniform(bias, Layout::Plain, bound)?))
    }

    /// A parameter with values uniform in `[-bound, bound)`.
    pub fn uniform(
        &mut self,
        torch_shape: Shape,
        layout: Layout,
        bound: f32,
    ) -> Result<Parameter<D>> {
        // Each value takes one random number of the unit interval, which is scaled afterwards, so that any bound works.
        let values = self.draw(torch_shape, |rng| bound * (2.0 * rng.r#gen::<f32>() - 1.0));
        Parameter::new(self.device, &values, torch_shape, layout)
    }

    /// A parameter with values from the normal distribution with mean 0 and standard deviation `std`.
    pub fn normal(&mut self, torch_shape: Shape, layout: Layout, std: f32) -> Result<Parameter<D>> {
        let values = self.draw(torch_shape, |rng| {
            let value: f32 = rng.sample(StandardNormal);
            std * value
        });
        Parameter::new(self.device, &values, torch_shape, layout)
    }

    /// A parameter whose values all equal `value`; uses no random numbers.
    pub fn constant(&mut self, torch_shape: Shape, value: f32) -> Result<Parameter<D>> {
        let values = vec![value; torch_shape.len()];
        Parameter::new(self.device, &values, torch_shape, Layout::Plain)
    }

    fn draw(&mut self, shape: Shape, mut one: impl FnMut(&mut ChaCha8Rng) -> f32) -> Vec<f32> {
        (0..shape.len()).map(|_| one(&mut self.rng)).collect()
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::ops::testing::{self, TestDevice};

    fn values(draw: impl FnOnce(&mut Init<'_, TestDevice>) -> Parameter<TestDevice>) -> Vec<f32> {
        let device = testing::device();
        let mut init = Init::new(&device, ChaCha8Rng::seed_from_u64(1));
        draw(&mut init).to_torch(&device).unwrap()
    }

    fn moments(values: &[f32]) -> (f32, f32) {
        let mean = values.iter().sum::<f32>() / values.len() as f32;
        let square = values.iter().map(|v| v * v).sum::<f32>() / values.len() as f32;
        (mean, square)
    }

    #[test]
    fn uniform_values_fill_their_interval() {
        let values = values(|init| init.uniform([100, 100].into(), Layout::Plain, 0.5).unwrap());
        let (mean, square) = moments(&values);
        assert!(values.iter().all(|value| value.abs() <= 0.5));
        assert!(
            mean.abs() < 0.01 && (square - 1.0 / 12.0).abs() < 0.003,
            "{mean} {square}"
        );
    }

    #[test]
    fn normal_values_have_unit_variance() {
        let values = values(|init| init.normal([100, 100].into(), Layout::Plain, 1.0).unwrap());
        let (mean, square) = moments(&values);
        assert!(
            mean.abs() < 0.03 && (square - 1.0).abs() < 0.05,
            "{mean} {square}"
        );
    }

    #[test]
    fn the_layout_in_memory_does_not_change_the_values() {
        let [plain, linear] = [Layout::Plain, Layout::Linear]
            .map(|layout| values(|init| init.uniform([3, 5].into(), layout, 1.0).unwrap()));
        assert_eq!(plain, linear);
    }
}
