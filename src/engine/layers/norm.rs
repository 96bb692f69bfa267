//! The normalisation layers [`GroupNorm`] and [`LayerNorm`].

use super::Init;
use crate::device::Backend;
use crate::ops::{self, Activation, Kernels, Module, Parameter, Pass, Path, Result, Var};

/// The value added to variances; PyTorch's default.
pub const NORM_EPS: f32 = 1e-5;

/// Group norm with weight (initially 1) and bias (0) per channel, fused with operations that often follow it.
///
/// # Source
/// PyTorch `nn.GroupNorm`.
#[derive(Debug)]
pub struct GroupNorm<D: Backend> {
    weight: Parameter<D>,
    bias: Parameter<D>,
    groups: usize,
}

impl<D: Kernels> GroupNorm<D> {
    /// A group norm with `groups` groups over `channels` channels.
    pub fn new(init: &mut Init<'_, D>, groups: usize, channels: usize) -> Result<Self> {
        let weight = init.constant([channels].into(), 1.0)?;
        let bias = init.constant([channels].into(), 0.0)?;
        Ok(Self {
            weight,
            bias,
            groups,
        })
    }

    /// `act(norm(x) + shift)` in the shape of `x: (B, H, W, C)`, with `shift: (B, C)` added at every pixel.
    pub fn forward(
        &self,
        pass: &mut Pass<D>,
        x: &Var<D>,
        shift: Option<&Var<D>>,
        activation: Activation,
    ) -> Result<Var<D>> {
        let (gamma, beta) = (self.weight.var(), self.bias.var());
        ops::group_norm(pass, x, &gamma, &beta, self.groups, shift, activation)
    }

    /// `silu(drop(norm(x)) + residual)` in the shape of `x: (B, H, W, C)`, where a value is dropped with probability `p`.
    pub fn forward_residual(
        &self,
        pass: &mut Pass<D>,
        x: &Var<D>,
        residual: &Var<D>,
        p: f32,
    ) -> Result<Var<D>> {
        let (gamma, beta) = (self.weight.var(), self.bias.var());
        ops::norm_residual(pass, x, (&gamma, &beta, self.groups), residual, p)
    }
}

impl<D: Backend> Module<D> for GroupNorm<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        visit(path.join("weight").as_str(), &mut self.weight);
        visit(path.join("bias").as_str(), &mut self.bias);
    }
}

/// Layer norm over the innermost dimension, with weight (initially 1) and bias (0) per feature.
///
/// # Source
/// PyTorch `nn.LayerNorm`.
#[derive(Debug)]
pub struct LayerNorm<D: Backend> {
    weight: Parameter<D>,
    bias: Parameter<D>,
    eps: f32,
}

impl<D: Kernels> LayerNorm<D> {
    /// A layer norm over the innermost dimension of size `features`.
    pub fn new(init: &mut Init<'_, D>, features: usize) -> Result<Self> {
        Self::with_eps(init, features, NORM_EPS)
    }

    /// As [`Self::new`], with `eps` added to variances.
    pub fn with_eps(init: &mut Init<'_, D>, features: usize, eps: f32) -> Result<Self> {
        let weight = init.constant([features].into(), 1.0)?;
        let bias = init.constant([features].into(), 0.0)?;
        Ok(Self { weight, bias, eps })
    }

    /// Weight and bias, for operations that need them separately.
    pub fn parameters(&self) -> [Var<D>; 2] {
        [self.weight.var(), self.bias.var()]
    }

    /// Normalises `x: (…, F)`; the result has the same shape.
    pub fn forward(&self, pass: &mut Pass<D>, x: &Var<D>) -> Result<Var<D>> {
        ops::layer_norm(pass, x, &self.weight.var(), &self.bias.var(), self.eps)
    }
}

impl<D: Backend> Module<D> for LayerNorm<D> {
    fn visit(&mut self, path: &Path, visit: &mut dyn FnMut(&str, &mut Parameter<D>)) {
        visit(path.join("weight").as_str(), &mut self.weight);
        visit(path.join("bias").as_str(), &mut self.bias);
    }
}
