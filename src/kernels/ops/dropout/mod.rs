//! Dropout: zeroes values at random in training; otherwise the identity.

pub(in crate::ops) mod cpu;
#[cfg(feature = "cuda")]
pub(in crate::ops) mod cuda;
mod philox;

use rand::RngCore;

use super::{Flops, GradSlots, Kernels, Op, OpError, Pass, Result, Var};
use crate::device::{Backend, Buffer};

/// A mask as a function of the index: value i is kept if word i of the random stream of `key` is at least `threshold`.
#[derive(Debug, Clone, Copy)]
pub struct Mask {
    /// Key of the random stream.
    pub key: u64,
    /// `p · 2³²`, with p the probability of dropping a value.
    pub threshold: u32,
    /// `1 / (1 - p)`, the factor of the values that are kept.
    pub scale: f32,
}

impl Mask {
    /// The next mask of a pass, with a key from the pass's generator; `None` in a pass without dropout and for `p = 0`.
    pub(in crate::ops) fn draw<D: Backend>(pass: &mut Pass<D>, p: f32) -> Option<Self> {
        let rng = pass.dropout_rng().filter(|_| p > 0.0)?;
        Some(Self {
            key: rng.next_u64(),
            threshold: (f64::from(p) * 2.0_f64.powi(32)) as u32,
            scale: 1.0 / (1.0 - p),
        })
    }
}

/// Kernels of [`dropout`] on one device.
pub trait DropoutKernel: Backend {
    /// Returns kept values times the mask's scale, and zeros elsewhere.
    fn dropout(&self, x: &Buffer<Self>, mask: Mask) -> Result<Buffer<Self>>;

    /// Adds the gradient of the input, which may be computed in the memory of `dy`, to the input's slot.
    fn dropout_backward(
        &self,
        mask: Mask,
        dy: Buffer<Self>,
        slot: (&Var<Self>, &mut GradSlots<'_, Self>),
    ) -> Result<()>;
}

/// Zeroes each value with probability `p` and multiplies the others by `1 / (1 - p)`; the identity in a pass without
/// dropout and for `p = 0`.
///
/// The mask uses one number of the pass's generator and is then a function of the index alone (Philox): it is
/// independent of threads, and backward recomputes it instead of saving it.
///
/// FLOPs: 1 per value forward and backward; random numbers are not counted.
///
/// # Shapes
/// As `x`.
/// # Errors
/// [`OpError::Shape`] when `p` is not in `[0, 1)`.
/// # Source
/// PyTorch `F.dropout`, with other random numbers.
pub fn dropout<D: Kernels>(pass: &mut Pass<D>, x: &Var<D>, p: f32) -> Result<Var<D>> {
    check_probability(p)?;
    let Some(mask) = Mask::draw(pass, p) else {
        return Ok(x.clone());
    };
    let y = pass.device().dropout(x.data(), mask)?;
    let (values, input) = (x.shape().len(), x.without_values(pass.device())?);
    let op = Op::new("dropout", Flops::new(values, values), [x]);
    pass.record_op_owned(op, y, x.shape(), move |grads, dy| {
        let device = grads.device().clone();
        device.dropout_backward(mask, dy, (&input, grads))
    })
}

/// An error unless `p` is a valid dropout probability.
pub(in crate::ops) fn check_probability(p: f32) -> Result<()> {
    if (0.0..1.0).contains(&p) {
        return Ok(());
    }
    let message = format!("the probability {p} is not in [0, 1)");
    Err(OpError::shape("dropout", message))
}

#[cfg(test)]
mod tests;
