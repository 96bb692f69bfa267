//! Multi-head softmax attention of a sequence to itself.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod rows;

use super::dropout::check_probability;
use super::gemm::Accumulate;
use super::{Flops, Kernels, Mask, Op, OpError, Pass, PooledBuffer, Result, Var};
use crate::device::{Backend, Buffer};

/// Hyperparameters of self-attention, that is, attention within one sequence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionOptions {
    /// Number of heads, which must divide the features of q, k and v.
    pub heads: usize,
    /// Whether a position attends only to itself and those before it.
    pub causal: bool,
    /// Probability p with which an attention weight is set to 0 in a pass with dropout; the others are multiplied by
    /// `1 / (1 - p)`.
    pub dropout: f32,
}

/// The sizes of a self-attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttentionSize {
    /// Number of sequences B.
    pub batch: usize,
    /// Number of positions T per sequence.
    pub positions: usize,
    /// Number of features C of queries, of keys, and of values.
    pub features: usize,
    /// Number of heads, each with C / heads features.
    pub heads: usize,
    /// Whether position i attends to positions 0 to i only.
    pub causal: bool,
}

impl AttentionSize {
    /// Number of features per head.
    pub fn head_width(self) -> usize {
        self.features / self.heads
    }

    /// Factor by which products of queries and keys are multiplied: `1 / √(C / heads)`.
    pub fn scale(self) -> f32 {
        1.0 / (self.head_width() as f32).sqrt()
    }

    /// FLOPs. Products: forward two, backward four, each with 2 FLOPs per pair of positions and feature. Softmax: 5 per
    /// score forward (scale, shift, exp, sum, quotient) and 5 backward. Dropout: 1 more per score in both.
    fn work(self, drops: bool) -> Flops {
        let t = self.positions;
        let pairs = self.batch * if self.causal { t * (t + 1) / 2 } else { t * t };
        let product = 2 * pairs * self.features;
        let softmax = (5 + usize::from(drops)) * pairs * self.heads;
        Flops::new(2 * product + softmax, 4 * product + softmax)
    }
}

/// Kernels of [`attention`] on one device.
pub trait AttentionKernel: Backend {
    /// The result `(B, T, C)`, and what backward needs in addition to `qkv`: on CUDA the probabilities
    /// `(B, heads, T, T)` before dropout (in mixed precision only in 16 bits); on the CPU an empty buffer.
    ///
    /// Random word `((b · heads + head) T + i) T + j` of `mask` decides whether the weight of position j for position i
    /// is dropped.
    fn attention(
        &self,
        qkv: &PooledBuffer<Self>,
        size: AttentionSize,
        mask: Option<Mask>,
    ) -> Result<(Buffer<Self>, PooledBuffer<Self>)>;

    /// The gradient of `qkv`; the [`Accumulate`] says whether it overwrites `grad_qkv` or is added
    /// to it.
    fn attention_backward(
        &self,
        qkv: &PooledBuffer<Self>,
        saved: &PooledBuffer<Self>,
        size: AttentionSize,
        mask: Option<Mask>,
        grad_output: &PooledBuffer<Self>,
        grad_qkv: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()>;
}

/// Attention within each sequence: per head `drop(softmax(q kᵀ / √d)) v`, with `d = C / heads`.
///
/// With `causal`, position i attends to positions 0 to i: all other scores are excluded from the softmax. `drop` is
/// [`super::dropout()`] of the probabilities, which changes nothing in a pass without dropout.
///
/// FLOPs: `4 B P C` for the two products and 5 per score forward, `8 B P C` and 5 per score backward, where P, the
/// number of pairs of positions, is `T²` or, with `causal`, `T (T + 1) / 2`; with dropout 1 more per score in both. The
/// CPU's second computation of the probabilities, in backward, is not counted.
///
/// # Shapes
/// `(B, T, C)` from `qkv: (B, T, 3C)`: q, k, v in this order; inside each, head i owns features `i d .. (i + 1) d`.
/// # Errors
/// [`OpError::Shape`] when `qkv` has another rank, its features are not 3 × heads × a whole number, or the probability
/// of dropout is not in `[0, 1)`.
/// # Source
/// Vaswani et al. 2017, §3.2; agrees with PyTorch `F.scaled_dot_product_attention` with `is_causal` and `dropout_p`,
/// except for the random numbers.
pub fn attention<D: Kernels>(
    pass: &mut Pass<D>,
    qkv: &Var<D>,
    options: AttentionOptions,
) -> Result<Var<D>> {
    let heads = options.heads;
    check_probability(options.dropout)?;
    let size = match *qkv.shape().dims() {
        [batch, positions, features]
            if heads > 0 && features % (3 * heads) == 0 && !qkv.shape().is_empty() =>
        {
            AttentionSize {
                batch,
                positions,
                features: features / 3,
                heads,
                causal: options.causal,
            }
        }
        _ => {
            let message = format!("{} cannot be q, k and v of {heads} heads", qkv.shape());
            return Err(OpError::shape("attention", message));
        }
    };
    let mask = Mask::draw(pass, options.dropout);
    let (y, saved) = pass.device().attention(qkv.held(), size, mask)?;
    let (shape, input) = (qkv.shape().with_last(size.features), qkv.clone());
    let op = Op::new("attention", size.work(mask.is_some()), [qkv]);
    pass.record_op_owned(op, y, shape, move |grads, grad_output| {
        let grad_output = &PooledBuffer::<D>::new(grad_output);
        let device = grads.device().clone();
        let grad_qkv = grads.entry(&input)?;
        device.attention_backward(input.held(), &saved, size, mask, grad_output, grad_qkv)
    })
}

#[cfg(test)]
mod tests;
