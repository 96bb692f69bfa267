//! Multi-head attention of one sequence to another: softmax, or linear with the feature map `elu + 1`.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod long;
mod short;

use super::{Flops, Kernels, Op, OpError, Pass, Result, Var};
use crate::device::{Backend, Buffer};

/// Value added to the sum of weights of linear attention, against division by 0.
pub const LINEAR_EPS: f32 = 1e-6;

/// How attention weights are computed from queries and keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttentionKind {
    /// `softmax(q kᵀ / √d)`.
    Softmax,
    /// Linear attention: `φ(q) φ(k)ᵀ` divided by its row sum plus 1e-6, with `φ(x) = elu(x) + 1`.
    Linear,
}

/// The sizes of a cross-attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrossAttentionSize {
    /// Number of sequences B.
    pub batch: usize,
    /// Number N of query positions.
    pub queries: usize,
    /// Number M of key and value positions.
    pub keys: usize,
    /// Number of features C of queries, of keys, and of values.
    pub features: usize,
    /// Number of heads, each with C / heads features.
    pub heads: usize,
    /// How attention weights are computed from queries and keys.
    pub kind: AttentionKind,
}

impl CrossAttentionSize {
    /// Number of features d per head.
    pub fn head_width(self) -> usize {
        self.features / self.heads
    }

    /// Factor by which products of queries and keys are multiplied in softmax attention: `1 / √d`.
    #[inline(always)]
    pub fn scale(self) -> f32 {
        1.0 / (self.head_width() as f32).sqrt()
    }

    /// Whether linear attention computes `φ(q) (φ(k)ᵀ v)`, whose cost grows with `N + M`, instead of `(φ(q) φ(k)ᵀ) v`,
    /// whose cost grows with `N M`: the order with fewer operations is taken.
    pub fn sums_keys_first(self) -> bool {
        let (n, m, d) = (self.queries, self.keys, self.head_width());
        self.kind == AttentionKind::Linear && 2 * n * m > (n + m) * (d + 1)
    }

    pub(in crate::ops) fn work(self) -> Flops {
        let (n, m, d) = (self.queries, self.keys, self.head_width());
        let heads = self.batch * self.heads;
        let products = if self.sums_keys_first() {
            2 * (n + m) * d * (d + 1)
        } else {
            4 * n * m * d
        };
        let elementwise = match self.kind {
            AttentionKind::Softmax => 5 * n * m,
            AttentionKind::Linear => 2 * (n + m) * d + n * d,
        };
        Flops::new(
            heads * (products + elementwise),
            heads * (2 * products + elementwise),
        )
    }
}

/// Kernels of [`cross_attention`] on one device.
pub trait CrossAttentionKernel: Backend {
    /// The result, `(B, N, C)`.
    fn cross_attention(
        &self,
        inputs: [&Buffer<Self>; 3],
        size: CrossAttentionSize,
    ) -> Result<Buffer<Self>>;

    /// The gradients of q, k and v.
    fn cross_attention_backward(
        &self,
        inputs: [&Buffer<Self>; 3],
        size: CrossAttentionSize,
        grad_output: &Buffer<Self>,
    ) -> Result<[Buffer<Self>; 3]>;
}

/// Attention of queries to keys of another sequence (or the same), per head of `d = C / heads` features: softmax
/// `softmax(q kᵀ / √d) v`, or linear `φ(q) (φ(k)ᵀ v) / (φ(q) · Σ φ(k) + 1e-6)` with `φ(x) = elu(x) + 1`.
///
/// FLOPs: two products, `4 B N M C` or, where linear attention sums over keys first, `2 B (N + M) C (d + 1)`; plus 5
/// per score of softmax, or 2 per value of `φ` and 1 per result of linear attention. Backward has twice as many
/// products.
///
/// # Shapes
/// `(B, N, C)` from `q: (B, N, C)`, `k` and `v: (B, M, C)`; in each, head i owns features `i d .. (i + 1) d`.
/// # Errors
/// [`OpError::Shape`] when the shapes do not fit together, or `heads` does not divide C.
/// # Source
/// Vaswani et al. 2017, §3.2; Katharopoulos et al. 2020, §3.2 (linear). The softmax agrees with PyTorch
/// `F.scaled_dot_product_attention`.
pub fn cross_attention<D: Kernels>(
    pass: &mut Pass<D>,
    q: &Var<D>,
    k: &Var<D>,
    v: &Var<D>,
    heads: usize,
    kind: AttentionKind,
) -> Result<Var<D>> {
    let size = check(q, k, v, heads, kind)?;
    let data = [q, k, v].map(Var::data);
    let y = pass.device().cross_attention(data, size)?;
    let inputs = [q.clone(), k.clone(), v.clone()];
    let op = Op::new("cross_attention", size.work(), [q, k, v]);
    pass.record_op(op, y, q.shape(), move |slots, grad_output| {
        let device = slots.device().clone();
        let data = inputs.each_ref().map(Var::data);
        let grads = device.cross_attention_backward(data, size, grad_output)?;
        for (input, grad) in inputs.iter().zip(&grads) {
            if input.needs_grad() {
                device.accumulate(grad, slots.of(input)?)?;
            }
        }
        Ok(())
    })
}

fn check<D: Backend>(
    q: &Var<D>,
    k: &Var<D>,
    v: &Var<D>,
    heads: usize,
    kind: AttentionKind,
) -> Result<CrossAttentionSize> {
    let (own, other) = (q.shape(), k.shape());
    let fits = match (own.dims(), other.dims()) {
        (&[batch, queries, features], &[other_batch, keys, other_features]) => {
            let fits = batch == other_batch && features == other_features && other == v.shape();
            let splits = heads > 0 && features % heads == 0;
            let size = CrossAttentionSize {
                batch,
                queries,
                keys,
                features,
                heads,
                kind,
            };
            (fits && splits && !own.is_empty() && !other.is_empty()).then_some(size)
        }
        _ => None,
    };
    fits.ok_or_else(|| {
        let v = v.shape();
        let message = format!("q {own}, k {other} and v {v} do not fit {heads} heads");
        OpError::shape("cross_attention", message)
    })
}

#[cfg(test)]
mod tests;

/// One sequence's queries (or their features), keys and values, row-major, `(N, C)` and `(M, C)`.
#[derive(Debug, Clone, Copy)]
struct Sequence<'a> {
    q: &'a [f32],
    k: &'a [f32],
    v: &'a [f32],
}

/// The gradients of one sequence's queries, keys and values, to add to; initially zeros.
#[derive(Debug)]
struct Gradients<'a> {
    q: &'a mut [f32],
    k: &'a mut [f32],
    v: &'a mut [f32],
}
