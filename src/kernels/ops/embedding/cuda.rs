//! Embedding on CUDA: one block copies one row. For the gradient the host, which has the indices, groups the positions
//! of equal indices: one block then adds the gradients of one row in index order, without atomics, and the work grows
//! with the number of indices, not with the table.

use dfdx::tensor::Cuda;

use super::EmbeddingKernel;
use crate::device::cuda::{Launch, THREADS, uploaded};
use crate::device::{Backend, Buffer};
use crate::ops::Result;

/// Largest number of blocks; each loops over rows.
const MOST_BLOCKS: usize = 1 << 16;

impl EmbeddingKernel for Cuda {
    fn embedding(
        &self,
        table: &Buffer<Self>,
        features: usize,
        indices: &[usize],
    ) -> Result<Buffer<Self>> {
        let mut y = self.uninit_buffer(indices.len() * features)?;
        let on_device: Vec<u32> = indices.iter().map(|&index| index as u32).collect();
        Launch::new("embedding_forward")
            .threads(threads(features))
            .blocks(indices.len().clamp(1, MOST_BLOCKS))
            .args((table, &uploaded(&on_device)?, &mut y))
            .args((indices.len(), features))
            .run()?;
        Ok(y)
    }

    fn embedding_backward(
        &self,
        features: usize,
        indices: &[usize],
        dy: &Buffer<Self>,
        dtable: &mut Buffer<Self>,
    ) -> Result<()> {
        let groups = Groups::of(indices);
        let (count, places) = (groups.rows.len(), uploaded(&groups.joined())?);
        Launch::new("embedding_backward")
            .threads(threads(features))
            .blocks(count.clamp(1, MOST_BLOCKS))
            .args((dy, &places))
            .read_from(&places, count)
            .read_from(&places, 2 * count + 1)
            .args((dtable, count, features))
            .run()?;
        Ok(())
    }
}

/// Number of threads per block: one per feature, at least a warp and at most the default block size.
fn threads(features: usize) -> usize {
    features.next_multiple_of(32).clamp(32, THREADS)
}

/// The positions of each index in a list.
struct Groups {
    /// The different indices, ascending.
    rows: Vec<u32>,
    /// Start of each index's positions in `order`, and the end of the last.
    starts: Vec<u32>,
    /// Positions in the list, grouped by index and ascending.
    order: Vec<u32>,
}

impl Groups {
    fn of(indices: &[usize]) -> Self {
        let mut order: Vec<u32> = (0..indices.len() as u32).collect();
        order.sort_by_key(|&place| indices[place as usize]);
        let (mut rows, mut starts) = (Vec::new(), Vec::new());
        for (at, &place) in order.iter().enumerate() {
            let row = indices[place as usize] as u32;
            if rows.last() != Some(&row) {
                rows.push(row);
                starts.push(at as u32);
            }
        }
        starts.push(indices.len() as u32);
        Self {
            rows,
            starts,
            order,
        }
    }

    /// All arrays concatenated, for one copy to the device.
    fn joined(self) -> Vec<u32> {
        [self.rows, self.starts, self.order].concat()
    }
}
