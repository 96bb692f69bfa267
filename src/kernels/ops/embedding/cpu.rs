//! Embedding on the CPU: forward copies rows; backward adds gradients in index order on one thread.

use dfdx::tensor::Cpu;

use super::EmbeddingKernel;
use crate::device::{Backend, Buffer};
use crate::ops::Result;

impl EmbeddingKernel for Cpu {
    fn embedding(
        &self,
        table: &Buffer<Self>,
        features: usize,
        indices: &[usize],
    ) -> Result<Buffer<Self>> {
        let rows = indices
            .iter()
            .flat_map(|&index| &table[index * features..(index + 1) * features]);
        Ok(self.upload(rows.copied().collect())?)
    }

    fn embedding_backward(
        &self,
        features: usize,
        indices: &[usize],
        dy: &Buffer<Self>,
        dtable: &mut Buffer<Self>,
    ) -> Result<()> {
        for (&index, dy) in indices.iter().zip(dy.chunks_exact(features)) {
            let row = &mut dtable[index * features..(index + 1) * features];
            row.iter_mut().zip(dy).for_each(|(row, dy)| *row += dy);
        }
        Ok(())
    }
}
