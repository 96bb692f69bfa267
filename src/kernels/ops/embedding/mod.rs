//! Embedding: rows of a table, chosen by index.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use super::{Kernels, OpError, Pass, Var, Work};
use crate::device::{Backend, Buffer};

/// Kernels of [`embedding`] on one device.
pub trait EmbeddingKernel: Backend {
    /// The rows `indices` of `table`, each of `features` values.
    fn embedding(
        &self,
        table: &Buffer<Self>,
        features: usize,
        indices: &[usize],
    ) -> Result<Buffer<Self>, OpError>;

    /// Adds every row of `dy` to the row of `dtable` that it came from, in index order.
    fn embedding_backward(
        &self,
        features: usize,
        indices: &[usize],
        dy: &Buffer<Self>,
        dtable: &mut Buffer<Self>,
    ) -> Result<(), OpError>;
}

/// Looks up rows of a table.
///
/// Work: none forward (copies), 1 per value backward.
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
) -> Result<Var<D>, OpError> {
    let &[rows, features] = table.shape().dims() else {
        return Err(OpError::shape(
            "embedding",
            format!("expected a table (N, F), got {}", table.shape()),
        ));
    };
    if let Some(index) = indices.iter().find(|&&index| index >= rows) {
        return Err(OpError::shape(
            "embedding",
            format!("index {index} is not in a table of {rows} rows"),
        ));
    }
    let y = pass.device().embedding(table.data(), features, indices)?;
    let (input, indices) = (table.clone(), indices.to_vec());
    let values = indices.len() * features;
    pass.finish(
        "embedding",
        Work::new(0, values),
        y,
        [indices.len(), features],
        &[table],
        move |grads, dy| {
            let device = grads.device().clone();
            device.embedding_backward(features, &indices, dy, grads.of(&input)?)
        },
    )
}

#[cfg(test)]
mod tests;
