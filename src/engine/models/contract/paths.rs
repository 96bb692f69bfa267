//! The path generators as subjects of the contract tests.

use std::ops::Range;

use super::Subject;
use crate::layers::Init;
use crate::models::{CannedNet, CannedNetSpec, NeuralSde, NeuralSdeSpec};
use crate::ops::testing::TestDevice;
use crate::ops::{Pass, Result, Var};
use crate::testing::spec;

pub(super) struct CannedNetSubject;

impl Subject for CannedNetSubject {
    type Model = CannedNet<TestDevice>;
    const INPUT: &'static [usize] = &[7, 2];
    const OUTPUT: &'static [usize] = &[6];
    const STEPS: u64 = 100;
    /// This bias shifts the whole path, and signatures do not depend on a path's start.
    const WITHOUT_EFFECT: &'static [&'static str] = &["augment1.4.bias"];

    fn build(init: &mut Init<'_, TestDevice>) -> Result<Self::Model> {
        let spec: CannedNetSpec = spec("hidden = 6");
        spec.build(init)
    }

    fn forward(
        model: &Self::Model,
        pass: &mut Pass<TestDevice>,
        x: &Var<TestDevice>,
        _: Range<usize>,
    ) -> Result<Var<TestDevice>> {
        model.forward(pass, x)
    }

    /// The increment of the value plus half the squared increment of time since the first point: entries of the
    /// signature of every prefix.
    fn target(x: &[f32], _: usize) -> Vec<f32> {
        let points = x.chunks(2).skip(1);
        let target = |point: &[f32]| (point[1] - x[1]) + 0.5 * (point[0] - x[0]).powi(2);
        points.map(target).collect()
    }
}

pub(super) struct NeuralSdeSubject;

impl Subject for NeuralSdeSubject {
    type Model = NeuralSde<TestDevice>;
    /// An input row: z, from which the start value is computed, then the noise of seven steps.
    const INPUT: &'static [usize] = &[8];
    const OUTPUT: &'static [usize] = &[7];
    const STEPS: u64 = 150;

    fn build(init: &mut Init<'_, TestDevice>) -> Result<Self::Model> {
        NeuralSdeSpec { hidden: 8 }.build(init)
    }

    fn forward(
        model: &Self::Model,
        pass: &mut Pass<TestDevice>,
        x: &Var<TestDevice>,
        _: Range<usize>,
    ) -> Result<Var<TestDevice>> {
        let x = x.to_host(pass.device())?;
        let rows = x.chunks(8);
        let (z, e): (Vec<f32>, Vec<Vec<f32>>) = rows.map(|row| (row[0], row[1..].to_vec())).unzip();
        let count = z.len();
        let z = Var::constant(pass.device(), z, [count, 1])?;
        let e = Var::constant(pass.device(), e.concat(), [count, 7])?;
        model.forward(pass, &z, &e)
    }

    /// Euler steps of `dX = −X dt + (1 + t) dW` from `X₀ = 2 z`.
    fn target(x: &[f32], _: usize) -> Vec<f32> {
        let dt = 1.0 / 7.0_f32;
        let mut value = 2.0 * x[0];
        let steps = x[1..].iter().enumerate();
        steps
            .map(|(step, e)| {
                value += -value * dt + (1.0 + step as f32 * dt) * dt.sqrt() * e;
                value
            })
            .collect()
    }
}
