//! Group norm, followed by a shift per sample and channel and an activation, as one operation:
//!
//! `y = act(x̂ · γ + β + shift[b, c])`, `x̂ = (x − mean) / √(var + ε)`, ε = 1e-5, where mean and (biased) variance are
//! taken over all positions and the channels of one group, per sample.
//!
//! # Shapes
//! `x: (B, positions…, C)`, `gamma, beta: (C)`, `shift: (B, C)`, result as x. A group is `C / groups` consecutive
//! channels.
//! # Work
//! 6 FLOPs per value forward (7 with a shift) and 10 backward, plus those of the activation.
//! # Source
//! Wu & He 2018; PyTorch `torch.nn.functional.group_norm`, then `+ shift[:, :, None, None]`, then the activation.

pub(in crate::ops) mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
pub(in crate::ops) mod moments;
pub(in crate::ops) mod sample;

use super::{Activation, Flops, GradSlots, Kernels, Op, OpError, Pass, PooledBuffer, Result, Var};
use crate::device::{Backend, Buffer};

/// The sizes of a group norm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupNormSize {
    /// Number of samples B.
    pub batch: usize,
    /// Number of positions of a sample: H · W of an image.
    pub positions: usize,
    /// Number of channels C.
    pub channels: usize,
    /// Number of groups of channels.
    pub groups: usize,
}

/// Inputs of a group norm.
#[derive(Debug)]
pub struct GroupNormInputs<'a, D: Backend> {
    /// The input, `(B, positions…, C)`.
    pub x: &'a PooledBuffer<D>,
    /// Factor γ per channel, `(C)`.
    pub gamma: &'a Buffer<D>,
    /// Summand β per channel, `(C)`.
    pub beta: &'a Buffer<D>,
    /// Summand per sample and channel, `(B, C)`; `None` for no shift.
    pub shift: Option<&'a Buffer<D>>,
    /// Sizes of x.
    pub size: GroupNormSize,
    /// Activation that is applied to the result.
    pub activation: Activation,
}

impl<'a, D: Backend> GroupNormInputs<'a, D> {
    pub(in crate::ops) fn new(
        [x, gamma, beta]: [&'a Var<D>; 3],
        shift: Option<&'a Var<D>>,
        size: GroupNormSize,
        activation: Activation,
    ) -> Self {
        Self {
            x: x.held(),
            gamma: gamma.data(),
            beta: beta.data(),
            shift: shift.map(Var::data),
            size,
            activation,
        }
    }
}

/// Kernels of [`group_norm`] on one device.
pub trait GroupNormKernel: Backend {
    /// The result, and the statistics of each sample and group for [`GroupNormKernel::group_norm_backward`]. With
    /// `keeps`, also x in the precision that backward reads (as from [`super::SaveForBackward::saved_for_backward`]).
    fn group_norm(
        &self,
        input: &GroupNormInputs<'_, Self>,
        keeps: bool,
    ) -> Result<(Buffer<Self>, Buffer<Self>)>;

    /// Adds the gradient of x to its slot if x needs one (the device may compute it in the memory of `grad_output`).
    /// Returns, per sample and channel, the sums for [`GroupNormKernel::group_norm_collect`].
    fn group_norm_backward(
        &self,
        input: &GroupNormInputs<'_, Self>,
        statistics: &Buffer<Self>,
        grad_output: Buffer<Self>,
        slot: (&Var<Self>, &mut GradSlots<'_, Self>),
    ) -> Result<Buffer<Self>>;

    /// Adds the gradients of `vars`, which are γ, β and `shift`, computed from `sums`, for those that need one.
    fn group_norm_collect(
        &self,
        sums: &Buffer<Self>,
        size: GroupNormSize,
        vars: [Option<&Var<Self>>; 3],
        slots: &mut GradSlots<'_, Self>,
    ) -> Result<()>;
}

/// `act(norm(x) · gamma + beta + shift)`; see the module.
///
/// # Errors
/// [`OpError::Shape`] when the sizes do not agree or `groups` does not divide the channels.
pub fn group_norm<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    gamma: &Var<D>,
    beta: &Var<D>,
    groups: usize,
    shift: Option<&Var<D>>,
    activation: Activation,
) -> Result<Var<D>> {
    let size = check(x, gamma, beta, groups, shift)?;
    let device = pass.device().clone();
    let input = GroupNormInputs::new([x, gamma, beta], shift, size, activation);
    let (data, statistics) = device.group_norm(&input, pass.is_recording())?;
    let statistics = PooledBuffer::<D>::new(statistics);
    let (n, extra) = (x.shape().len(), usize::from(shift.is_some()));
    let (forward, backward) = activation.forward_backward_flop();
    let work = Flops::new((6 + extra + forward) * n, (10 + backward) * n);
    let inputs: Vec<&Var<D>> = [x, gamma, beta].into_iter().chain(shift).collect();
    let kept = pass.keep(x, gamma)?;
    let (gamma, beta, shift) = (gamma.clone(), beta.clone(), shift.cloned());
    let op = Op::new("group_norm", work, &inputs);
    pass.record_op_owned(op, data, x.shape(), move |slots, grad_output| {
        let input = GroupNormInputs::new([&kept, &gamma, &beta], shift.as_ref(), size, activation);
        let sums = device.group_norm_backward(&input, &statistics, grad_output, (&kept, slots))?;
        let vars = [Some(&gamma), Some(&beta), shift.as_ref()];
        device.group_norm_collect(&sums, size, vars, slots)
    })
}

pub(in crate::ops) fn check<D: Backend>(
    x: &Var<D>,
    gamma: &Var<D>,
    beta: &Var<D>,
    groups: usize,
    shift: Option<&Var<D>>,
) -> Result<GroupNormSize> {
    let error = |message: String| Err(OpError::shape("group_norm", message));
    let (shape, channels) = (x.shape(), x.shape().last());
    if shape.rank() < 2 || shape.is_empty() {
        return error(format!("{shape} has no samples, positions and channels"));
    }
    if groups == 0 || !channels.is_multiple_of(groups) {
        return error(format!("{groups} groups do not divide {channels} channels"));
    }
    let batch = shape.dims()[0];
    if gamma.shape().len() != channels || beta.shape().len() != channels {
        return error(format!(
            "{} and {} for {channels} channels",
            gamma.shape(),
            beta.shape()
        ));
    }
    if let Some(shift) = shift.filter(|shift| shift.shape() != [batch, channels].into()) {
        return error(format!(
            "a shift {} for {batch} samples of {channels} channels",
            shift.shape()
        ));
    }
    Ok(GroupNormSize {
        batch,
        positions: shape.rows() / batch,
        channels,
        groups,
    })
}

#[cfg(test)]
mod tests;
