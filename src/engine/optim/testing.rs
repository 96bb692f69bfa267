//! Models whose gradients have a closed form, for the tests of this module.

use super::OptimizerSpec;
use crate::device::Backend;
use crate::ops::testing::{self, TestDevice, assert_close, parse_numbers, random_values};
use crate::ops::{Grads, Layout, Module, Parameter, Pass, Path, Var};
use crate::testing::spec;

/// A model with the loss `Σ k a² + Σ b³`, `k = (1, 2, 3)`; initially `a = (1, -2, ½)`, `b = (¼, -¾)`.
pub(super) struct QuadraticCubicModel {
    a: Parameter<TestDevice>,
    b: Parameter<TestDevice>,
}

impl Module<TestDevice> for QuadraticCubicModel {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<TestDevice>)) {
        visit(path.join("a").as_str(), &mut self.a);
        visit(path.join("b").as_str(), &mut self.b);
    }
}

impl QuadraticCubicModel {
    pub(super) fn new() -> Self {
        let device = testing::device();
        let parameter =
            |values: &[f32], shape| Parameter::new(&device, values, shape, Layout::Plain).unwrap();
        Self {
            a: parameter(&[1.0, -2.0, 0.5], [3].into()),
            b: parameter(&[0.25, -0.75], [1, 2].into()),
        }
    }

    pub(super) fn first(&self) -> &Parameter<TestDevice> {
        &self.a
    }

    pub(super) fn values(&self) -> Vec<f32> {
        [&self.a, &self.b].map(values).concat()
    }

    /// The gradients of the loss: `2 k a` and `3 b²`.
    pub(super) fn gradients(&self) -> Grads<TestDevice> {
        self.scaled_gradients(1.0)
    }

    pub(super) fn scaled_gradients(&self, scale: f32) -> Grads<TestDevice> {
        self.gradients_by(|a, k| scale * (2.0 * k * a), |b| scale * (3.0 * b * b))
    }

    fn gradients_by(
        &self,
        of_a: impl Fn(f32, f32) -> f32,
        of_b: impl Fn(f32) -> f32,
    ) -> Grads<TestDevice> {
        let mut grads = no_gradients(&testing::device());
        let a = values(&self.a);
        let of_a = a.iter().zip([1.0, 2.0, 3.0]).map(|(a, k)| of_a(*a, k));
        set_gradient(&mut grads, &self.a, of_a.collect());
        let of_b = values(&self.b).into_iter().map(of_b);
        set_gradient(&mut grads, &self.b, of_b.collect());
        grads
    }
}

fn values(parameter: &Parameter<TestDevice>) -> Vec<f32> {
    testing::device().download(parameter.data()).unwrap()
}

/// Empty gradients: no parameter has one yet.
pub(super) fn no_gradients<D: Backend>(device: &D) -> Grads<D> {
    let zero = Var::constant(device, vec![0.0], [1]).unwrap();
    Pass::recording(device).backward(&zero, 1.0).unwrap()
}

pub(super) fn set_gradient<D: Backend>(
    grads: &mut Grads<D>,
    parameter: &Parameter<D>,
    values: Vec<f32>,
) {
    let values = grads.device().upload(values).unwrap();
    *grads.of_parameter(parameter).unwrap() = values;
}

/// Parameters of the given lengths with random values, alternating between one and two dimensions; each is its own
/// part.
pub(super) struct RandomParameters<D: Backend>(Vec<Parameter<D>>);

impl<D: Backend> Module<D> for RandomParameters<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        for (index, parameter) in self.0.iter_mut().enumerate() {
            visit(path.join(index).as_str(), parameter);
        }
    }
}

impl<D: Backend> RandomParameters<D> {
    pub(super) fn new(device: &D, lengths: &[usize]) -> Self {
        let parameter = |(len, seed): (&usize, u64)| {
            let shape = if seed % 2 == 0 {
                [*len].into()
            } else {
                [1, *len].into()
            };
            Parameter::new(device, &random_values(*len, seed), shape, Layout::Plain).unwrap()
        };
        Self(lengths.iter().zip(0..).map(parameter).collect())
    }

    /// Random gradients for the step `step`.
    #[cfg(feature = "cuda")]
    pub(super) fn gradients(&self, device: &D, step: u64) -> Grads<D> {
        let mut grads = no_gradients(device);
        for (parameter, seed) in self.0.iter().zip(1_000 * (step + 1)..) {
            set_gradient(&mut grads, parameter, random_values(parameter.len(), seed));
        }
        grads
    }

    #[cfg(feature = "cuda")]
    pub(super) fn values(&self, device: &D) -> Vec<Vec<f32>> {
        let values = |parameter: &Parameter<D>| device.download(parameter.data()).unwrap();
        self.0.iter().map(values).collect()
    }
}

/// Checks that the first three steps from a [`QuadraticCubicModel`] lead to the values `expected` (in the form of
/// [`steps`]), up to the last bit.
#[track_caller]
pub(super) fn assert_steps(settings: &str, expected: &str) {
    assert_steps_within(1.5e-7, settings, expected);
}

/// As [`assert_steps`], with the tolerance `tolerance`.
#[track_caller]
pub(super) fn assert_steps_within(tolerance: f32, settings: &str, expected: &str) {
    let spec: OptimizerSpec = spec(settings);
    let mut bowl = QuadraticCubicModel::new();
    let mut optimizer = spec.build();
    for values in steps(expected) {
        let mut grads = bowl.gradients();
        optimizer
            .step(&mut bowl, &mut grads, spec.lr(), None)
            .unwrap();
        assert_close(&bowl.values(), &values, tolerance);
    }
}

/// Parses the values of a [`QuadraticCubicModel`] after each of three steps; each line has the values of one step.
pub(super) fn steps(text: &str) -> [[f32; 5]; 3] {
    let values: Vec<f32> = parse_numbers(text);
    std::array::from_fn(|step| std::array::from_fn(|place| values[5 * step + place]))
}

/// After 500 steps `Σ k a² + Σ (b - 1)²` is at its minimum. The learning rate falls to 0, so that optimizers whose
/// steps have the size of the rate reach the minimum too.
#[test]
fn every_optimizer_finds_the_minimum_of_a_quadratic() {
    for settings in [
        "kind = 'adam', lr = 0.05",
        "kind = 'sgd', lr = 0.05, momentum = 0.5",
        "kind = 'rmsprop', lr = 0.02, alpha = 0.9",
        "kind = 'lion', lr = 0.02, betas = [0.9, 0.9]",
    ] {
        let spec: OptimizerSpec = spec(settings);
        let (mut bowl, mut optimizer) = (QuadraticCubicModel::new(), spec.build());
        for step in 0..500 {
            let lr = spec.lr() * (1.0 - f64::from(step) / 500.0);
            let mut grads = bowl.gradients_by(|a, k| 2.0 * k * a, |b| 2.0 * (b - 1.0));
            optimizer.step(&mut bowl, &mut grads, lr, None).unwrap();
        }
        assert_close(&bowl.values(), &[0.0, 0.0, 0.0, 1.0, 1.0], 1e-3);
    }
}
