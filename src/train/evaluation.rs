//! [`Evaluation`]: the splits that are not trained on, and the fixed batch.

use std::sync::Arc;

use super::error::TrainError;
use crate::datasets::{Dataset, OpenDataset, Splits};
use crate::event::Metric;
use crate::loader::{Batch, Loader, LoaderOptions, LoaderSpec};
use crate::ops::Kernels;
use crate::plan::{CellSpec, ValidationSpec};
use crate::tasks::{Score, Task};

/// Samples of the fixed batch, spread evenly over the validation split (over the training split where there is none).
const FIXED_ROWS: usize = 32;
/// The fixed batch's place among the batches of an evaluation: its noise is its own.
const FIXED_INDEX: u64 = u64::MAX;

/// Loaders of the splits that are not trained on.
pub(super) struct Evaluation {
    data: Arc<dyn Dataset>,
    fixed: Batch,
    validation: Option<Loader>,
    test: Option<Loader>,
    fresh: Option<Loader>,
    /// Standard deviation of the target before normalisation.
    unit: f64,
}

impl Evaluation {
    pub(super) fn new(data: &OpenDataset, cell: &CellSpec) -> Result<Self, TrainError> {
        let splits = &data.splits;
        let options = cell.loader.evaluation(cell.validation.batch_size);
        let validation = LoaderOptions {
            max_batches: cell.validation.batches,
            ..options.clone()
        };
        let fixed = if splits.validation.is_empty() {
            &splits.train
        } else {
            &splits.validation
        };
        let fresh = data.fresh.as_ref().map(|fresh| {
            let rows = (0..fresh.rows() as u32).collect();
            (Arc::clone(fresh), rows)
        });
        let unit = data.dataset.target_scale().map_or(1.0, |(_, std)| std);
        Ok(Self {
            data: Arc::clone(&data.dataset),
            fixed: fixed_batch(&data.dataset, fixed)?,
            validation: loader(
                &data.dataset,
                validated(splits, &cell.validation),
                validation,
            )?,
            test: loader(&data.dataset, splits.test.clone(), options.clone())?,
            fresh: match fresh {
                Some((dataset, rows)) => loader(&dataset, rows, options)?,
                None => None,
            },
            unit,
        })
    }

    /// Whether there is a validation split.
    pub(super) fn validates(&self) -> bool {
        self.validation.is_some()
    }

    /// The score of the fixed batch: the same rows with the same noise at every call.
    pub(super) fn fixed<D: Kernels>(&self, task: &mut dyn Task<D>) -> Result<Score, TrainError> {
        let mut score = Score::default();
        task.evaluate(self.fixed.clone(), FIXED_INDEX, &mut score)?;
        Ok(score)
    }

    /// A batch of one sample.
    pub(super) fn one_sample(&self) -> Result<Batch, TrainError> {
        fixed_batch(&self.data, &self.fixed.rows[..1])
    }

    /// The validation split's loss and metrics, named `val_…`; nothing where there is no such split.
    pub(super) fn validate<D: Kernels>(
        &self,
        task: &mut dyn Task<D>,
    ) -> Result<(Option<f64>, Metric), TrainError> {
        let Some(loader) = &self.validation else {
            return Ok((None, Metric::new()));
        };
        let score = score(task, loader)?;
        Ok((score.loss(), named("val", score.metrics())))
    }

    /// Metrics on data that decided nothing: `test_…`, and `fresh_…` in original units.
    pub(super) fn test<D: Kernels>(&self, task: &mut dyn Task<D>) -> Result<Metric, TrainError> {
        let mut metrics = Metric::new();
        if let Some(loader) = &self.test {
            metrics.extend(named("test", score(task, loader)?.metrics()));
        }
        if let Some(loader) = &self.fresh {
            metrics.extend(named("fresh", score(task, loader)?.in_units(self.unit)));
        }
        Ok(metrics)
    }
}

fn score<D: Kernels>(task: &mut dyn Task<D>, loader: &Loader) -> Result<Score, TrainError> {
    let mut score = Score::default();
    for (index, batch) in loader.epoch(0).enumerate() {
        task.evaluate(batch?, index as u64, &mut score)?;
    }
    Ok(score)
}

fn named(split: &str, metrics: Vec<(&'static str, Option<f64>)>) -> Metric {
    let named = metrics.into_iter();
    named
        .map(|(name, value)| (format!("{split}_{name}"), value))
        .collect()
}

/// The rows that a validation goes through: the split, or with `cycle` as often as `batches` full batches take.
fn validated(splits: &Splits, spec: &ValidationSpec) -> Vec<u32> {
    let rows = splits.validation.iter().copied();
    match spec.batches {
        Some(batches) if spec.cycle => rows.cycle().take(batches * spec.batch_size).collect(),
        _ => rows.collect(),
    }
}

fn loader(
    dataset: &Arc<dyn Dataset>,
    rows: Vec<u32>,
    options: LoaderOptions,
) -> Result<Option<Loader>, TrainError> {
    if rows.is_empty() {
        return Ok(None);
    }
    Ok(Some(Loader::new(Arc::clone(dataset), rows, options)?))
}

/// Up to [`FIXED_ROWS`] rows of a split, spread evenly over it, not augmented.
fn fixed_batch(dataset: &Arc<dyn Dataset>, split: &[u32]) -> Result<Batch, TrainError> {
    let count = split.len().min(FIXED_ROWS);
    let rows: Vec<u32> = (0..count).map(|i| split[i * split.len() / count]).collect();
    let options = LoaderSpec::default().evaluation(FIXED_ROWS);
    let loader = Loader::new(Arc::clone(dataset), rows, options)?;
    let mut batches = loader.epoch(0);
    Ok(batches.next().transpose()?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_validation_in_cycles_has_as_many_full_batches_as_it_asks_for() {
        let splits = Splits {
            validation: vec![7, 8, 9],
            ..Splits::default()
        };
        let rows = |batches, cycle| {
            let spec = ValidationSpec {
                batches,
                cycle,
                batch_size: 4,
                ..ValidationSpec::default()
            };
            validated(&splits, &spec)
        };
        assert_eq!(rows(Some(2), true), [7, 8, 9, 7, 8, 9, 7, 8]);
        assert_eq!(rows(Some(2), false), [7, 8, 9]);
        assert_eq!(rows(None, false), [7, 8, 9]);
        assert_eq!(
            validated(
                &Splits::default(),
                &ValidationSpec {
                    cycle: true,
                    batches: Some(3),
                    ..ValidationSpec::default()
                }
            ),
            [0; 0]
        );
    }
}
