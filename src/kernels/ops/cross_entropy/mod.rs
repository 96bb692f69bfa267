//! Softmax cross-entropy against class labels.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::{Kernels, Op, OpError, Pass, Result, Var, Work};
use crate::device::{Backend, Buffer};
use crate::ops::gemm::Accumulate;

/// Kernels of [`cross_entropy`] on one device.
pub trait CrossEntropyKernel: Backend {
    /// The mean loss (one value), and the probabilities, which backward needs.
    fn cross_entropy(
        &self,
        logits: &Buffer<Self>,
        classes: usize,
        labels: &[usize],
    ) -> Result<(Buffer<Self>, Buffer<Self>)>;

    /// Writes `dy (probability - [class = label]) / B` to `dlogits`, or adds it.
    fn cross_entropy_backward(
        &self,
        probabilities: &Buffer<Self>,
        classes: usize,
        labels: &[usize],
        dy: &Buffer<Self>,
        dlogits: (&mut Buffer<Self>, Accumulate),
    ) -> Result<()>;
}

/// The mean over rows of `log Σ exp(logits) - logits[label]`.
///
/// Work: 5 per logit forward (maximum shift, exp, sum, division, and the loss's share), 3 backward.
///
/// # Shapes
/// `(1)` from `logits: (B, K)` and B labels below K.
/// # Errors
/// [`OpError::Shape`] when the number of labels is not B, or a label not below K.
/// # Source
/// PyTorch `F.cross_entropy(logits, labels)`; rows in f32, their mean in f64.
pub fn cross_entropy<D: Kernels>(
    pass: &mut Pass<D>,
    logits: &Var<D>,
    labels: &[usize],
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
    if let Some(label) = labels.iter().find(|&&label| label >= classes) {
        let message = format!("label {label} is not one of {classes} classes");
        return Err(OpError::shape("cross_entropy", message));
    }
    let (loss, probabilities) = pass
        .device()
        .cross_entropy(logits.data(), classes, labels)?;
    let values = logits.shape().len();
    let (input, labels) = (logits.clone(), labels.to_vec());
    let op = Op::new("cross_entropy", Work::new(5 * values, 3 * values), [logits]);
    pass.finish(op, loss, [1], move |grads, dy| {
        let device = grads.device().clone();
        device.cross_entropy_backward(&probabilities, classes, &labels, dy, grads.entry(&input)?)
    })
}

#[cfg(test)]
mod tests;
