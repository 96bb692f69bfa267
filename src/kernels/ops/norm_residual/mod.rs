//! The end of a residual block as one operation: `silu(drop(norm(x)) + residual)`, with the group norm of
//! [`super::group_norm()`] and the mask of [`super::dropout()`].
//!
//! No intermediate is saved: backward recomputes the norm and the mask from x, the preceding convolution's result.
//! Without a fused kernel it is composed of [`super::group_norm()`], [`super::dropout()`] and [`super::add_silu`].
//!
//! # Shapes
//! `x: (B, positions…, C)`, `gamma, beta: (C)`, `residual` and result as x.
//! # Work
//! That of the three operations: 12 per value forward and 21 backward.
//! # Source
//! PyTorch `F.silu(F.dropout(F.group_norm(x, groups, gamma, beta), p) + residual)`, with other random numbers.

mod cpu;
#[cfg(test)]
mod tests;

use super::dropout::{Mask, check_probability};
use super::group_norm::check;
use super::{
    Activation, GradSlots, GroupNormInputs, GroupNormKernel, Held, Kernels, Op, OpError, Pass,
    Result, Var, Work, add_silu, dropout, group_norm,
};
use crate::device::Buffer;

/// The fused end of a residual block on one device.
pub trait NormResidualKernel: GroupNormKernel {
    /// Whether this device has it; elsewhere its parts run one after another.
    const FUSES: bool = false;

    /// The result and the statistics of the norm.
    fn norm_residual(
        &self,
        _input: &GroupNormInputs<'_, Self>,
        _residual: &Buffer<Self>,
        _mask: Option<Mask>,
    ) -> Result<(Buffer<Self>, Buffer<Self>)> {
        Err(OpError::unsupported::<Self>("norm_residual"))
    }

    /// Gives x and the residual their gradients, in this order, where they need one; returns the sums for
    /// [`GroupNormKernel::group_norm_collect`].
    fn norm_residual_backward(
        &self,
        _input: &GroupNormInputs<'_, Self>,
        _statistics: &Buffer<Self>,
        _grad_output: Buffer<Self>,
        _mask: Option<Mask>,
        _inputs: ([&Var<Self>; 2], &mut GradSlots<'_, Self>),
    ) -> Result<Buffer<Self>> {
        Err(OpError::unsupported::<Self>("norm_residual"))
    }
}

#[cfg(feature = "cuda")]
impl NormResidualKernel for dfdx::tensor::Cuda {}

/// `silu(drop(norm(x) · gamma + beta) + residual)`, where a value is dropped with probability `p`; see the module.
///
/// # Errors
/// [`OpError::Shape`] as those of its parts, and when `x` and `residual` have different shapes.
pub fn norm_residual<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    (gamma, beta, groups): (&Var<D>, &Var<D>, usize),
    residual: &Var<D>,
    p: f32,
) -> Result<Var<D>> {
    if !D::FUSES {
        let h = group_norm(pass, x, gamma, beta, groups, None, Activation::Identity)?;
        let h = dropout(pass, &h, p)?;
        return add_silu(pass, &h, residual);
    }
    let size = check(x, gamma, beta, groups, None)?;
    check_probability(p)?;
    if x.shape() != residual.shape() {
        let message = format!(
            "{} and {} have different shapes",
            x.shape(),
            residual.shape()
        );
        return Err(OpError::shape("norm_residual", message));
    }
    let (device, mask) = (pass.device().clone(), Mask::draw(pass, p));
    let input = GroupNormInputs::new([x, gamma, beta], None, size, Activation::Identity);
    let (data, statistics) = device.norm_residual(&input, residual.data(), mask)?;
    let statistics = Held::<D>::new(statistics);
    let (n, masked) = (x.shape().len(), usize::from(mask.is_some()));
    let work = Work::new((11 + masked) * n, (20 + masked) * n);
    let vars = [x, gamma, beta].map(Var::clone);
    let last = residual.clone();
    let op = Op::new("norm_residual", work, [x, gamma, beta, residual]);
    pass.finish_owned(op, data, x.shape(), move |slots, grad_output| {
        let [x, gamma, beta] = &vars;
        let input = GroupNormInputs::new([x, gamma, beta], None, size, Activation::Identity);
        let inputs = ([x, &last], &mut *slots);
        let sums = device.norm_residual_backward(&input, &statistics, grad_output, mask, inputs)?;
        device.group_norm_collect(&sums, size, [Some(gamma), Some(beta), None], slots)
    })
}
