//! [`Solver`]: damped fixed-point iteration.

use crate::device::Backend;
use crate::ops::{Kernels, Pass, Result, Var, blend, distance};

/// Iterates `h ← (1 - γ) h + γ f(h)`, at most `iterations` times; stops when the L2 norm of the change of h over the
/// whole batch is below `tolerance`.
///
/// On a recording pass every iteration is recorded: the backward pass runs through the unrolled loop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Solver {
    /// Maximum number of iterations.
    pub iterations: usize,
    /// Damping γ.
    pub gamma: f32,
    /// Norm of the change below which the iteration stops.
    pub tolerance: f64,
}

/// Result of the solver.
#[derive(Debug)]
pub struct Solved<D: Backend> {
    /// The final state.
    pub state: Var<D>,
    /// Number of iterations.
    pub iterations: usize,
}

impl Solver {
    /// Solves from `start`. Forces a device sync in every iteration.
    ///
    /// # Errors
    /// Any error of `f`.
    pub fn solve<D: Kernels>(
        self,
        pass: &mut Pass<D>,
        start: &Var<D>,
        mut f: impl FnMut(&mut Pass<D>, &Var<D>) -> Result<Var<D>>,
    ) -> Result<Solved<D>> {
        let mut state = start.clone();
        for done in 1..=self.iterations {
            let target = f(pass, &state)?;
            let next = blend(pass, (&state, 1.0 - self.gamma), (&target, self.gamma))?;
            let change = distance(pass, &next, &state)?;
            state = next;
            // NaN never ends the loop; it shows in the loss.
            if change < self.tolerance {
                return Ok(Solved {
                    state,
                    iterations: done,
                });
            }
        }
        Ok(Solved {
            state,
            iterations: self.iterations,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing;

    /// Solves `h = a h + 1` from 0; its fixed point is `1 / (1 - a)`.
    fn solve(solver: Solver, a: f32) -> (f32, usize) {
        let device = testing::device();
        let start = Var::constant(&device, vec![0.0; 4], [4, 1]).unwrap();
        let one = Var::constant(&device, vec![1.0; 4], [4, 1]).unwrap();
        let mut pass = Pass::inference(&device);
        let solved = solver
            .solve(&mut pass, &start, |pass, h| {
                blend(pass, (h, a), (&one, 1.0))
            })
            .unwrap();
        let values = solved.state.to_host(&device).unwrap();
        assert!(
            values
                .iter()
                .all(|value| value.to_bits() == values[0].to_bits())
        );
        (values[0], solved.iterations)
    }

    const SOLVER: Solver = Solver {
        iterations: 100,
        gamma: 0.5,
        tolerance: 1e-4,
    };

    #[test]
    fn the_fixed_point_is_found() {
        // The change halves by 0.75 a step: 0.5 · 0.75^(n-1) · 2 (four values) < 1e-4 first at n = 34.
        let (value, iterations) = solve(SOLVER, 0.5);
        assert!((value - 2.0).abs() < 4e-4, "{value}");
        assert_eq!(iterations, 34);
    }

    #[test]
    fn it_stops_after_the_most_iterations() {
        let solver = Solver {
            iterations: 3,
            ..SOLVER
        };
        // h: 0.5, 0.875, 1.15625
        let (value, iterations) = solve(solver, 0.5);
        assert!((value - 1.156_25).abs() < 1e-6, "{value}");
        assert_eq!(iterations, 3);
    }

    #[test]
    fn a_nan_state_never_converges() {
        let (value, iterations) = solve(SOLVER, f32::NAN);
        assert!(value.is_nan());
        assert_eq!(iterations, 100);
    }
}
