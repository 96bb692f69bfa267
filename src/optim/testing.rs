//! A model of two parameters whose gradients stand in closed form, for the tests of this room.

use dfdx::tensor::Cpu;

use super::OptimizerSpec;
use crate::device::Backend;
use crate::ops::testing::assert_close;
use crate::ops::{Grads, Layout, Module, Parameter, Pass, Path, Var};

/// `Σ k a² + Σ b³` with `k = (1, 2, 3)`, from `a = (1, -2, ½)`, `b = (¼, -¾)`.
pub(super) struct Bowl {
    a: Parameter<Cpu>,
    b: Parameter<Cpu>,
}

impl Module<Cpu> for Bowl {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<Cpu>)) {
        visit(path.join("a").as_str(), &mut self.a);
        visit(path.join("b").as_str(), &mut self.b);
    }
}

impl Bowl {
    pub(super) fn new() -> Self {
        let device = Cpu::open(0).unwrap();
        let parameter =
            |values: &[f32], shape| Parameter::new(&device, values, shape, Layout::Plain).unwrap();
        Self {
            a: parameter(&[1.0, -2.0, 0.5], [3].into()),
            b: parameter(&[0.25, -0.75], [1, 2].into()),
        }
    }

    pub(super) fn first(&self) -> &Parameter<Cpu> {
        &self.a
    }

    pub(super) fn values(&self) -> Vec<f32> {
        [self.a.data().as_slice(), self.b.data()].concat()
    }

    /// `2 k a` and `3 b²`.
    pub(super) fn gradients(&self) -> Grads<Cpu> {
        self.gradients_by(|a, k| 2.0 * k * a, |b| 3.0 * b * b)
    }

    fn gradients_by(&self, of_a: fn(f32, f32) -> f32, of_b: fn(f32) -> f32) -> Grads<Cpu> {
        let device = Cpu::open(0).unwrap();
        let pass = Pass::recording(&device);
        let zero = Var::constant(&device, vec![0.0], [1]).unwrap();
        let mut grads = pass.backward(&zero, 1.0).unwrap();
        for ((g, a), k) in grads
            .of_parameter(&self.a)
            .unwrap()
            .iter_mut()
            .zip(self.a.data().iter())
            .zip([1.0, 2.0, 3.0])
        {
            *g = of_a(*a, k);
        }
        for (g, b) in grads
            .of_parameter(&self.b)
            .unwrap()
            .iter_mut()
            .zip(self.b.data().iter())
        {
            *g = of_b(*b);
        }
        grads
    }
}

/// Panics unless the first steps lead to these values.
#[track_caller]
pub(super) fn assert_steps(spec: &OptimizerSpec, expected: &[[f32; 5]]) {
    let mut bowl = Bowl::new();
    let mut optimizer = spec.build();
    for values in expected {
        let mut grads = bowl.gradients();
        optimizer.step(&mut bowl, &mut grads, spec.lr()).unwrap();
        assert_close(&bowl.values(), values, 1e-6);
    }
}

/// Panics unless `Σ k a² + Σ (b - 1)²` is at its minimum after 500 steps.
#[track_caller]
pub(super) fn assert_reaches_the_minimum(spec: &OptimizerSpec) {
    let mut bowl = Bowl::new();
    let mut optimizer = spec.build();
    for _ in 0..500 {
        let mut grads = bowl.gradients_by(|a, k| 2.0 * k * a, |b| 2.0 * (b - 1.0));
        optimizer.step(&mut bowl, &mut grads, spec.lr()).unwrap();
    }
    assert_close(&bowl.values(), &[0.0, 0.0, 0.0, 1.0, 1.0], 1e-3);
}
