//! The equilibrium model, asymmetric and symmetric, as subjects of the contract tests.

use std::ops::Range;

use super::Subject;
use crate::layers::Init;
use crate::models::{Equilibrium, EquilibriumSpec};
use crate::ops::testing::TestDevice;
use crate::ops::{Pass, Result, Var};
use crate::testing::spec;

pub(super) type AsymmetricSubject = EquilibriumSubject<false>;
pub(super) type SymmetricSubject = EquilibriumSubject<true>;

pub(super) struct EquilibriumSubject<const SYMMETRIC: bool>;

impl<const SYMMETRIC: bool> Subject for EquilibriumSubject<SYMMETRIC> {
    type Model = Equilibrium<TestDevice>;
    const INPUT: &'static [usize] = &[6];
    const OUTPUT: &'static [usize] = &[3];
    const STEPS: u64 = if SYMMETRIC { 300 } else { 200 };

    fn build(init: &mut Init<'_, TestDevice>) -> Result<Self::Model> {
        // This tolerance is never reached; otherwise the number of iterations of a row would depend on the whole batch.
        let settings =
            format!("hidden = 12, iterations = 8, tolerance = 1e-30, symmetric = {SYMMETRIC}");
        let spec: EquilibriumSpec = spec(&settings);
        spec.build(init, 6, 3)
    }

    fn forward(
        model: &Self::Model,
        pass: &mut Pass<TestDevice>,
        x: &Var<TestDevice>,
        _: Range<usize>,
    ) -> Result<Var<TestDevice>> {
        model.forward(pass, x)
    }

    fn target(x: &[f32], row: usize) -> Vec<f32> {
        vec![(3.0 * x[0]).sin() + x[1] * x[2], (row % 2) as f32, x[5]]
    }
}
