//! The end of a residual block as one operation: `silu(drop(norm(x)) + residual)`, with the group norm of
//! [`super::group_norm()`] and the mask of [`super::dropout()`].
//!
//! On the CPU no intermediate is saved: backward recomputes the norm and the mask from x, the preceding convolution's
//! result. On CUDA the values before the activation are saved.
//!
//! # Shapes
//! `x: (B, positions…, C)`, `gamma, beta: (C)`, `residual` and result as x.
//! # Work
//! That of the three operations: 12 FLOPs per value forward and 21 backward.
//! # Source
//! PyTorch `F.silu(F.dropout(F.group_norm(x, groups, gamma, beta), p) + residual)`, with other random numbers.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(test)]
mod tests;

use super::dropout::{Mask, check_probability};
use super::group_norm::check;
use super::{
    Activation, Flops, GradSlots, GroupNormInputs, GroupNormKernel, Kernels, Op, OpError, Pass,
    PooledBuffer, Result, Var,
};
use crate::device::Buffer;

/// The result, the statistics of its norm, and a further buffer for backward; `None` if backward needs none.
pub type NormResidual<D> = (Buffer<D>, Buffer<D>, Option<PooledBuffer<D>>);

/// Kernels of [`norm_residual`], the fused end of a residual block, on one device.
pub trait NormResidualKernel: GroupNormKernel {
    /// Computes the result and the statistics of its norm; with `keep` also the buffer that backward needs on this
    /// device, if any.
    fn norm_residual(
        &self,
        input: &GroupNormInputs<'_, Self>,
        residual: &Buffer<Self>,
        mask: Option<Mask>,
        keep: bool,
    ) -> Result<NormResidual<Self>>;

    /// Adds the gradients of x and of the residual to their slots, where they are needed; `kept` are the statistics and
    /// the optional buffer from [`NormResidualKernel::norm_residual`]. Returns the sums for
    /// [`GroupNormKernel::group_norm_collect`].
    fn norm_residual_backward(
        &self,
        input: &GroupNormInputs<'_, Self>,
        kept: (&Buffer<Self>, Option<&PooledBuffer<Self>>),
        grad_output: Buffer<Self>,
        mask: Option<Mask>,
        inputs: ([&Var<Self>; 2], &mut GradSlots<'_, Self>),
    ) -> Result<Buffer<Self>>;
}

/// `silu(drop(norm(x) · gamma + beta) + residual)`, where a value is dropped with probability `p`; see the module.
///
/// # Errors
/// [`OpError::Shape`] as in the group norm and dropout, and when `x` and `residual` have different shapes.
pub fn norm_residual<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    (gamma, beta, groups): (&Var<D>, &Var<D>, usize),
    residual: &Var<D>,
    p: f32,
) -> Result<Var<D>> {
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
    let inputs = [x, gamma, beta, residual];
    let keep = pass.is_recording() && inputs.iter().any(|var| var.needs_grad());
    let (data, statistics, kept) = device.norm_residual(&input, residual.data(), mask, keep)?;
    let statistics = PooledBuffer::<D>::new(statistics);
    let (n, masked) = (x.shape().len(), usize::from(mask.is_some()));
    let work = Flops::new((11 + masked) * n, (20 + masked) * n);
    let vars = [pass.keep(x, gamma)?, gamma.clone(), beta.clone()];
    // On a device that kept nothing, backward needs the residual to recompute the values before the SiLU.
    let last = match kept {
        Some(_) => residual.without_values(&device)?,
        None => residual.clone(),
    };
    let op = Op::new("norm_residual", work, inputs);
    pass.record_op_owned(op, data, x.shape(), move |slots, grad_output| {
        let [x, gamma, beta] = &vars;
        let input = GroupNormInputs::new([x, gamma, beta], None, size, Activation::Identity);
        let inputs = ([x, &last], &mut *slots);
        let kept = (&*statistics, kept.as_ref());
        let sums = device.norm_residual_backward(&input, kept, grad_output, mask, inputs)?;
        device.group_norm_collect(&sums, size, [Some(gamma), Some(beta), None], slots)
    })
}
