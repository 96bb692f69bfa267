//! Softmax cross-entropy against class labels.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod targets;

pub use targets::{ClassTargetWeights, ClassTargets, CrossEntropyOptions};

use super::{Flops, Kernels, Op, OpError, Pass, Result, Var};
use crate::device::{Backend, Buffer};
use crate::ops::gemm::Accumulate;

/// Kernels of [`cross_entropy`] on one device.
pub trait CrossEntropyKernel: Backend {
    /// The mean loss (one value), and the probabilities, which backward needs.
    fn cross_entropy(
        &self,
        logits: &Buffer<Self>,
        targets: &ClassTargets,
    ) -> Result<(Buffer<Self>, Buffer<Self>)>;

    /// Writes `dy (s probability - target) / divisor` to `dlogits`, or adds it; s is the sum of the row's target.
    fn cross_entropy_backward(
        &self,
        probabilities: &Buffer<Self>,
        targets: &ClassTargets,
        dy: &Buffer<Self>,
        dlogits: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()>;
}

/// The mean over rows of `log Σ exp(logits) - logits[label]`.
///
/// FLOPs: 5 per logit forward (subtraction of the maximum, exp, sum, division, and the loss), 3 backward.
///
/// # Shapes
/// `(1)` from `logits: (B, K)` and B labels below K.
/// # Errors
/// [`OpError::Shape`] when the number of labels is not B, or a label is not below K.
/// # Source
/// PyTorch `F.cross_entropy(logits, labels)`; rows in f32, their mean in f64.
pub fn cross_entropy<D: Kernels>(
    pass: &mut Pass<D>,
    logits: &Var<D>,
    labels: &[usize],
) -> Result<Var<D>> {
    cross_entropy_with_targets(pass, logits, labels, &CrossEntropyOptions::default())
}

/// Like [`cross_entropy`], with label smoothing ε and weights w of classes.
///
/// With `l(c) = log Σ exp(logits) - logits[c]` the loss is `Σ_rows ((1 - ε) w[y] l(y) + ε/K Σ_c w[c] l(c)) / Σ_rows
/// w[y]`, y the row's label: a mean weighted by the labels' weights, as in PyTorch. So the divisor depends on the
/// labels of the batch.
///
/// FLOPs: as [`cross_entropy`]; with label smoothing 3 more per logit forward and 1 more backward.
///
/// # Shapes
/// `(1)` from `logits: (B, K)`, B labels below K, and K weights or none.
/// # Errors
/// [`OpError::Shape`] when the number of labels is not B, a label is not below K, or the number of weights is neither 0
/// nor K.
/// # Source
/// PyTorch `F.cross_entropy(logits, labels, weight=w, label_smoothing=ε)`; rows in f32, their sum in f64.
pub fn cross_entropy_with_targets<D: Kernels>(
    pass: &mut Pass<D>,
    logits: &Var<D>,
    labels: &[usize],
    options: &CrossEntropyOptions,
) -> Result<Var<D>> {
    let classes = logits.shape().last();
    if logits.shape().dims() != [labels.len(), classes] || labels.is_empty() {
        let message = format!(
            "logits {} do not fit {} labels",
            logits.shape(),
            labels.len()
        );
        return Err(OpError::shape("cross_entropy", message));
    }
    let targets = ClassTargets::new(labels, classes, options)?;
    let (loss, probabilities) = pass.device().cross_entropy(logits.data(), &targets)?;
    let values = logits.shape().len();
    let input = logits.clone();
    let work = match &targets.shares {
        Some(shares) if shares.spread_sum > 0.0 => Flops::new(8 * values, 4 * values),
        _ => Flops::new(5 * values, 3 * values),
    };
    let op = Op::new("cross_entropy", work, [logits]);
    pass.record_op(op, loss, [1], move |grads, dy| {
        let device = grads.device().clone();
        device.cross_entropy_backward(&probabilities, &targets, dy, grads.entry(&input)?)
    })
}

#[cfg(test)]
mod tests;
