//! The equilibrium model, asymmetric and symmetric, as subjects of the contract.

use std::ops::Range;

use super::Subject;
use crate::layers::Init;
use crate::models::{Equilibrium, EquilibriumSpec};
use crate::ops::testing::TestDevice;
use crate::ops::{OpError, Pass, Var};

pub(super) struct EquilibriumSubject;

impl EquilibriumSubject {
    /// A tolerance that is never met: the solver would stop by the change over the whole batch.
    fn spec() -> EquilibriumSpec {
        EquilibriumSpec {
            hidden: 12,
            iterations: 8,
            tolerance: 1e-30,
            ..EquilibriumSpec::default()
        }
    }
}

impl Subject for EquilibriumSubject {
    type Model = Equilibrium<TestDevice>;
    const INPUT: &'static [usize] = &[6];
    const OUTPUT: &'static [usize] = &[3];
    const STEPS: u64 = 200;

    fn build(init: &mut Init<'_, TestDevice>) -> Result<Self::Model, OpError> {
        Self::spec().build(init, 6, 3)
    }

    fn count() -> usize {
        Self::spec().parameter_count(6, 3)
    }

    fn forward(
        model: &Self::Model,
        pass: &mut Pass<TestDevice>,
        x: &Var<TestDevice>,
        _: Range<usize>,
    ) -> Result<Var<TestDevice>, OpError> {
        model.forward(pass, x)
    }

    fn target(x: &[f32], row: usize) -> Vec<f32> {
        vec![(3.0 * x[0]).sin() + x[1] * x[2], (row % 2) as f32, x[5]]
    }
}

pub(super) struct SymmetricSubject;

impl Subject for SymmetricSubject {
    type Model = Equilibrium<TestDevice>;
    const INPUT: &'static [usize] = &[6];
    const OUTPUT: &'static [usize] = &[3];
    const STEPS: u64 = 300;

    fn build(init: &mut Init<'_, TestDevice>) -> Result<Self::Model, OpError> {
        Self::spec().build(init, 6, 3)
    }

    fn count() -> usize {
        Self::spec().parameter_count(6, 3)
    }

    fn forward(
        model: &Self::Model,
        pass: &mut Pass<TestDevice>,
        x: &Var<TestDevice>,
        _: Range<usize>,
    ) -> Result<Var<TestDevice>, OpError> {
        model.forward(pass, x)
    }

    fn target(x: &[f32], row: usize) -> Vec<f32> {
        EquilibriumSubject::target(x, row)
    }
}

impl SymmetricSubject {
    fn spec() -> EquilibriumSpec {
        EquilibriumSpec {
            symmetric: true,
            ..EquilibriumSubject::spec()
        }
    }
}
