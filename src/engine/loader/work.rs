//! [`BatchMaker`]: makes batches, in any thread.

use std::sync::Arc;

use super::{Batch, LoaderOptions, mixing, order};
use crate::base::Purpose;
use crate::datasets::{Dataset, DatasetError, SamplesMut};

/// Dataset, rows and options, which all epochs of a loader share.
pub(super) struct BatchMaker {
    pub(super) dataset: Arc<dyn Dataset>,
    pub(super) options: LoaderOptions,
    rows: Vec<u32>,
}

pub(super) struct Plan {
    epoch: u64,
    order: Vec<u32>,
    /// Index of the first batch to make; above 0 in an epoch that is resumed.
    pub(super) first: usize,
    /// Number of batches of the whole epoch.
    pub(super) batches: usize,
}

impl BatchMaker {
    pub(super) fn new(dataset: Arc<dyn Dataset>, rows: Vec<u32>, options: LoaderOptions) -> Self {
        Self {
            dataset,
            options,
            rows,
        }
    }

    pub(super) fn batches(&self) -> usize {
        let (rows, size) = (self.rows.len(), self.options.batch_size);
        let all = if self.options.drop_last {
            rows / size
        } else {
            rows.div_ceil(size)
        };
        self.options.max_batches.map_or(all, |cap| all.min(cap))
    }

    pub(super) fn plan(&self, epoch: u64, first: usize) -> Plan {
        let options = &self.options;
        let stream = || options.seed.stream_at(Purpose::Order, &[epoch]);
        let order = if options.spec.weighted {
            order::weighted(&self.rows, self.dataset.labels(), &mut stream())
        } else if options.shuffle {
            order::shuffled(&self.rows, &mut stream())
        } else {
            self.rows.clone()
        };
        Plan {
            epoch,
            order,
            first: first.min(self.batches()),
            batches: self.batches(),
        }
    }

    /// Makes batch `index` of `plan`; `None` if `is_abandoned` returned true, which is called before each sample, but
    /// only for datasets that decode or augment.
    pub(super) fn make(
        &self,
        plan: &Plan,
        index: usize,
        is_abandoned: impl Fn() -> bool,
    ) -> Option<Result<Batch, DatasetError>> {
        let start = index * self.options.batch_size;
        let end = plan.order.len().min(start + self.options.batch_size);
        let mut batch = self.buffer(&plan.order[start..end]);
        let is_augmented = self.options.augment && !self.dataset.augment().is_identity();
        let result = if is_augmented || self.dataset.decodes_or_augments() {
            self.read_each(plan.epoch, start, is_augmented, &mut batch, is_abandoned)?
        } else {
            let (rows, samples) = parts(&mut batch);
            self.dataset.read_rows(rows, samples)
        };
        if result.is_ok() {
            self.mix(plan.epoch, index, &mut batch);
        }
        Some(result.map(|()| batch))
    }

    /// Mixes a training batch by `MixUp` or `CutMix`, if the dataset's settings ask for it. The random stream depends
    /// on epoch and batch index.
    fn mix(&self, epoch: u64, index: usize, batch: &mut Batch) {
        let mixing = self.dataset.augment();
        if self.options.augment && mixing.mixes() {
            let place = [epoch, index as u64];
            let mut stream = self.options.seed.stream_at(Purpose::Mixing, &place);
            mixing::mix(batch, mixing, self.dataset.features(), &mut stream);
        }
    }

    /// Reads the batch row by row. The random stream of a sample depends on its position in the epoch: a row that
    /// weighted sampling draws twice is augmented differently each time, and the batch size has no effect.
    fn read_each(
        &self,
        epoch: u64,
        start: usize,
        is_augmented: bool,
        batch: &mut Batch,
        is_abandoned: impl Fn() -> bool,
    ) -> Option<Result<(), DatasetError>> {
        let features = self.dataset.features().len();
        let values = self.dataset.target().values_len();
        let (rows, mut samples) = parts(batch);
        for (index, &row) in rows.iter().enumerate() {
            if is_abandoned() {
                return None;
            }
            let sample = samples.sample(index, features, values);
            let position = (start + index) as u64;
            let mut stream = is_augmented.then(|| {
                self.options
                    .seed
                    .stream_at(Purpose::Augmentation, &[epoch, position])
            });
            if let Err(error) = self.dataset.read(row, stream.as_mut(), sample) {
                return Some(Err(error));
            }
        }
        Some(Ok(()))
    }

    /// A batch for the rows `rows`, with zeros in place of their values.
    fn buffer(&self, rows: &[u32]) -> Batch {
        let (features, target) = (self.dataset.features(), self.dataset.target());
        Batch {
            size: rows.len(),
            features: vec![0.0; rows.len() * features.len()],
            values: vec![0.0; rows.len() * target.values_len()],
            labels: vec![0; rows.len()],
            rows: rows.to_vec(),
            own_share: None,
        }
    }
}

fn parts(batch: &mut Batch) -> (&[u32], SamplesMut<'_>) {
    let samples = SamplesMut {
        features: &mut batch.features,
        values: &mut batch.values,
        labels: &mut batch.labels,
    };
    (&batch.rows, samples)
}
