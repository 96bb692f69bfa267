//! Multi-head softmax attention of a sequence to itself.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::gemm::Accumulate;
use super::{Held, Kernels, OpError, Pass, Var, Work};
use crate::device::{Backend, Buffer};

/// The sizes of an attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttentionSize {
    /// Sequences B.
    pub batch: usize,
    /// Positions T.
    pub positions: usize,
    /// Features C of queries, keys and values each.
    pub features: usize,
    /// Heads, each of C / heads features.
    pub heads: usize,
}

impl AttentionSize {
    /// Features of one head.
    pub fn head_width(self) -> usize {
        self.features / self.heads
    }

    /// Factor of the scores: `1 / √(C / heads)`.
    pub fn scale(self) -> f32 {
        1.0 / (self.head_width() as f32).sqrt()
    }

    /// Two products of `T² C` forward and four backward; 5 per score forward (scale, shift, exp, sum, quotient) and
    /// 5 backward.
    fn work(self) -> Work {
        let pairs = self.batch * self.positions * self.positions;
        let (product, softmax) = (2 * pairs * self.features, 5 * pairs * self.heads);
        Work::new(2 * product + softmax, 4 * product + softmax)
    }
}

/// Kernels of [`attention`] on one device.
pub trait AttentionKernel: Backend {
    /// The result `(B, T, C)`, and the probabilities `(B, heads, T, T)`, which backward needs.
    fn attention(
        &self,
        qkv: &Buffer<Self>,
        size: AttentionSize,
    ) -> Result<(Buffer<Self>, Buffer<Self>), OpError>;

    /// Adds the gradient of `qkv` to `grad_qkv`, or replaces it.
    fn attention_backward(
        &self,
        qkv: &Buffer<Self>,
        probabilities: &Buffer<Self>,
        size: AttentionSize,
        grad_output: &Buffer<Self>,
        grad_qkv: (&mut Buffer<Self>, Accumulate),
    ) -> Result<(), OpError>;
}

/// Attention within each sequence: per head `softmax(q kᵀ / √d) v`, with `d = C / heads`.
///
/// Work: `4 B T² C` for the two products and 5 per score forward, `8 B T² C` and 5 per score backward.
///
/// # Shapes
/// `(B, T, C)` from `qkv: (B, T, 3C)`: q, k, v in this order; inside each, head i owns features `i d .. (i + 1) d`.
/// # Errors
/// [`OpError::Shape`] when `qkv` has another rank or its features are not 3 × heads × a whole number.
/// # Source
/// Vaswani et al. 2017, §3.2; agrees with PyTorch `F.scaled_dot_product_attention`.
pub fn attention<D: Kernels>(
    pass: &mut Pass<D>,
    qkv: &Var<D>,
    heads: usize,
) -> Result<Var<D>, OpError> {
    let size = match *qkv.shape().dims() {
        [batch, positions, features]
            if heads > 0 && features % (3 * heads) == 0 && !qkv.shape().is_empty() =>
        {
            AttentionSize {
                batch,
                positions,
                features: features / 3,
                heads,
            }
        }
        _ => {
            let message = format!("{} cannot be q, k and v of {heads} heads", qkv.shape());
            return Err(OpError::shape("attention", message));
        }
    };
    let (y, probabilities) = pass.device().attention(qkv.data(), size)?;
    let probabilities = Held::<D>::new(probabilities);
    let (shape, saved) = (qkv.shape().with_last(size.features), qkv.clone());
    pass.finish(
        "attention",
        size.work(),
        y,
        shape,
        &[qkv],
        move |grads, grad_output| {
            let device = grads.device().clone();
            let grad_qkv = grads.entry(&saved)?;
            device.attention_backward(saved.data(), &probabilities, size, grad_output, grad_qkv)
        },
    )
}

#[cfg(test)]
mod tests;
