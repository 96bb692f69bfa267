//! Denoisers of detector signals: estimate the noise in a noised signal from the signal, its diffusion time and its
//! event.
//!
//! [`DetectorAltSpec`] and [`DetectorNeuSpec`] describe the original and the new model of report 004
//! (`docs/founding-reports.md`); [`Denoiser`] is one of the two.
//!
//! The first layer over the voxels ([`Denoiser::first_layer_output`]) is separate from the rest
//! ([`Denoiser::after_first_layer`]): zeroing a voxel changes its output by one column of the weight, so that a score
//! per voxel needs no product over all voxels.

mod alt;
mod neu;

pub use alt::{Alt, DetectorAltSpec};
pub use neu::{DetectorNeuSpec, Neu};

use crate::device::Backend;
use crate::layers::{Init, LayerNorm, Linear};
use crate::ops::{self, Activation, Kernels, Module, Parameter, Pass, Path, Result, Var};

/// Value added to variances (Keras' default; PyTorch's is smaller).
const NORM_EPS: f32 = 1e-3;
/// Bound of the uniform initial values of embeddings (Keras' default).
const EMBEDDING_BOUND: f32 = 0.05;

/// The sizes of a denoiser that the dataset and the diffusion process determine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DenoiserSize {
    /// Number of values that describe an event.
    pub phi: usize,
    /// Number of voxels.
    pub voxels: usize,
    /// Diffusion steps T.
    pub timesteps: usize,
}

/// A denoiser of either kind.
#[derive(Debug)]
pub enum Denoiser<D: Backend> {
    /// The model `alt` (the original one).
    Alt(Box<Alt<D>>),
    /// The model `neu` (the new one).
    Neu(Box<Neu<D>>),
}

impl<D: Kernels> Denoiser<D> {
    /// The estimated noise `(B, voxels)` of `x: (B, voxels)` at B diffusion times, given the events `phi: (B, 22)`.
    ///
    /// # Errors
    /// [`crate::ops::OpError::Shape`] when the rows differ in number or a time is not below T.
    pub fn forward(
        &self,
        pass: &mut Pass<D>,
        x: &Var<D>,
        times: &[usize],
        phi: &Var<D>,
    ) -> Result<Var<D>> {
        let signal = self.first_layer_output(pass, x)?;
        self.after_first_layer(pass, &signal, times, phi)
    }

    /// The output of the first layer over the voxels before its activation, `(B, hidden)` from `x: (B, voxels)`.
    pub fn first_layer_output(&self, pass: &mut Pass<D>, x: &Var<D>) -> Result<Var<D>> {
        self.signal_layer().forward(pass, x, Activation::Identity)
    }

    /// All layers of [`Self::forward`] after the first: the estimated noise, from the output of
    /// [`Self::first_layer_output`].
    pub fn after_first_layer(
        &self,
        pass: &mut Pass<D>,
        signal: &Var<D>,
        times: &[usize],
        phi: &Var<D>,
    ) -> Result<Var<D>> {
        match self {
            Self::Alt(model) => model.after_signal(pass, signal, times, phi),
            Self::Neu(model) => model.after_signal(pass, signal, times, phi),
        }
    }

    /// Weight of the first layer over the voxels, `(voxels, hidden)` row by row.
    pub fn first_layer_weight(&self) -> Var<D> {
        self.signal_layer().weight()
    }

    fn signal_layer(&self) -> &Linear<D> {
        match self {
            Self::Alt(model) => model.signal_layer(),
            Self::Neu(model) => model.signal_layer(),
        }
    }
}

impl<D: Backend> Module<D> for Denoiser<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        match self {
            Self::Alt(model) => model.visit(path, visit),
            Self::Neu(model) => model.visit(path, visit),
        }
    }
}

/// A dense layer, swish, then layer norm.
#[derive(Debug)]
struct DenseNorm<D: Backend> {
    dense: Linear<D>,
    norm: LayerNorm<D>,
}

impl<D: Kernels> DenseNorm<D> {
    fn new(init: &mut Init<'_, D>, inputs: usize, outputs: usize) -> Result<Self> {
        Ok(Self {
            dense: Linear::xavier(init, inputs, outputs)?,
            norm: LayerNorm::with_eps(init, outputs, NORM_EPS)?,
        })
    }

    fn forward(&self, pass: &mut Pass<D>, x: &Var<D>) -> Result<Var<D>> {
        let h = self.dense.forward(pass, x, Activation::Silu)?;
        self.norm.forward(pass, &h)
    }

    /// Swish and layer norm of `before`, the output of the dense layer: [`Self::forward`] without that layer.
    fn after_dense(&self, pass: &mut Pass<D>, before: &Var<D>) -> Result<Var<D>> {
        let h = ops::silu(pass, before)?;
        self.norm.forward(pass, &h)
    }
}

impl<D: Backend> Module<D> for DenseNorm<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        self.dense.visit(&path.join("dense"), visit);
        self.norm.visit(&path.join("norm"), visit);
    }
}

fn concat<D: Kernels>(pass: &mut Pass<D>, a: &Var<D>, b: &Var<D>, c: &Var<D>) -> Result<Var<D>> {
    let both = ops::concat(pass, a, b)?;
    ops::concat(pass, &both, c)
}

/// Floating-point operations of a linear layer with bias per row, as [`ops::linear`] counts them.
fn dense_flops(inputs: usize, outputs: usize) -> f64 {
    (2 * inputs + 1) as f64 * outputs as f64
}

fn swish_flops(values: usize) -> f64 {
    (Activation::Silu.forward_backward_flop().0 * values) as f64
}

/// Floating-point operations of [`DenseNorm`] per row: the layer norm has 8 for each value.
fn dense_norm_flops(inputs: usize, outputs: usize) -> f64 {
    dense_flops(inputs, outputs) + swish_flops(outputs) + 8.0 * outputs as f64
}

#[cfg(test)]
mod tests;
