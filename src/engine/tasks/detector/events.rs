//! [`Events`]: some events of a split with their numbers and signals, in host memory.

use crate::datasets::{Dataset, DatasetError, SamplesMut};

#[derive(Debug)]
pub(super) struct Events {
    phi: Vec<f32>,
    x: Vec<f32>,
    size: (usize, usize),
    count: usize,
}

impl Events {
    /// Reads the events of the dataset rows `rows`.
    ///
    /// # Errors
    /// Those of the dataset.
    pub(super) fn read(dataset: &dyn Dataset, rows: &[u32]) -> Result<Self, DatasetError> {
        let size = (dataset.features().len(), dataset.target().values_len());
        let mut phi = vec![0.0; rows.len() * size.0];
        let mut x = vec![0.0; rows.len() * size.1];
        let mut labels = vec![0; rows.len()];
        let samples = SamplesMut {
            features: &mut phi,
            values: &mut x,
            labels: &mut labels,
        };
        dataset.read_rows(rows, samples)?;
        Ok(Self {
            phi,
            x,
            size,
            count: rows.len(),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn numbers(&self) -> impl Iterator<Item = &[f32]> {
        self.phi.chunks_exact(self.size.0)
    }

    pub(super) fn signals(&self) -> impl Iterator<Item = &[f32]> {
        self.x.chunks_exact(self.size.1)
    }

    /// All signals, `(events, voxels)`.
    pub(super) fn values(&self) -> &[f32] {
        &self.x
    }
}
