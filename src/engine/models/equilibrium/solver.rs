//! Damped fixed-point iteration with separate operations, for blocks or devices without the fused operation.

use crate::device::Backend;
use crate::ops::{Damping, Kernels, Pass, Result, Var, blend, distance};

/// The result of the fixed-point iteration.
#[derive(Debug)]
pub struct Solved<D: Backend> {
    /// The final state.
    pub state: Var<D>,
    /// Number of iterations that were done.
    pub iterations: usize,
}

/// Iterates `h ← (1 - γ) h + γ f(h)` from `start`, until the L2 norm of the change is below the tolerance or the
/// largest number of iterations is reached. Forces a device sync in every iteration.
///
/// On a recording pass every iteration is recorded: the backward pass runs through the unrolled loop.
///
/// # Errors
/// Any error of `f`.
pub(super) fn solve<D: Kernels>(
    damping: Damping,
    pass: &mut Pass<D>,
    start: &Var<D>,
    mut f: impl FnMut(&mut Pass<D>, &Var<D>) -> Result<Var<D>>,
) -> Result<Solved<D>> {
    let Damping {
        iterations,
        gamma,
        tolerance,
    } = damping;
    let mut state = start.clone();
    for iterations in 1..=iterations {
        let target = f(pass, &state)?;
        let next = blend(pass, (&state, 1.0 - gamma), (&target, gamma))?;
        let change = distance(pass, &next, &state)?;
        state = next;
        // If `change` is NaN, this is never true; the NaN becomes visible in the loss.
        if change < tolerance {
            return Ok(Solved { state, iterations });
        }
    }
    Ok(Solved { state, iterations })
}

/// Keys and values of an embedded input, constant over the iterations.
#[derive(Debug)]
pub struct KeysValues<D: Backend> {
    pub(super) keys: Var<D>,
    pub(super) values: Var<D>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing;

    /// Solves `h = a h + 1` from 0; its fixed point is `1 / (1 - a)`.
    fn solved(damping: Damping, a: f32) -> (f32, usize) {
        let device = testing::device();
        let start = Var::constant(&device, vec![0.0; 4], [4, 1]).unwrap();
        let one = Var::constant(&device, vec![1.0; 4], [4, 1]).unwrap();
        let mut pass = Pass::inference(&device);
        let step = |pass: &mut _, h: &_| blend(pass, (h, a), (&one, 1.0));
        let solved = solve(damping, &mut pass, &start, step).unwrap();
        let values = solved.state.to_host(&device).unwrap();
        assert!(
            values
                .iter()
                .all(|value| value.to_bits() == values[0].to_bits())
        );
        (values[0], solved.iterations)
    }

    const DAMPING: Damping = Damping {
        iterations: 100,
        gamma: 0.5,
        tolerance: 1e-4,
    };

    #[test]
    fn the_fixed_point_is_found() {
        // The change shrinks by 0.75 in each step: 0.5 · 0.75^(n-1) · 2 (four values) < 1e-4 first at n = 34.
        let (value, iterations) = solved(DAMPING, 0.5);
        assert!((value - 2.0).abs() < 4e-4, "{value}");
        assert_eq!(iterations, 34);
    }

    #[test]
    fn it_stops_after_the_most_iterations() {
        let damping = Damping {
            iterations: 3,
            ..DAMPING
        };
        // Successive states: 0.5, 0.875, 1.15625
        let (value, iterations) = solved(damping, 0.5);
        assert!((value - 1.156_25).abs() < 1e-6, "{value}");
        assert_eq!(iterations, 3);
    }

    #[test]
    fn a_nan_state_never_converges() {
        let (value, iterations) = solved(DAMPING, f32::NAN);
        assert!(value.is_nan());
        assert_eq!(iterations, 100);
    }
}
