//! Batch norm over channels, with a residual (the "shift") and an activation in the same pass:
//! `y = act(norm(x) + shift)`.
//!
//! # Formula
//! `norm(x) = (x − m) / √(v + ε) · γ + β`, where mean m and variance v of every channel are over all other dimensions
//! of the batch (biased, [`batch_norm`]) or are given ([`batch_norm_inference`]). `ẋ = (x − m) / √(v + ε)`.
//!
//! Backward, with `dz = dy · act'` and N values per channel: `dβ = Σ dz`, `dγ = Σ dz ẋ`, `dshift = dz` and
//! `dx = γ / √(v + ε) · (dz − dβ / N − ẋ dγ / N)`, without the last two terms if m and v are given.
//!
//! For backward, x is kept, and y or the shift if the activation's derivative needs it, each in the precision of
//! [`super::SaveForBackward::saved_for_backward`].
//! # Source
//! Ioffe & Szegedy 2015; PyTorch `F.batch_norm`.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::{Activation, Flops, GradSlots, Kernels, Op, OpError, Pass, PooledBuffer, Result, Var};
use crate::device::{Backend, Buffer};

/// The size of a batch norm's input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchNormSize {
    /// Number of values per channel: B · H · W for images, B for rows.
    pub rows: usize,
    /// Number of channels.
    pub channels: usize,
}

/// Inputs of a batch norm; mean, `1 / √(variance + ε)`, weight and bias have one value per channel.
#[derive(Debug)]
pub struct BatchNormInputs<'a, D: Backend> {
    /// The input x.
    pub x: &'a PooledBuffer<D>,
    /// Mean m of every channel.
    pub mean: &'a Buffer<D>,
    /// `1 / √(v + ε)` of every channel.
    pub rstd: &'a Buffer<D>,
    /// Factor γ of every channel.
    pub gamma: &'a Buffer<D>,
    /// Summand β of every channel.
    pub beta: &'a Buffer<D>,
    /// Residual that is added before the activation, of the shape of x; `None` without a residual and, in backward, if
    /// the activation's derivative does not need it.
    pub shift: Option<&'a PooledBuffer<D>>,
    /// Activation that is applied to the result.
    pub activation: Activation,
    /// The size of x.
    pub size: BatchNormSize,
}

impl<'a, D: Backend> BatchNormInputs<'a, D> {
    fn new(
        [x, gamma, beta]: [&'a Var<D>; 3],
        [mean, rstd]: [&'a Buffer<D>; 2],
        shift: Option<&'a Var<D>>,
        activation: Activation,
    ) -> Self {
        Self {
            x: x.held(),
            mean,
            rstd,
            gamma: gamma.data(),
            beta: beta.data(),
            shift: shift.map(|shift| &**shift.held()),
            activation,
            size: sizes(x),
        }
    }
}

/// Mean and variance of a batch, from which running statistics are updated.
#[derive(Debug, Clone)]
pub struct BatchMoments<D: Backend> {
    /// Mean of every channel.
    pub mean: Buffer<D>,
    /// Unbiased variance of every channel.
    pub variance: Buffer<D>,
}

/// Kernels of [`batch_norm`] on one device.
pub trait BatchNormKernel: Backend {
    /// For every channel the mean, `1 / √(biased variance + ε)` and the unbiased variance.
    fn batch_moments(
        &self,
        x: &Buffer<Self>,
        size: BatchNormSize,
        eps: f32,
    ) -> Result<[Buffer<Self>; 3]>;

    /// `1 / √(variance + ε)` of every channel.
    fn inverse_deviation(&self, variance: &Buffer<Self>, eps: f32) -> Result<Buffer<Self>>;

    /// `act(norm(x) + shift)`. With `keeps`, a backward pass will follow, which reads x in the precision of
    /// [`super::SaveForBackward::saved_for_backward`].
    fn batch_norm(&self, inputs: &BatchNormInputs<'_, Self>, keeps: bool) -> Result<Buffer<Self>>;

    /// Replaces `grad`, the gradient of the result, by dz, the gradient before the activation; returns dβ and dγ. `y`
    /// is the result if the activation's derivative is computed from it, else `None`.
    fn batch_norm_sums(
        &self,
        inputs: &BatchNormInputs<'_, Self>,
        y: Option<&PooledBuffer<Self>>,
        grad: &mut Buffer<Self>,
    ) -> Result<[Buffer<Self>; 2]>;

    /// Computes dx from `grad`, which is dz; writes it to `into`, or over `grad` if that is `None`. `sums` are dβ and
    /// dγ, `None` if mean and variance were given.
    fn batch_norm_backward(
        &self,
        inputs: &BatchNormInputs<'_, Self>,
        sums: Option<&[Buffer<Self>; 2]>,
        grad: &mut Buffer<Self>,
        into: Option<&mut Buffer<Self>>,
    ) -> Result<()>;
}

/// `act((x − m) / √(v + ε) · γ + β + shift)` with mean m and biased variance v of the batch; also returns the batch's
/// moments.
///
/// FLOPs: 8 per value forward and 10 backward, 1 more in both for `shift`, and those of the activation.
///
/// # Shapes
/// Result as `x: (…, C)`; `gamma`, `beta: (C)`; `shift` as `x`.
/// # Errors
/// [`OpError::Shape`] when shapes do not fit, or there is one value per channel only, whose variance is 0.
/// # Source
/// PyTorch `F.batch_norm` with `training=True`.
pub fn batch_norm<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    gamma: &Var<D>,
    beta: &Var<D>,
    shift: Option<&Var<D>>,
    eps: f32,
    activation: Activation,
) -> Result<(Var<D>, BatchMoments<D>)> {
    let size = check(x, &[("gamma", gamma), ("beta", beta)], shift)?;
    if size.rows < 2 {
        let message = format!(
            "{} has one value per channel; a variance needs at least two",
            x.shape()
        );
        return Err(OpError::shape("batch_norm", message));
    }
    let [mean, rstd, variance] = pass.device().batch_moments(x.data(), size, eps)?;
    let moments = BatchMoments {
        mean: mean.clone(),
        variance,
    };
    let affine = [gamma, beta];
    let y = normalised(pass, x, (mean, rstd), affine, shift, activation, false)?;
    Ok((y, moments))
}

/// As [`batch_norm`], with given mean and variance, for evaluation; there is no shift.
///
/// # Shapes
/// Result as `x: (…, C)`; all other inputs `(C)`.
/// # Errors
/// [`OpError::Shape`] when shapes do not fit.
/// # Source
/// PyTorch `F.batch_norm` with `training=False`.
#[expect(clippy::too_many_arguments, reason = "those of the formula")]
pub fn batch_norm_inference<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    gamma: &Var<D>,
    beta: &Var<D>,
    mean: &Var<D>,
    variance: &Var<D>,
    eps: f32,
    activation: Activation,
) -> Result<Var<D>> {
    let rows = [
        ("gamma", gamma),
        ("beta", beta),
        ("mean", mean),
        ("variance", variance),
    ];
    check(x, &rows, None)?;
    let rstd = pass.device().inverse_deviation(variance.data(), eps)?;
    let given = (mean.data().clone(), rstd);
    normalised(pass, x, given, [gamma, beta], None, activation, true)
}

fn normalised<D: Kernels>(
    pass: &mut Pass<D>,
    x: &Var<D>,
    (mean, rstd): (Buffer<D>, Buffer<D>),
    [gamma, beta]: [&Var<D>; 2],
    shift: Option<&Var<D>>,
    activation: Activation,
    is_frozen: bool,
) -> Result<Var<D>> {
    let values = BatchNormInputs::new([x, gamma, beta], [&mean, &rstd], shift, activation);
    let device = pass.device().clone();
    let data = device.batch_norm(&values, pass.is_recording())?;
    let (forward, backward) = activation.forward_backward_flop();
    let (n, more) = (x.shape().len(), usize::from(shift.is_some()));
    let work = Flops::new((8 + more + forward) * n, (10 + more + backward) * n);
    let inputs: Vec<&Var<D>> = [x, gamma, beta].into_iter().chain(shift).collect();
    let by_result = activation.has_slope_from_result();
    // The derivatives of the other activations are computed from the value before the activation, which includes the
    // shift.
    let needs_shift = !by_result && activation != Activation::Identity;
    let (shape, gamma, beta) = (x.shape(), gamma.clone(), beta.clone());
    let x = pass.keep(x, &gamma)?;
    let shift = match shift {
        Some(shift) if needs_shift => Some(pass.keep(shift, &gamma)?),
        Some(shift) => Some(shift.without_values(&device)?),
        None => None,
    };
    let op = Op::new("batch_norm", work, &inputs);
    pass.record_op_keeping(op, data, shape, |pass, y| {
        let y = by_result.then(|| pass.keep(y, y)).transpose()?;
        Ok(move |slots: &mut GradSlots<'_, D>, mut grad| {
            let device = slots.device().clone();
            let (own, shift) = ([&x, &gamma, &beta], shift.as_ref());
            let shift_values = shift.filter(|_| needs_shift);
            let values = BatchNormInputs::new(own, [&mean, &rstd], shift_values, activation);
            let y = y.as_ref().map(|y| &**y.held());
            let sums = device.batch_norm_sums(&values, y, &mut grad)?;
            let of_batch = (!is_frozen).then_some(&sums);
            match shift.filter(|shift| shift.needs_grad()) {
                Some(shift) if x.needs_grad() => {
                    let mut dx = device.uninit_buffer(device.buffer_len(&grad))?;
                    device.batch_norm_backward(&values, of_batch, &mut grad, Some(&mut dx))?;
                    slots.put(&x, dx)?;
                    slots.put(shift, grad)?;
                }
                Some(shift) => slots.put(shift, grad)?,
                None if x.needs_grad() => {
                    device.batch_norm_backward(&values, of_batch, &mut grad, None)?;
                    slots.put(&x, grad)?;
                }
                None => {}
            }
            let [of_beta, of_gamma] = sums;
            slots.put(&beta, of_beta)?;
            slots.put(&gamma, of_gamma)
        })
    })
}

fn sizes<D: Backend>(x: &Var<D>) -> BatchNormSize {
    BatchNormSize {
        rows: x.shape().rows(),
        channels: x.shape().last(),
    }
}

fn check<D: Kernels>(
    x: &Var<D>,
    rows: &[(&str, &Var<D>)],
    shift: Option<&Var<D>>,
) -> Result<BatchNormSize> {
    let shape = x.shape();
    let channels = shape.last();
    let wrong = rows
        .iter()
        .find(|(_, row)| row.shape().dims() != [channels]);
    let shifted = shift.filter(|shift| shift.shape() != shape);
    let message = if shape.is_empty() {
        format!("{shape} has no values")
    } else if let Some((name, row)) = wrong {
        format!("{name} {} does not fit x {shape}", row.shape())
    } else if let Some(shift) = shifted {
        format!("shift {} does not fit x {shape}", shift.shape())
    } else {
        return Ok(sizes(x));
    };
    Err(OpError::shape("batch_norm", message))
}

#[cfg(test)]
mod tests;
