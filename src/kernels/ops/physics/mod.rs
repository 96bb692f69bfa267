//! The physics terms of a diffusion model's loss on detector signals: energy, multiplicity, locality.
//!
//! The estimated noise ε̂ implies a signal `x̂ = (x_t - √(1-ᾱ) ε̂) / √ᾱ`, with ᾱ at least [`SMALLEST_ALPHA_BAR`]. Over
//! the voxels i of each signal, with `com(x) = Σ i x_i / (Σ x_i + 1e-6)`:
//!
//! `energy = |Σ x̂ - Σ x| / (Σ x + 1e-6)`, `multiplicity = |#(x̂ > ½) - #(x > ½)|`, `locality = |com(x̂) - com(x)|`.
//!
//! Counts have no gradient. The gradient of a row is affine in the voxel's index, `a + b i`, so that forward saves two
//! numbers per row.
//!
//! # Work
//! 9 per value forward (`x̂` 3, sums over it and over x 3 each), 3 backward.
//! # Source
//! Report 004 (`docs/founding-reports.md`); PyTorch peer `benches/peers/detector.py`, `physics_loss`. The terms are
//! unbounded as ᾱ tends to 0, hence the smallest ᾱ, which the original did not have.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::{Flops, Kernels, Op, OpError, Pass, Result, Var};
use crate::device::{Backend, Buffer};

/// Smallest ᾱ that is used, because the signal is divided by √ᾱ.
pub const SMALLEST_ALPHA_BAR: f32 = 1e-2;
/// A voxel of a detector signal counts as hit if its value is above this one.
pub const HIT_THRESHOLD: f32 = 0.5;
/// Weights of the energy, multiplicity and locality terms in the loss.
const SHARES: [f64; 3] = [0.4, 0.3, 0.3];
/// Small number added to divisors, so that none is 0.
const SMALL: f64 = 1e-6;

/// Kernels of [`physics_terms`] on one device.
pub trait PhysicsKernel: Backend {
    /// `weight` times the mean over rows of the terms (one value), and for each row the gradient `(a, b)` of that
    /// value with respect to ε̂: `a + b i` for voxel i.
    fn physics(
        &self,
        estimate: &Buffer<Self>,
        noised: &Buffer<Self>,
        clean: &Buffer<Self>,
        alpha_bars: &[f32],
        weight: f32,
    ) -> Result<(Buffer<Self>, Buffer<Self>)>;

    /// Adds `dy (a + b i)` of every row to `grad`.
    fn physics_backward(
        &self,
        gradients: &Buffer<Self>,
        dy: &Buffer<Self>,
        grad: &mut Buffer<Self>,
    ) -> Result<()>;
}

/// `weight · (0.4 energy + 0.3 multiplicity + 0.3 locality)`, each the mean over rows; see the module.
///
/// # Shapes
/// `(1)` from `estimate`, `noised` and `clean: (B, voxels)` and B values of ᾱ. Only `estimate` gets a gradient.
/// # Errors
/// [`OpError::Shape`] when the shapes do not fit each other.
pub fn physics_terms<D: Kernels>(
    pass: &mut Pass<D>,
    estimate: &Var<D>,
    noised: &Var<D>,
    clean: &Var<D>,
    alpha_bars: &[f32],
    weight: f32,
) -> Result<Var<D>> {
    let shape = estimate.shape();
    let fits = shape.rank() == 2 && noised.shape() == shape && clean.shape() == shape;
    if !fits || shape.is_empty() || alpha_bars.len() != shape.rows() {
        return Err(OpError::shape(
            "physics",
            format!(
                "an estimate {shape}, noised signals {}, signals {} and {} times do not fit",
                noised.shape(),
                clean.shape(),
                alpha_bars.len()
            ),
        ));
    }
    let device = pass.device().clone();
    let (value, gradients) = device.physics(
        estimate.data(),
        noised.data(),
        clean.data(),
        alpha_bars,
        weight,
    )?;
    let (n, saved) = (shape.len(), estimate.clone());
    let op = Op::new("physics", Flops::new(9 * n, 3 * n), [estimate]);
    pass.record_op(op, value, [1], move |slots, dy| {
        device.physics_backward(&gradients, dy, slots.of(&saved)?)
    })
}

#[cfg(test)]
mod tests;
