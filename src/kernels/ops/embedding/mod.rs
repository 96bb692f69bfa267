//! Embedding: rows of a table, chosen by index.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::{Flops, Kernels, Op, OpError, Pass, Result, Var};
use crate::device::{Backend, Buffer};

/// Kernels of [`embedding`] on one device.
pub trait EmbeddingKernel: Backend {
    /// The rows `indices` of `table`, each of `features` values.
    fn embedding(
        &self,
        table: &Buffer<Self>,
        features: usize,
        indices: &[usize],
    ) -> Result<Buffer<Self>>;

    /// Adds row i of `dy` to row `indices[i]` of `dtable` for every i; equal indices in ascending order of i.
    fn embedding_backward(
        &self,
        features: usize,
        indices: &[usize],
        dy: &Buffer<Self>,
        dtable: &mut Buffer<Self>,
    ) -> Result<()>;
}

/// Looks up rows of a table.
///
/// FLOPs: none forward (copies), 1 per value backward.
///
/// # Shapes
/// `(B, F)` from `table: (N, F)` and B indices below N.
/// # Errors
/// [`OpError::Shape`] when the table is not a matrix or an index is out of range.
/// # Source
/// PyTorch `F.embedding`.
pub fn embedding<D: Kernels>(
    pass: &mut Pass<D>,
    table: &Var<D>,
    indices: &[usize],
) -> Result<Var<D>> {
    let &[rows, features] = table.shape().dims() else {
        let message = format!("expected a table (N, F), got {}", table.shape());
        return Err(OpError::shape("embedding", message));
    };
    if let Some(index) = indices.iter().find(|&&index| index >= rows) {
        let message = format!("index {index} is not in a table of {rows} rows");
        return Err(OpError::shape("embedding", message));
    }
    let y = pass.device().embedding(table.data(), features, indices)?;
    let (input, indices) = (table.clone(), indices.to_vec());
    let values = indices.len() * features;
    let op = Op::new("embedding", Flops::new(0, values), [table]);
    pass.record_op(op, y, [indices.len(), features], move |grads, dy| {
        let device = grads.device().clone();
        device.embedding_backward(features, &indices, dy, grads.of(&input)?)
    })
}

#[cfg(test)]
mod tests;
